"""Joints of a URDF: type, limits, dynamics and what they mimic."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import ModelError
from helicoid.model.inertia import frozen_array
from helicoid.model.joint_type import JointType
from helicoid.model.joints import ALIASES, TYPES, unit
from helicoid.model.parts import PER_VELOCITY, Joint, Limits, Mimic, RateLimits
from helicoid.model.urdf.links import placement
from helicoid.model.urdf.markup import Element, Source, quoted
from helicoid.model.urdf.syntax import ANY, numbers, parameters

UNLIMITED = 1e308  # URDF has no infinity: this or more means no limit
_AXIS = (1.0, 0.0, 0.0)  # URDF's default


def read_joint(element: Element, source: Source) -> Joint:
    """The joint that a checked `<joint>` states."""
    name, kind = element.attrib["name"], element.attrib["type"]
    if ALIASES.get(kind, kind) not in TYPES:
        raise source.error(element, f"unknown type {quoted(kind)}; there are {', '.join(TYPES)}")
    cls = TYPES[ALIASES.get(kind, kind)]
    joint_type = _joint_type(element, cls, source)
    limits = _limits(element, cls, source) if cls.nv else None
    dynamics = element.find("dynamics")
    stated = [] if dynamics is None else [key for key in PER_VELOCITY if key in dynamics.attrib]
    values: dict[str, Any] = {key: _bounds(dynamics, key, cls.nv, 0.0, source) for key in stated}
    ends = element.stated("parent", "link"), element.stated("child", "link"), placement(element, source)
    values |= {"mimic": _mimic(element, cls, source), "rest": _rest(dynamics, cls, source)}
    values["friction_terms"] = _friction_terms(element, cls, source)
    values["rate_limits"] = _rate_limits(element, cls, source)
    try:
        return Joint(name, joint_type, *ends, limits, **values)
    except ModelError as error:
        place = element if dynamics is None else dynamics
        raise source.error(place, str(error).removeprefix(f"joint {name!r}: ")) from error


def _mimic(element: Element, cls: type[JointType], source: Source) -> Mimic | None:
    mimic = element.find("mimic")
    if mimic is None:
        return None
    if cls.nv == 0:
        source.add_warning(mimic, "it is fixed, so that its <mimic> has no effect")
        return None
    if not cls.nq == cls.nv == 1:
        text = f"it is {cls.kind}, with {cls.nq} coordinates; only joints with one can mimic another"
        raise source.error(mimic, text)
    stated = {k: numbers(mimic, k, 1, source)[0] for k in ("multiplier", "offset") if k in mimic.attrib}
    return Mimic(mimic.attrib["joint"], **stated)


def _friction_terms(element: Element, cls: type[JointType], source: Source) -> dict[str, Array]:
    """Friction terms in <helicoid><friction .../></helicoid> by name; `check_friction` checks the names."""
    extension = element.find("helicoid")
    friction = None if extension is None else extension.find("friction")
    if friction is None:
        return {}
    return {key: _coordinates(friction, key, cls.nv, 0.0, source) for key in friction.attrib}


def _rest(dynamics: Element | None, cls: type[JointType], source: Source) -> Array:
    """The equilibrium coordinates of a joint's spring."""
    if dynamics is None or "rest" not in dynamics.attrib or cls.nv == 0:
        return np.zeros(0)
    rest = np.array(numbers(dynamics, "rest", ANY, source))
    if len(rest) != cls.nq:
        text = f"rest takes one number for each coordinate ({cls.nq}); it has {len(rest)}"
        raise source.error(dynamics, text)
    return rest


def _joint_type(element: Element, cls: type[JointType], source: Source) -> JointType:
    """The type with its parameters: `axis` from <axis>, any other from <helicoid>."""
    extension = element.find("helicoid")
    stated = {} if extension is None else extension.attrib
    known = [field.name for field in fields(cls)]
    for key in stated:
        if key not in known:
            assert extension is not None
            raise source.error(extension, f"a {cls.kind} joint takes no {key}")
    arguments: dict[str, Any] = {}
    for key in known:
        if key == "axis":
            arguments[key] = _axis(element, cls, source)
        elif extension is None or key not in stated:
            raise source.error(element, f"a {cls.kind} joint needs its {key}: write <helicoid {key}=...>")
        else:
            values = numbers(extension, key, parameters()[key], source)
            arguments[key] = values if len(values) > 1 else values[0]
            if key.startswith("axis"):
                _check_axis(extension, key, values, source)
    try:
        return cls(**arguments)
    except ModelError as error:
        raise source.error(element, str(error)) from error


def _axis(element: Element, cls: type[JointType], source: Source) -> Array:
    axis = element.find("axis")
    if axis is None:
        if not np.array_equal(getattr(cls(), "axis", _AXIS), _AXIS):
            source.add_warning(element, 'it has no <axis>; taken as URDF\'s default, "1 0 0"')
        return np.array(_AXIS)
    values = numbers(axis, "xyz", 3, source)
    _check_axis(axis, "xyz", values, source)
    return np.array(values)


def _check_axis(place: Element, key: str, axis: list[float], source: Source) -> None:
    text = quoted(place.attrib[key])
    try:
        unit(axis)
    except ModelError:
        message = f'axis {text} must not be zero; give three numbers such as "0 0 1"'
        raise source.error(place, message) from None
    if abs(np.linalg.norm(axis) - 1) > 1e-3:
        source.add_warning(place, f"axis {text} is not of length 1; it was normalised")


def _coordinates(element: Element | None, key: str, n: int, default: float, source: Source) -> Array:
    """One number for each of n coordinates; a single one stands for all."""
    if element is None or key not in element.attrib:
        return frozen_array(np.full(n, default), (n,), key)
    values = np.array(numbers(element, key, ANY, source))
    if n and len(values) not in (1, n):
        text = f"{element.tag} {key} takes one number for each coordinate ({n}) or one for all"
        raise source.error(element, f"{text}; it has {len(values)}")
    values = np.where(np.abs(values) >= UNLIMITED, np.copysign(np.inf, values), values)
    return frozen_array(np.broadcast_to(values if n else 0.0, (n,)), (n,), key)


def _bounds(element: Element | None, key: str, n: int, default: float, source: Source) -> Array:
    """Like `_coordinates`, for non-negative numbers."""
    values = _coordinates(element, key, n, default, source)
    if element is not None and np.any(values < 0):
        raise source.error(element, f"{key} {quoted(element.attrib[key])} must not be negative")
    return values


def _limits(element: Element, cls: type[JointType], source: Source) -> Limits | None:
    limit = element.find("limit")
    if limit is None:
        if cls.needs_limits:
            source.add_warning(element, "it has no <limit>; taken as unlimited")
        return None
    lower, upper = _range(limit, cls, source)
    if np.any(lower > upper):
        raise source.error(limit, "its lower limit is above its upper limit")
    for key in ("velocity", "effort"):
        if key not in limit.attrib:
            source.add_warning(limit, f"its <limit> states no {key}; taken as unlimited")
    velocity, effort = (_bounds(limit, key, cls.nv, np.inf, source) for key in ("velocity", "effort"))
    return Limits(lower, upper, velocity, effort)


def _rate_limits(element: Element, cls: type[JointType], source: Source) -> RateLimits:
    """Bounds of acceleration, deceleration (by default that of acceleration) and jerk, of URDF 1.2."""
    limit = element.find("limit")
    acceleration, jerk = (_bounds(limit, key, cls.nv, np.inf, source) for key in ("acceleration", "jerk"))
    stated = limit is not None and "deceleration" in limit.attrib
    deceleration = _bounds(limit, "deceleration", cls.nv, np.inf, source) if stated else acceleration
    return RateLimits(acceleration, deceleration, jerk)


def _range(limit: Element, cls: type[JointType], source: Source) -> tuple[Array, Array]:
    """The range of the coordinates, infinite where none is stated or can be."""
    stated = [key for key in ("lower", "upper") if key in limit.attrib]
    curved = cls.nq != cls.nv  # its coordinates lie on a manifold, which one number cannot bound
    if stated and (cls.endless or (curved and len(limit.attrib[stated[0]].split()) == 1)):
        source.add_warning(limit, f"it is {cls.kind}, so that lower and upper limits have no effect")
        return np.full(cls.nq, -np.inf), np.full(cls.nq, np.inf)
    if not stated and cls.needs_limits:
        source.add_warning(limit, "its <limit> states neither lower nor upper; taken as unlimited")
    elif len(stated) == 1:
        source.add_warning(limit, f"its <limit> states only {stated[0]}; the other is 0, URDF's default")
    missing = 0.0 if stated else np.inf
    lower = _coordinates(limit, "lower", cls.nq, -missing, source)
    return lower, _coordinates(limit, "upper", cls.nq, missing, source)
