"""Bodies of a written MJCF: placements, inertias, joints with their numbers, sites of frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from helicoid._typing import Array
from helicoid.errors import ModelError
from helicoid.geometry import quaternion
from helicoid.model.connections.actuators import coupled_joints
from helicoid.model.inertia import Inertia
from helicoid.model.mjcf.writing.joints import Slot, is_top
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Placement
from helicoid.model.urdf.xml_text import words

UNLIMITED = 1e10  # rad or m: the open side of a range that is closed on the other
_MIN_INERTIA = 1e-14  # kg, kg·m²: MuJoCo refuses moving bodies with less than 1e-15
_SAME_MOMENT = 1e-9  # relative


@dataclass
class Losses:
    """Properties that MJCF cannot state: those in `motion` act on the motion, those in `numbers` do not."""

    motion: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    moments: dict[str, Array] = field(default_factory=dict)
    """Principal moments (kg·m²) of bodies that MuJoCo's compiler refuses, in the axes of the written ones."""


def pose(placement: Placement, what: str) -> dict[str, str]:
    """Attributes `pos` and `quat`; none where they are zero."""
    found = {}
    if placement.translation.any():
        found["pos"] = words(placement.translation, what)
    if not np.array_equal(placement.rotation, np.eye(3)):
        found["quat"] = words(np.asarray(quaternion.from_matrix(placement.rotation)), what)
    return found


def add_inertial(
    element: Element, name: str, inertia: Inertia, losses: Losses, axes: Array | None = None
) -> None:
    """The inertia of a body in its principal axes, in `axes` where these are principal.

    Moments that no rigid body has are replaced by the nearest of one: its principal second moments of mass,
    ½ (I₁ + I₂ + I₃) - Iₖ, are at least zero.

    Raises:
        ModelError: the mass is negative, or there is a first moment without mass.
    """
    what = f"inertia of link {name!r}"
    if inertia.mass < 0:
        raise ModelError(f"{what}: MJCF cannot state a negative mass ({inertia.mass:g} kg)")
    if inertia.mass == 0 and np.any(inertia.first_moment != 0):
        raise ModelError(f"{what}: MJCF cannot state a first moment {inertia.first_moment} without mass")
    if axes is None:
        moments, axes = np.linalg.eigh(inertia.at_com)
        axes = axes * np.sign(np.linalg.det(axes))
    else:
        moments = np.diag(axes.T @ inertia.at_com @ axes)
    second = np.maximum(moments.sum() / 2 - moments, 0.0)
    valid = np.maximum(second.sum() - second, _MIN_INERTIA)
    if np.abs(valid - moments).max() > max(_SAME_MOMENT * np.abs(moments).max(), 2 * _MIN_INERTIA):
        losses.motion.append(f"the moments of inertia {_short(moments)} kg·m² of link {name!r}")
        losses.moments[name] = moments
    elif np.all(moments > _MIN_INERTIA) and 2 * moments.max() <= moments.sum():
        valid = moments
    SubElement(
        element,
        "inertial",
        pose(Placement(axes, inertia.com), what) or {"pos": "0 0 0"},
        mass=words([max(inertia.mass, _MIN_INERTIA)], what),
        diaginertia=words(valid, what),
    ).attrib.setdefault("pos", "0 0 0")


def add_joint(element: Element, model: Model, slot: Slot, losses: Losses) -> None:
    """A joint with its limits, damping, dry friction, armature and spring."""
    joint = model.bodies[slot.body].joint
    common = {} if slot.own is None else _numbers(slot, joint, losses)
    if slot.kind in ("hinge", "slide"):
        if model.actuators and slot.own is not None:
            common |= _effort(slot, joint, joint.name in coupled_joints(model))
        axis = words(slot.axis, f"axis of joint {slot.name!r}")
        SubElement(element, "joint", {"name": slot.name, "type": slot.kind, "axis": axis, **common})
        return
    if slot.kind == "free" and not is_top(model, slot):
        for axis in ("1 0 0", "0 1 0", "0 0 1"):
            name = f"{slot.name}[{'xyz'[axis.split().index('1')]}]"
            SubElement(element, "joint", {"name": name, "type": "slide", "axis": axis, **common})
        SubElement(element, "joint", {"name": slot.name, "type": "ball", **common})
        return
    SubElement(element, "joint", {"name": slot.name, "type": slot.kind, **common})


def _numbers(slot: Slot, joint: Joint, losses: Losses) -> dict[str, str]:
    assert slot.own is not None
    what, found = f"joint {joint.name!r}", {}
    for key, attribute in (("damping", "damping"), ("friction", "frictionloss"), ("armature", "armature")):
        values = getattr(joint, key)[slot.own]
        if np.any(values < 0):
            raise ModelError(f"{what}: MJCF cannot state a negative {key} ({words(values, what)})")
        if not values.any():
            continue
        if np.ptp(values) or (slot.kind == "free" and key != "damping"):
            losses.motion.append(f"{key} {_short(values)} of {what}, which is {slot.kind}")
        else:
            found[attribute] = words(values[:1], f"{key} of {what}")
    found |= _spring(slot, joint, losses) | _range(slot, joint, losses)
    if slot.own.start == 0:
        _name_losses(joint, losses)
    return found


def _spring(slot: Slot, joint: Joint, losses: Losses) -> dict[str, str]:
    assert slot.own is not None
    k, what = joint.stiffness[slot.own], f"spring of joint {joint.name!r}"
    if not k.any():
        return {}
    if slot.kind in ("hinge", "slide"):
        rest = joint.rest[slot.own]
        return {"stiffness": words(k, what), "springref": words(rest, what)}
    if slot.kind == "free" or np.ptp(k) or np.any(joint.rest != joint.type.neutral()):
        losses.motion.append(f"the {what}, which is {slot.kind}")
        return {}
    return {"stiffness": words(k[:1], what)}


def _range(slot: Slot, joint: Joint, losses: Losses) -> dict[str, str]:
    assert slot.own is not None
    limits = joint.range
    if np.any(np.isfinite(limits.velocity[slot.own])):
        losses.numbers.append(f"the velocity limit of joint {joint.name!r}")
    if joint.rate_limits is not None and slot.own.start == 0:
        losses.numbers.append(f"the limits of acceleration and jerk of joint {joint.name!r}")
    if joint.type.endless or slot.kind in ("ball", "free"):
        return {}
    lower, upper = float(limits.lower[slot.own][0]), float(limits.upper[slot.own][0])
    if np.isinf(lower) and np.isinf(upper):
        return {}
    if not lower < upper:
        losses.motion.append(f"the limits {lower:g} to {upper:g} of joint {joint.name!r}")
        return {}
    bounds = np.clip([lower, upper], -UNLIMITED, UNLIMITED)
    return {"limited": "true", "range": words(bounds, f"limits of joint {joint.name!r}")}


def _effort(slot: Slot, joint: Joint, is_coupled: bool) -> dict[str, str]:
    """The range of the sum of all actuators; of a coupled joint the stated one alone."""
    effort = float(joint.range.effort[slot.own][0])
    stated = joint.actuator_range
    if stated is None and (is_coupled or not 0 < effort < np.inf):
        return {}
    interval = words(stated or (-effort, effort), f"effort of joint {joint.name!r}")
    return {"actuatorfrclimited": "true", "actuatorfrcrange": interval}


def _name_losses(joint: Joint, losses: Losses) -> None:
    terms = [name.replace("_", " ") for name in joint.friction_terms]
    terms += ["static friction"] if joint.static_friction.any() else []
    if terms:
        losses.motion.append(f"{', '.join(terms)} of joint {joint.name!r}")


def add_site(element: Element, name: str, placement: Placement) -> None:
    """A frame."""
    SubElement(element, "site", {"name": name, **pose(placement, f"frame {name!r}")})


def _short(values: Array) -> str:
    return ", ".join(f"{value:.4g}" for value in values)
