"""Transmissions of actuators: the length l(q) that each one changes, and its moment arms r = ∂l̇/∂v.

A joint of one coordinate has l = g₁ q, a ball l = gᵀ φ with its rotation vector φ, a tendon l = g₁ L. On a
free joint, or a frame without a reference, the gear is a wrench and l = 0. Seen from a frame a, the gear
multiplies the position and rotation vector of frame b in the axes of a, and r those of its relative velocity.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.dynamics.kinematics.frames import frame_pose, jacobian
from helicoid.dynamics.kinematics.tendons import tendon_state
from helicoid.dynamics.tree import joint_coordinates, joint_motions, path_to_root
from helicoid.geometry import quaternion, so3
from helicoid.model.connections.actuators import Actuator
from helicoid.model.model import Model


class TransmissionState(NamedTuple):
    """l (m, rad) and r (1 × nv) of one actuator."""

    length: Expression
    moments: Expression


def transmission_state(model: Model, q: Expression, actuator: Actuator) -> TransmissionState:
    """Length and moment arms of one actuator."""
    gear = actuator.gear
    if actuator.transmission == "tendon":
        tendon = next(one for one in model.tendons if one.name == actuator.target)
        state = tendon_state(model, q, tendon)
        return TransmissionState(gear[0] * state.length, gear[0] * state.jacobian)
    if actuator.transmission == "frame":
        return _of_frame(model, q, actuator)
    return _of_joint(model, q, actuator)


def _of_joint(model: Model, q: Expression, actuator: Actuator) -> TransmissionState:
    body = next(one for one in model.bodies if one.joint.name == actuator.target)
    joint, gear = body.joint.type, ca.SX(actuator.gear)
    r = ca.SX(1, model.nv)
    if joint.nq == joint.nv:
        r[0, body.v] = body.multiplier * gear[: joint.nv].T
        return TransmissionState(ca.dot(gear[: joint.nv], joint_coordinates(body, q)), r)
    x = q[body.q]
    start = x.numel() - 4
    R = quaternion.to_matrix(x[start:])
    in_parent = actuator.transmission == "joint_in_parent"
    turning = gear[3 * (start > 0) :][:3]
    axes = R.T @ turning if in_parent else turning
    if start:  # a free joint: force in the axes of the world, or of its parent
        r[0, body.v] = ca.vertcat(axes, R.T @ gear[:3]).T
        return TransmissionState(ca.SX(0), r)
    r[0, body.v] = axes.T
    return TransmissionState(ca.dot(axes, joint.difference(ca.SX(joint.neutral()), x)), r)


def _of_frame(model: Model, q: Expression, actuator: Actuator) -> TransmissionState:
    force, moment = ca.SX(actuator.gear[:3]), ca.SX(actuator.gear[3:])
    R, p = frame_pose(model, q, actuator.target)
    J = jacobian(model, q, actuator.target, "world_aligned")
    if not actuator.reference:
        return TransmissionState(ca.SX(0), (R @ force).T @ J[3:, :] + (R @ moment).T @ J[:3, :])
    R_a, p_a = frame_pose(model, q, actuator.reference)
    J = J - jacobian(model, q, actuator.reference, "world_aligned")
    motions = joint_motions(model, q)
    for number in _common(model, q, actuator):  # joints that move both frames
        body = model.bodies[number]
        if all(one.joint.mimic is None for one in model.bodies):
            J[:, body.v] = 0
            continue
        # A joint that moves one frame alone may have the same coordinate.
        axes = body.multiplier * (frame_pose(model, q, body.name)[0] @ motions[number].S[:3, :])
        J[3:, body.v] -= so3.hat(p_a - p) @ axes
    length, r = ca.SX(0), ca.SX(1, model.nv)
    if np.any(actuator.gear[:3]):
        length += ca.dot(force, R_a.T @ (p - p_a))
        r += (R_a @ force).T @ J[3:, :]
    if np.any(actuator.gear[3:]):
        turn = quaternion.log(quaternion.from_matrix(R_a.T @ R))
        length += ca.dot(moment, turn)
        r += (R_a @ moment).T @ J[:3, :]
    return TransmissionState(length, r)


def _common(model: Model, q: Expression, actuator: Actuator) -> set[int]:
    paths = (path_to_root(model, q, model.frame(link).body) for link in (actuator.target, actuator.reference))
    a, b = (set(path) for path in paths)
    return a & b
