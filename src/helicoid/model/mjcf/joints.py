"""Joints of a compiled MuJoCo model: each body of MuJoCo may have several, one after the other.

MuJoCo moves a body by T = B Π_k A_k(q_k) with B its pose in its parent and A_k a motion about the point
`pos` of the body, zero at the reference `qpos0`. Here each A_k is a joint, with links without mass between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from helicoid.geometry import quaternion
from helicoid.model.joint_type import JointType
from helicoid.model.joints import Fixed, Floating, Prismatic, Revolute, Spherical
from helicoid.model.mjcf.names import Names
from helicoid.model.mjcf.placements import rotation, unit
from helicoid.model.parts import Joint, Limits, Link, Placement

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
_SPRING_OFF, _DAMPER_OFF = "mjDSBL_SPRING", "mjDSBL_DAMPER"
FRICTION_OFF = "mjDSBL_FRICTIONLOSS", "mjDSBL_CONSTRAINT"
"""Flags that disable dry friction."""


class JointAddress(NamedTuple):
    """A joint of MuJoCo: where its numbers are, and which of our joints, by name, have them.

    A free joint is one joint of six degrees of freedom, or three slides and a ball; others are one joint.
    """

    name: str
    kind: int
    qpos: int
    dof: int
    joints: tuple[str, ...]


class Chain(NamedTuple):
    """The joints that carry one body of MuJoCo, the links without mass between them, and their addresses."""

    joints: list[Joint]
    links: list[Link]
    addresses: list[JointAddress]


class _Step(NamedTuple):
    """One of our joints: its name, type, numbers, and the placements before it and after it."""

    name: str
    type: JointType
    before: Placement
    after: Placement
    numbers: dict[str, Any]


def body_chain(model: Any, body: int, names: Names) -> Chain:
    """The joints between a body and its parent; a fixed one where MuJoCo has none."""
    parent, child = names.bodies[model.body_parentid[body]], names.bodies[body]
    placed = Placement(rotation(model.body_quat[body]), model.body_pos[body])
    first, count = model.body_jntadr[body], model.body_jntnum[body]
    if count == 0:
        return Chain([Joint(names.joint(f"{child}_fixed"), Fixed(), parent, child, placed)], [], [])
    steps, addresses = [], []
    for j in range(first, first + count):
        if model.jnt_type[j] == FREE:
            placed = Placement()  # MuJoCo ignores the pose of a body that moves freely
        own = list(_steps(model, j, names))
        addresses.append(
            JointAddress(
                *(names.joints[j], int(model.jnt_type[j])),
                *(int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])),
                tuple(one.name for one in own),
            )
        )
        steps += own
    return Chain(*_linked(steps, placed, parent, child, names), addresses)


def _linked(
    steps: list[_Step], placed: Placement, parent: str, child: str, names: Names
) -> tuple[list[Joint], list[Link]]:
    """Our joints one after the other; the frame of the body itself is where MuJoCo has it."""
    joints, links = [], []
    for k, step in enumerate(steps):
        moved = step is not steps[-1] or bool(np.any(step.after.translation))
        link = names.frame(f"{step.name}_link") if moved else child
        joints.append(Joint(step.name, step.type, parent, link, placed @ step.before, **step.numbers))
        links += [Link(link)] if moved else []
        parent, placed = link, step.after
        if moved and k + 1 == len(steps):
            joints.append(Joint(names.joint(f"{child}_fixed"), Fixed(), parent, child, placed))
    return joints, links


def _steps(model: Any, j: int, names: Names) -> Iterator[_Step]:
    kind, dof = model.jnt_type[j], model.jnt_dofadr[j]
    name, at = names.joints[j], Placement(translation=model.jnt_pos[j])
    numbers = _numbers(model, j)
    along = model.dof_armature[dof : dof + 6], model.dof_frictionloss[dof : dof + 6]
    if kind == FREE and (numbers["stiffness"] or np.any(along)):
        # MuJoCo's springs, armature and dry friction of translation are along the axes of the world.
        rest = model.qpos_spring[model.jnt_qposadr[j] :]
        for k, axis in enumerate("xyz"):
            own = numbers | _of_dofs(model, dof + k, 1) | {"rest": np.array([rest[k]])}
            yield _Step(names.joint(f"{name}_{axis}"), Prismatic(np.eye(3)[k]), Placement(), Placement(), own)
        own = numbers | _of_dofs(model, dof + 3, 3) | {"rest": unit(rest[3:7])}
        yield _Step(names.joint(f"{name}_ball"), Spherical(), Placement(), Placement(), own)
        return
    nv = {FREE: 6, BALL: 3}.get(kind, 1)
    numbers |= _of_dofs(model, dof, nv)
    if kind == FREE:  # one number for all of them: the order and the axes do not matter
        yield _Step(name, Floating(), Placement(), Placement(), numbers)
        return
    if kind == BALL:
        if numbers["stiffness"]:
            numbers["rest"] = unit(model.qpos_spring[model.jnt_qposadr[j] :][:4])
        yield _Step(name, Spherical(), at, at.inverse, numbers)
        return
    axis, reference = model.jnt_axis[j], float(model.qpos0[model.jnt_qposadr[j]])
    numbers["rest"] = model.qpos_spring[model.jnt_qposadr[j] :][:1]
    numbers["limits"] = _limits(model, j)
    if model.jnt_actfrclimited[j]:
        lower, upper = map(float, model.jnt_actfrcrange[j])
        numbers["actuator_range"] = (lower, upper)
    if kind == SLIDE:
        before = Placement(translation=at.translation - reference * axis)
        yield _Step(name, Prismatic(axis), before, at.inverse, numbers)
    else:
        before = Placement(rotation(quaternion.from_angle_axis(-reference, axis)), at.translation)
        yield _Step(name, Revolute(axis), before, at.inverse, numbers)


def _numbers(model: Any, j: int) -> dict[str, Any]:
    """Stiffness of a joint, zero where the file disables springs."""
    on = not disabled(model, _SPRING_OFF)
    return {"stiffness": np.float64(model.jnt_stiffness[j] if on else 0.0)}


def _of_dofs(model: Any, dof: int, nv: int) -> dict[str, Any]:
    """Armature, damping and dry friction of velocities."""
    those = slice(dof, dof + nv)
    damping = model.dof_damping[those] * (not disabled(model, _DAMPER_OFF))
    friction = model.dof_frictionloss[those] * (not disabled(model, *FRICTION_OFF))
    return {"armature": model.dof_armature[those], "damping": damping, "friction": friction}


def _limits(model: Any, j: int) -> Limits | None:
    """Range of a hinge or slide, and the largest force that its actuators may apply."""
    limited = bool(model.jnt_limited[j])
    acting = bool(model.jnt_actfrclimited[j])
    if not (limited or acting):
        return None
    lower, upper = model.jnt_range[j] if limited else (-np.inf, np.inf)
    effort = np.abs(model.jnt_actfrcrange[j]).max() if acting else np.inf
    return Limits(*(np.array([x], np.float64) for x in (lower, upper, np.inf, effort)))


def disabled(model: Any, *flags: str) -> bool:
    """Whether the file disables a part of the physics by any of these (`<option><flag .../></option>`)."""
    import mujoco

    return any(model.opt.disableflags & getattr(mujoco.mjtDisableBit, flag).value for flag in flags)
