"""Edit of the numbers of joints: friction, armature, springs, limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.errors import DoubtfulModelWarning, ModelError, warn
from helicoid.model.model import Model, look_up
from helicoid.model.parts import PER_VELOCITY, Joint, Limits, RateLimits

_PER_COORDINATE = ("rest", "lower", "upper")
_BOUNDS = (*Limits._fields, *RateLimits._fields)
_GEOMETRIC = ("rest", *_BOUNDS)  # all else adds up over joints that share a coordinate
_USUALLY_POSITIVE = ("damping", "friction", "static_friction", "stribeck_velocity", "armature")
FIELDS = (*PER_VELOCITY, "rest", *_BOUNDS)

JointValues = ArrayLike | Mapping[str, ArrayLike]
"""A number for all joints, an array per velocity (or coordinate), or joint name -> value(s)."""


def with_joints(model: Model, values: Mapping[str, JointValues], terms: Sequence[str] = ()) -> Model:
    """The model with other numbers in its joints.

    A number or an array is the total of each coordinate: mimic joints then add no friction, armature or
    spring of their own. A mapping changes the joints that it names and no other.
    `terms` are the names that `friction_terms` of a joint may have.
    """
    changes: dict[str, dict[str, Any]] = {joint.name: {} for joint in model.joints}
    for field, given in values.items():
        if field not in FIELDS and field not in terms:
            known = ", ".join((*FIELDS, *terms))
            raise ModelError(f"a joint has no {field!r}; with_joints changes: {known}")
        for name, value in _by_joint(model, field, given).items():
            changes[name][field] = value
    return model.replaced(joints=[_changed(joint, changes[joint.name]) for joint in model.joints])


def _by_joint(model: Model, field: str, given: JointValues) -> dict[str, Array]:
    """The value of each joint."""
    moving = {joint.name: joint for joint in model.joints if joint.type.nv}
    if isinstance(given, Mapping):
        return {
            name: _sized(look_up(moving, name, f"joint of {model.name!r} that moves"), field, value)
            for name, value in given.items()
        }
    numbers = _numbers(field, given)
    n = model.nq if field in _PER_COORDINATE else model.nv
    if numbers.shape not in ((), (n,)):
        raise ModelError(
            f"with_joints of {model.name!r}: {field} takes a number, {n} numbers, or a mapping from joint "
            f"names to numbers; got shape {numbers.shape}"
        )
    result = {}
    for body in model.bodies:
        joint = body.joint
        own = numbers if numbers.ndim == 0 else numbers[body.q if field in _PER_COORDINATE else body.v]
        if joint.mimic is not None:
            if field not in _GEOMETRIC:
                result[joint.name] = np.zeros(joint.type.nv)
        elif joint.name in moving:
            result[joint.name] = _sized(joint, field, own)
        elif numbers.ndim and field not in _GEOMETRIC and np.any(own):
            raise ModelError(
                f"with_joints of {model.name!r}: the base {joint.name!r} floats freely and has no {field}; "
                f"its entries must be 0, got {own}"
            )
    return result


def _sized(joint: Joint, field: str, value: ArrayLike) -> Array:
    size = joint.type.nq if field in _PER_COORDINATE else joint.type.nv
    numbers = _numbers(f"{field} of joint {joint.name!r}", value)
    if numbers.size not in (1, size):
        raise ModelError(f"{field} of joint {joint.name!r} takes {size} numbers, got {numbers.size}")
    wrong = np.isnan(numbers) if field in _BOUNDS else ~np.isfinite(numbers)
    if np.any(wrong):
        raise ModelError(f"{field} of joint {joint.name!r} cannot be {value!r}")
    if field in _USUALLY_POSITIVE and np.any(numbers < 0):
        warn(DoubtfulModelWarning(f"{field} of joint {joint.name!r} is negative: it gives energy"))
    return np.broadcast_to(numbers.ravel(), (size,))


def _changed(joint: Joint, values: dict[str, Any]) -> Joint:
    bounds = {name: values[name] for name in Limits._fields if name in values}
    rates = {name: values[name] for name in RateLimits._fields if name in values}
    own = {name: value for name, value in values.items() if name in FIELDS and name not in {*bounds, *rates}}
    terms = {name: value for name, value in values.items() if name not in FIELDS}
    if terms:
        own["friction_terms"] = {**joint.friction_terms, **terms}
    if bounds:
        own["limits"] = joint.range._replace(**bounds)
        _refuse_crossed(joint, own["limits"])
    if rates:
        own["rate_limits"] = joint.rates._replace(**rates)
        _refuse_negative(joint, own["rate_limits"], RateLimits._fields)
    return replace(joint, **own) if own else joint


def _refuse_crossed(joint: Joint, limits: Limits) -> None:
    if not np.all(limits.lower <= limits.upper):
        raise ModelError(
            f"joint {joint.name!r}: its lower limit {limits.lower} is above its upper limit {limits.upper}"
        )
    _refuse_negative(joint, limits, ("velocity", "effort"))


def _refuse_negative(joint: Joint, limits: Limits | RateLimits, names: Sequence[str]) -> None:
    for name in names:
        if not np.all(getattr(limits, name) >= 0):
            raise ModelError(f"joint {joint.name!r}: its limit of {name} is {getattr(limits, name)}, below 0")


def _numbers(what: str, given: ArrayLike) -> Array:
    return float_array(given, f"with_joints: {what} must be numbers", ModelError)
