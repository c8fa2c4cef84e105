"""The kinematic tree: pose and motion subspace of each body, and the coordinates of each joint.

A mimic joint borrows the coordinate of its source: q_i = k q_s + o, v_i = k v_s, and by virtual power
τ_s += k τ_i. Only this file has these three lines; algorithms do not distinguish mimic joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.model.model import WORLD, Body, Model


class JointMotion(NamedTuple):
    """Pose R, p of a body seen from its parent body, and its joint's subspace S in body coordinates."""

    R: Expression
    p: Expression
    S: Expression


def joint_coordinates(body: Body, q: Expression) -> Expression:
    """q_i of one body's joint."""
    return body.multiplier * q[body.q] + body.offset


def joint_velocity(body: Body, v: Expression) -> Expression:
    """v_i of one body's joint from v, or its acceleration from a."""
    return body.multiplier * v[body.v]


def joint_motion(body: Body, q: Expression) -> JointMotion:
    """One body's pose relative to its parent, and its motion subspace."""
    q_i = joint_coordinates(body, q)
    R, p = body.joint.type.pose(q_i)
    R_placed, p_placed = ca.SX(body.placement.rotation), ca.SX(body.placement.translation)
    return JointMotion(R_placed @ R, p_placed + R_placed @ p, body.joint.type.subspace(q_i))


def joint_motions(model: Model, q: Expression) -> list[JointMotion]:
    """Each body's pose relative to its parent, and its motion subspace."""
    return [joint_motion(body, q) for body in model.bodies]


Pose = tuple[Expression, Expression]


def world_poses(model: Model, motions: Sequence[JointMotion]) -> list[Pose]:
    """R_0i, p_0i of every body."""
    poses: list[Pose] = []
    for body, motion in zip(model.bodies, motions, strict=True):
        poses.append(_onto(motion, None if body.parent == WORLD else poses[body.parent]))
    return poses


def path_to_root(model: Model, q: Expression, body: int) -> dict[int, tuple[Pose, Expression]]:
    """The pose and the subspace of a body and its ancestors, from the root up; of no other body."""
    numbers = []
    while body != WORLD:
        numbers.append(body)
        body = model.bodies[body].parent
    path: dict[int, tuple[Pose, Expression]] = {}
    below = None
    for number in reversed(numbers):
        motion = joint_motion(model.bodies[number], q)
        below = _onto(motion, below)
        path[number] = below, motion.S
    return path


def _onto(motion: JointMotion, parent: Pose | None) -> Pose:
    if parent is None:
        return motion.R, motion.p
    R, p = parent
    return R @ motion.R, p + R @ motion.p


def from_parent(motion: JointMotion, twist: Expression) -> Expression:
    """The parent's twist (ω, v), or several as columns, as a body rigidly attached to it would have it.

    In body coordinates: (Rᵀ ω, Rᵀ (v + ω × p)), which is Ad⁻¹ of the twist.
    """
    ω, v = twist[:3, :], twist[3:, :]
    return ca.vertcat(motion.R.T @ ω, motion.R.T @ (v + _cross(ω, motion.p)))


def to_parent(motion: JointMotion, wrench: Expression) -> Expression:
    """The wrench (n, f) of a body, or several as columns, about its parent's origin in parent coordinates."""
    f = motion.R @ wrench[3:, :]
    n = motion.R @ wrench[:3, :]
    return ca.vertcat(n + _cross(motion.p, f), f)


def _cross(a: Expression, b: Expression) -> Expression:
    """a × b; one of them may be several columns."""
    if a.shape == b.shape:
        return ca.cross(a, b)
    ax, ay, az, bx, by, bz = (x[k, :] for x in (a, b) for k in range(3))
    return ca.vertcat(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)


def gather(model: Model, forces: Sequence[Expression]) -> Expression:
    """The generalised force of each coordinate from those of each joint: τ_s = Σ k_i τ_i."""
    tau = ca.SX.zeros(model.nv)
    for body, force in zip(model.bodies, forces, strict=True):
        tau[body.v] += body.multiplier * force
    return tau


def rate_matrix(model: Model, q: Expression) -> Expression:
    """Γ(q), nq × nv, of q̇ = Γ v: block diagonal over the joints that own coordinates."""
    blocks = []
    for body in model.bodies:
        if body.joint.mimic is None:
            blocks.append(body.joint.type.rate_matrix(q[body.q]))
    return ca.diagcat(*blocks) if blocks else ca.SX.zeros(0, 0)


def along_motion(model: Model, expression: Expression, q: Expression, *rates: Expression) -> Expression:
    """d/dt of an expression of q and of its `rates` v, a ... but the last, along q̇ = Γ(q) v, v̇ = a ...

    Given v alone the expression is one of q; given v and a, one of q and v.
    """
    if model.nv == 0:
        return ca.SX.zeros(*expression.shape)
    speed = ca.vertcat(rate_matrix(model, q) @ rates[0], *rates[1:])
    flat = ca.jtimes(ca.vec(expression), ca.vertcat(q, *rates[:-1]), speed)
    return ca.reshape(flat, *expression.shape)
