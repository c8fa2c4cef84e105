"""Flexible joints: each becomes a motor and a spring in series (Spong 1987)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from helicoid.errors import ModelError
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Limits, Link, Placement

MOTOR = "_motor"
ROTOR = "_rotor"


def with_flexible_joints(
    model: Model, stiffness: float | Mapping[str, float], damping: float | Mapping[str, float] = 0.0
) -> Model:
    """Joints that turn by θ + δ: `<joint>_motor` by θ, then the spring `<joint>` by δ.

    Between them is the massless link `<joint>_rotor`. The motor keeps armature, friction and limits; the
    spring has the stiffness K (N·m/rad), the damping D (N·m·s/rad), and no drive: its effort limit is 0.
    """
    chosen = _chosen(model, stiffness)
    damped = damping if isinstance(damping, Mapping) else dict.fromkeys(chosen, damping)
    for name in damped:
        if name not in chosen:
            raise ModelError(f"damping names joint {name!r}, which is not made flexible")
    links, joints = list(model.links), []
    for joint in model.joints:
        if joint.name not in chosen:
            joints.append(joint)
            continue
        _check(model, joint, chosen[joint.name], damped.get(joint.name, 0.0))
        rotor = joint.name + ROTOR
        links.append(Link(rotor))
        joints.append(replace(joint, name=joint.name + MOTOR, child=rotor))
        joints.append(_spring(joint, rotor, chosen[joint.name], damped.get(joint.name, 0.0)))
    return model.replaced(links, joints)


def has_motor(joint: Joint) -> bool:
    """Whether a drive can act on this joint: not on a floating base, nor on a spring of effort limit 0."""
    passive = np.any(joint.stiffness) and not np.any(joint.range.effort)
    return not passive and joint.type.can_be_driven


def motor_of(model: Model, joint: Joint) -> Joint | None:
    """The motor in series with a spring, where `with_flexible_joints` made it."""
    names = {one.name: one for one in model.independent_joints}
    motor = names.get(joint.name + MOTOR)
    return motor if motor is not None and motor.child == joint.parent and not has_motor(joint) else None


def _chosen(model: Model, stiffness: float | Mapping[str, float]) -> dict[str, float]:
    if isinstance(stiffness, Mapping):
        return {model.joint(name).name: value for name, value in stiffness.items()}
    able = [j.name for j in model.independent_joints if j.type.nv == 1 and has_motor(j)]
    return dict.fromkeys(able, stiffness)


def _check(model: Model, joint: Joint, stiffness: float, damping: float) -> None:
    what = f"joint {joint.name!r} cannot be made flexible: "
    followers = [one.name for one in model.joints if one.mimic and one.mimic.joint == joint.name]
    if joint.type.nv != 1 or joint.mimic is not None:
        raise ModelError(what + "it has not one coordinate of its own")
    if followers:
        raise ModelError(what + f"{', '.join(followers)} mimics it, and could follow either side")
    if np.any(joint.stiffness):
        raise ModelError(what + "it has a spring already")
    if not joint.armature[0] > 0:
        raise ModelError(
            what + "its armature is 0, and a motor without inertia is no body; state the armature "
            "(kg·m²) or use with_drives"
        )
    if not 0 < stiffness < np.inf or not 0 <= damping < np.inf:
        raise ModelError(what + f"it needs stiffness > 0 and damping >= 0, got {stiffness} and {damping}")


def _spring(joint: Joint, rotor: str, stiffness: float, damping: float) -> Joint:
    free = np.full(joint.type.nq, np.inf)
    return Joint(
        joint.name,
        joint.type,
        rotor,
        joint.child,
        Placement(),
        limits=Limits(-free, free, np.full(1, np.inf), np.zeros(1)),
        damping=damping * np.ones(1),
        stiffness=stiffness * np.ones(1),
    )
