"""Joints of an SDF model: their types, axes, limits, springs, and joints that follow others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import ModelError
from helicoid.model.joint_type import JointType
from helicoid.model.joints import (
    Continuous,
    Fixed,
    Helical,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from helicoid.model.parts import Limits, Mimic, Placement
from helicoid.model.sdf.documents import Scope, text_of, truth
from helicoid.model.sdf.frames import MODEL, Frames
from helicoid.model.sdf.links import number
from helicoid.model.urdf.markup import Element, Source, quoted
from helicoid.model.urdf.syntax import plain_numbers

_UNLIMITED = 1e16  # rad or m, SDF's default
_MIN_AXIS = 1e-9
_CHILDREN = {
    *("pose", "parent", "child", "axis", "axis2", "thread_pitch", "screw_thread_pitch", "gearbox_ratio"),
    *("gearbox_reference_body", "physics", "sensor", "plugin", "frame"),
}
_AXES = {
    "fixed": 0,
    "ball": 0,
    "revolute": 1,
    "continuous": 1,
    "prismatic": 1,
    "screw": 1,
    "universal": 2,
    "revolute2": 2,
    "gearbox": 2,
}
"""Axes that a joint of each type states."""

GEARBOX = "gearbox"


@dataclass(frozen=True, eq=False)
class SdfJoint:
    """A joint: its frame in the world at zero, the links that it connects, its type and numbers.

    Attributes:
        parent, child: full names of links, or "world".
        axes: in the joint's frame.
        numbers: arguments of `model.parts.Joint`.
        type: None of a gearbox.
    """

    name: str
    kind: str
    parent: str
    child: str
    pose: Placement
    axes: tuple[Array, ...]
    type: JointType | None
    element: Element
    scope: Scope
    numbers: dict[str, Any] = field(default_factory=dict)


def read_joint(element: Element, scope: Scope, frames: Frames) -> SdfJoint:
    """The joint that a `<joint>` states."""
    source = scope.source
    for child in element.children:
        if child.tag not in _CHILDREN and ":" not in child.tag:
            raise source.error(child, f"<{child.tag}> in <joint> is not understood; correct or remove it")
    kind, name = element.attrib.get("type", ""), f"{scope.prefix}{element.attrib['name']}"
    if kind not in _AXES:
        raise source.error(element, f"unknown type {quoted(kind)}; there are {', '.join(_AXES)}")
    ends = []
    for tag in ("parent", "child"):
        stated = text_of(element.find(tag))
        if not stated:
            raise source.error(element, f"<joint> lacks <{tag}>")
        ends.append(frames.link_of(frames.full(scope, stated), element, source))
    if ends[0] == ends[1]:
        raise source.error(element, f"its parent and child are both {quoted(ends[0])}")
    pose = frames.pose(name, element, source)
    found = [element.find(tag) for tag in ("axis", "axis2")[: _AXES[kind]]]
    if any(one is None for one in found):
        raise source.error(element, f"a {kind} joint needs <{'axis2' if found[0] is not None else 'axis'}>")
    for tag in ("axis", "axis2")[_AXES[kind] :]:
        if kind != "fixed" and element.find(tag) is not None:
            source.add_warning(element, f"a {kind} joint has no <{tag}>: it is left out, with its dynamics")
    stated_axes = [one for one in found if one is not None]
    axes = tuple(_axis(one, scope, pose, frames) for one in stated_axes)
    if kind == GEARBOX:
        return SdfJoint(name, kind, ends[0], ends[1], pose, axes, None, element, scope)
    numbers = _numbers(stated_axes, scope, element) if axes else {}
    joint_type = _type(kind, axes, element, numbers, source)
    return SdfJoint(name, kind, ends[0], ends[1], pose, axes, joint_type, element, scope, numbers)


def _axis(element: Element, scope: Scope, pose: Placement, frames: Frames) -> Array:
    """An axis in the frame of the joint."""
    source, xyz = scope.source, element.find("xyz")
    known = ("xyz", "limit", "dynamics", "mimic", "use_parent_model_frame", "initial_position")
    for child in element.children:
        if child.tag not in known:
            raise source.error(
                child, f"<{child.tag}> in <{element.tag}> is not understood; correct or remove it"
            )
    values = [0.0, 0.0, 1.0] if xyz is None else plain_numbers(xyz, "axis", xyz.text, 3, source)
    axis = np.array(values)
    size = float(np.linalg.norm(axis))
    if size < _MIN_AXIS:
        raise source.error(element, "its axis must not be zero")
    if abs(size - 1) > 1e-3:
        source.add_warning(element, "its axis is not of length 1; it was normalised")
    there = "" if xyz is None else xyz.attrib.get("expressed_in", "")
    if truth(element.find("use_parent_model_frame"), source):
        there = MODEL
    if there:
        R = frames.pose(frames.full(scope, there), element, source).rotation
        axis = pose.rotation.T @ R @ axis
        axis = np.where(np.abs(axis - np.round(axis)) < 1e-15, np.round(axis), axis)
    return np.asarray(axis / size)


def _numbers(axes: list[Element], scope: Scope, owner: Element) -> dict[str, Any]:
    """Limits, friction, springs and mimic of one axis, or of two."""
    source = scope.source

    def each(path: str, default: float) -> Array:
        return np.array([number(axis.find(path), source, default) for axis in axes])

    for axis in axes:
        for tag, known in (
            ("limit", ("lower", "upper", "effort", "velocity", "stiffness", "dissipation")),
            ("dynamics", ("damping", "friction", "spring_reference", "spring_stiffness")),
        ):
            for child in axis.findall(tag):
                for one in child.children:
                    if one.tag not in known:
                        raise source.error(
                            one, f"<{one.tag}> in <{tag}> is not understood; correct or remove it"
                        )
    lower, upper = each("limit/lower", -np.inf), each("limit/upper", np.inf)
    if np.any(lower > upper):
        raise source.error(owner, "its lower limit is above its upper limit")
    lower, upper = (np.where(np.abs(x) >= _UNLIMITED, np.copysign(np.inf, x), x) for x in (lower, upper))
    velocity, effort = (each(f"limit/{tag}", -1.0) for tag in ("velocity", "effort"))
    velocity, effort = (np.where(x < 0, np.inf, x) for x in (velocity, effort))
    found: dict[str, Any] = {
        "damping": each("dynamics/damping", 0.0),
        "friction": each("dynamics/friction", 0.0),
        "stiffness": each("dynamics/spring_stiffness", 0.0),
        "rest": each("dynamics/spring_reference", 0.0),
    }
    for name in ("damping", "friction", "stiffness"):
        if np.any(found[name] < 0):
            raise source.error(owner, f"its {name} must not be negative")
    if not np.all(np.isinf(np.concatenate([lower, upper, velocity, effort]))):
        found["limits"] = Limits(lower, upper, velocity, effort)
    mimic = axes[0].find("mimic")
    if mimic is not None:
        found["mimic"] = _mimic(mimic, scope, len(axes))
    return found


def _mimic(element: Element, scope: Scope, n_axes: int) -> Mimic:
    source, joint = scope.source, element.attrib.get("joint", "")
    if not joint or n_axes > 1 or element.attrib.get("axis", "axis") != "axis":
        raise source.error(
            element, "<mimic> names a joint of one axis, and belongs to one: joint=..., axis=axis"
        )
    multiplier, offset, reference = (
        number(element.find(tag), source, default)
        for tag, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
    )
    return Mimic(f"{scope.prefix}{joint}", multiplier, offset - multiplier * reference)


def _type(
    kind: str, axes: tuple[Array, ...], element: Element, numbers: dict[str, Any], source: Source
) -> JointType:
    free = "limits" not in numbers or bool(
        np.all(np.isinf([*numbers["limits"].lower, *numbers["limits"].upper]))
    )
    makers: dict[str, Callable[[], JointType]] = {
        "fixed": Fixed,
        "ball": Spherical,
        "revolute": lambda: Continuous(*axes) if free else Revolute(*axes),
        "continuous": lambda: Continuous(*axes),
        "prismatic": lambda: Prismatic(*axes),
        "screw": lambda: Helical(axes[0], _pitch(element, source)),
        "universal": lambda: Universal(*axes),
        "revolute2": lambda: Universal(*axes),
    }
    try:
        made = makers[kind]()
    except ModelError as error:
        raise source.error(element, str(error)) from error
    if made.endless and "limits" in numbers:
        unlimited = np.full(made.nq, np.inf)
        numbers["limits"] = numbers["limits"]._replace(lower=-unlimited, upper=unlimited)
    return made


def _pitch(element: Element, source: Source) -> float:
    """Travel of a screw (m/rad), positive where it is right-handed."""
    new, old = element.find("screw_thread_pitch"), element.find("thread_pitch")
    if new is not None:
        return number(new, source) / (2 * np.pi)
    if old is None:
        raise source.error(element, "a screw joint needs its <screw_thread_pitch> (m a turn)")
    turns = number(old, source)
    if turns == 0:
        raise source.error(old, "thread_pitch (rad/m) must not be zero")
    return -1.0 / turns


def with_gearboxes(joints: list[SdfJoint], frames: Frames) -> list[SdfJoint]:
    """The joints without gearboxes: the joint of the child follows that of the parent.

    θ₂ = -ratio θ₁, where θ₁ is the angle from the reference body to the parent about `axis`, and θ₂ that to
    the child about `axis2`.
    """
    kept = [one for one in joints if one.kind != GEARBOX]
    for gear in joints:
        if gear.kind == GEARBOX:
            kept = _geared(kept, gear, frames)
    return kept


def _geared(joints: list[SdfJoint], gear: SdfJoint, frames: Frames) -> list[SdfJoint]:
    source, element, scope = gear.scope.source, gear.element, gear.scope
    stated = text_of(element.find("gearbox_reference_body"))
    body = frames.link_of(frames.full(scope, stated), element, source) if stated else ""
    ratio = number(element.find("gearbox_ratio"), source, 1.0)
    found = []
    for link, axis in zip((gear.parent, gear.child), gear.axes, strict=True):
        turning = [
            one
            for one in joints
            if one.kind in ("revolute", "continuous") and {one.parent, one.child} == {body, link}
        ]
        if len(turning) != 1:
            raise source.error(
                element, f"a gearbox needs a revolute joint between its reference body {body!r} and {link!r}"
            )
        (one,) = turning
        cosine = float((one.pose.rotation @ one.axes[0]) @ (gear.pose.rotation @ axis))
        if abs(abs(cosine) - 1) > 1e-6:
            raise source.error(element, f"its axes are parallel to those of {one.name!r} and the other joint")
        found.append((one, np.sign(cosine) * (1 if one.parent == body else -1)))
    (leader, one_sign), (follower, other_sign) = found
    if "mimic" in follower.numbers:
        raise source.error(element, f"joint {follower.name!r} follows another one already")
    multiplier = float(-ratio * one_sign * other_sign)
    numbers = {**follower.numbers, "mimic": Mimic(leader.name, multiplier, 0.0)}
    return [replace(one, numbers=numbers) if one is follower else one for one in joints]
