"""Kinematics of frames: pose, velocity, acceleration, Jacobian and its rate.

A twist (ω, v) of a frame is expressed in one of three references:

- "world": in world axes, v the velocity of the point of the moving body that passes the world's origin;
- "world_aligned": in world axes, v the velocity of the frame's own origin;
- "body": in the frame's own axes, v the velocity of its own origin.

Acceleration is the rate of the twist's components in the same reference, ẋ = J a + J̇ v. In
"world_aligned" its linear part is therefore the classical acceleration of the frame's origin.
"""

from __future__ import annotations

from typing import Literal, get_args

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.tree import Pose, along_motion, joint_motions, path_to_root, world_poses
from helicoid.errors import InputError
from helicoid.geometry import se3
from helicoid.model.model import WORLD, Model

Reference = Literal["world", "world_aligned", "body"]


def check_reference(reference: str = "world") -> None:
    """Refuse a reference that is none of the three."""
    if reference not in get_args(Reference):
        raise InputError(f"reference must be one of {', '.join(get_args(Reference))}; got {reference!r}")


def frame_pose(model: Model, q: Expression, frame: str) -> Pose:
    """R_0f, p_0f of a link's frame seen from the world."""
    return _placed(model, frame, path_to_root(model, q, model.frame(frame).body))


def _placed(model: Model, frame: str, path: dict[int, tuple[Pose, Expression]]) -> Pose:
    body, placement = model.frame(frame)
    R, p = ca.SX(placement.rotation), ca.SX(placement.translation)
    if body == WORLD:
        return R, p
    R_0, p_0 = path[body][0]
    return R_0 @ R, p_0 + R_0 @ p


def pose(model: Model, q: Expression, frame: str) -> Expression:
    """The frame's pose seen from the world, 4 × 4."""
    return se3.pose(*frame_pose(model, q, frame))


def jacobian(model: Model, q: Expression, frame: str, reference: Reference) -> Expression:
    """J(q), 6 × nv, with twist = J v: each joint's subspace carried to the reference."""
    check_reference(reference)
    path = path_to_root(model, q, model.frame(frame).body)
    R_f, p_f = _placed(model, frame, path)
    origin = ca.SX.zeros(3) if reference == "world" else p_f
    J = ca.SX.zeros(6, model.nv)
    for i, ((R, p), S) in path.items():
        body = model.bodies[i]
        for k in range(S.shape[1]):
            ω = R @ S[:3, k]
            v = R @ S[3:, k] + ca.cross(p - origin, ω)
            J[:, body.v.start + k] += body.multiplier * ca.vertcat(ω, v)
    return ca.diagcat(R_f.T, R_f.T) @ J if reference == "body" else J


def jacobian_dot(model: Model, q: Expression, v: Expression, frame: str, reference: Reference) -> Expression:
    """J̇(q, v) = dJ/dt, 6 × nv, of the Jacobian with twist = J v, in its reference."""
    return along_motion(model, jacobian(model, q, frame, reference), q, v)


def jacobian_ddot(
    model: Model, q: Expression, v: Expression, a: Expression, frame: str, reference: Reference
) -> Expression:
    """J̈(q, v, a) = d²J/dt², 6 × nv: the jerk of the twist is J ȧ + 2 J̇ a + J̈ v."""
    return along_motion(model, jacobian_dot(model, q, v, frame, reference), q, v, a)


def velocity(model: Model, q: Expression, v: Expression, frame: str, reference: Reference) -> Expression:
    """The frame's twist (ω, v), 6 (rad/s, m/s)."""
    return jacobian(model, q, frame, reference) @ v


def acceleration(
    model: Model, q: Expression, v: Expression, a: Expression, frame: str, reference: Reference
) -> Expression:
    """The rate of the frame's twist, J a + J̇ v, 6 (rad/s², m/s²)."""
    J = jacobian(model, q, frame, reference)
    return J @ a + along_motion(model, J, q, v) @ v


def mixed_velocity_matrix(model: Model, q: Expression) -> Expression:
    """T(q), nv × nv, of u = T v, in which a floating body has (I_v_B, B_ω) in place of its body twist.

    Inertia, forces and Jacobians for velocities u are T⁻ᵀ M T⁻¹, T⁻ᵀ h and J T⁻¹.
    """
    poses = world_poses(model, joint_motions(model, q))
    T = ca.SX.eye(model.nv)
    for body, (R, _) in zip(model.bodies, poses, strict=True):
        S = body.joint.type.subspace(q[body.q]) if body.joint.mimic is None else ca.SX(6, 0)
        if S.shape == (6, 6) and (S - ca.SX.eye(6)).is_zero():
            T[body.v, body.v] = ca.blockcat([[ca.SX.zeros(3, 3), R], [ca.SX.eye(3), ca.SX.zeros(3, 3)]])
    return T
