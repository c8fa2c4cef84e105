"""Articulated body algorithm (Featherstone 2008, section 7.3), about the motion without joint acceleration.

With q̈ = 0 every body has an acceleration and needs a wrench that the outward pass of Newton-Euler gives.
What is left to find is the deviation δ from that motion, which obeys the articulated equations without any
velocity terms: U = I^A S, D = Sᵀ U, u = τ - Sᵀ p^A, q̈ = D⁻¹ (u - Uᵀ δ').
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.forces.tendon_inertia import has_tendon_inertia
from helicoid.dynamics.linear import Factors, factor, solve
from helicoid.dynamics.physics import Physics, moments, rigid_inertia_times, symmetric
from helicoid.dynamics.recursions.composites.mass_distribution import rotate_symmetric
from helicoid.dynamics.recursions.composites.regrouping import regrouped
from helicoid.dynamics.recursions.crba import forward_dynamics_crba
from helicoid.dynamics.recursions.rnea import Wrenches, body_forces, passive_torque
from helicoid.dynamics.tree import JointMotion, from_parent, joint_motions, to_parent
from helicoid.errors import ModelError
from helicoid.geometry import so3
from helicoid.model.model import WORLD, Model


class ArticulatedJoint(NamedTuple):
    """Factors of the articulated inertia at a joint."""

    U: Expression
    D: Factors
    gain: Expression  # D⁻¹ Uᵀ
    free: dict[int, int]  # rows of a wrench that only the joint's own torque passes on


def forward_dynamics(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    tau: Expression,
    wrenches: Wrenches | None = None,
) -> Expression:
    """a = FD(q, v, τ), nv, in a number of operations linear in the number of bodies.

    A mimic joint and the inertia of a tendon tie branches together, which articulated bodies cannot express:
    such a robot is solved through its mass matrix.
    """
    if ties_branches(model):
        return forward_dynamics_crba(model, physics, q, v, tau, wrenches)
    motions = joint_motions(model, q)
    biases = body_forces(model, physics, motions, q, v, ca.SX.zeros(model.nv), wrenches)
    torque = tau - passive_torque(model, physics, q, v)
    return accelerations(model, motions, articulated_joints(model, physics, motions), torque, biases)


def ties_branches(model: Model) -> bool:
    """Whether any joint mimics another one, or a tendon has inertia."""
    return any(body.joint.mimic is not None for body in model.bodies) or has_tendon_inertia(model)


def articulated_joints(
    model: Model, physics: Physics, motions: Sequence[JointMotion]
) -> list[ArticulatedJoint]:
    """Inward pass: the factors of the articulated inertia at each joint."""
    # Regrouping adds mass of a heavy body to a light parent, from which the articulated inertia subtracts it
    # again: without the bound, the parent's own digits would cancel.
    return _inward(model, physics, motions, regrouped(model, physics, at_most=10.0))[0]


def articulated_inertias(model: Model, physics: Physics, q: Expression) -> Expression:
    """Iᴬ of each body, 6 × 6 below each other: Iᴬ_i = I_i + Σ X* (Iᴬ_j - U D⁻¹ Uᵀ) X over its children j.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q = [0.3, 0.8]  # the last body carries nothing
    >>> np.allclose(robot.articulated_inertias(q)[-1], robot.composite_inertias(q)[-1])
    True
    """
    if ties_branches(model):
        raise ModelError(
            "articulated inertias do not exist where a joint mimics another one, or a tendon has inertia"
        )
    inertias = _inward(model, physics, joint_motions(model, q), physics.inertias)[1]
    return ca.vertcat(ca.SX(0, 6), *inertias)


def _inward(
    model: Model, physics: Physics, motions: Sequence[JointMotion], parameters: Sequence[Expression]
) -> tuple[list[ArticulatedJoint], list[Expression]]:
    """The factors at each joint, and the articulated inertia of each body."""
    inertias = [rigid_inertia_times(moments(pi), ca.SX.eye(6)) for pi in parameters]
    joints: list[ArticulatedJoint] = [None] * len(inertias)  # type: ignore[list-item]
    for i in reversed(range(len(inertias))):
        body, S = model.bodies[i], motions[i].S
        armature = physics.armature[body.v]
        U = inertias[i] @ S
        D = factor(S.T @ U + ca.diag(armature), model.velocity_names[body.v])
        # The joint transmits no force along its free directions: these rows are exactly zero but for τ.
        free = unit_columns(S) if armature.is_zero() else {}
        joints[i] = ArticulatedJoint(U, D, solve(D, U.T), free)
        if body.parent != WORLD:
            reduced = reduced_inertia(inertias[i], U, joints[i].gain, free)
            inertias[body.parent] = inertias[body.parent] + inertia_to_parent(motions[i], reduced)
    return joints, inertias


def accelerations(
    model: Model,
    motions: Sequence[JointMotion],
    joints: Sequence[ArticulatedJoint],
    torques: Expression,
    biases: Sequence[Expression],
) -> Expression:
    """q̈, nv × n, for torques in n columns, against bias wrenches p of each body, 6 × n."""
    drives = _drives(model, motions, joints, torques, biases)
    a = ca.SX.zeros(*torques.shape)
    deviations: list[Expression] = []
    for body, motion, joint, drive in zip(model.bodies, motions, joints, drives, strict=True):
        if body.parent == WORLD:
            a_i = drive
            deviations.append(motion.S @ a_i)
        else:
            carried = from_parent(motion, deviations[body.parent])
            a_i = drive - joint.gain @ carried
            deviations.append(carried + motion.S @ a_i)
        a[body.v.start : body.v.stop, :] = a_i
    return a


def _drives(
    model: Model,
    motions: Sequence[JointMotion],
    joints: Sequence[ArticulatedJoint],
    torques: Expression,
    biases: Sequence[Expression],
) -> list[Expression]:
    """Inward pass: D⁻¹ u of each joint; the remaining force goes to the parent."""
    p_A = list(biases)
    drives: list[Expression] = [None] * len(joints)
    for i in reversed(range(len(joints))):
        body, motion, joint = model.bodies[i], motions[i], joints[i]
        own = torques[body.v.start : body.v.stop, :]
        drives[i] = solve(joint.D, own - motion.S.T @ p_A[i])
        if body.parent != WORLD:
            passed = p_A[i] + joint.U @ drives[i]
            for row, k in joint.free.items():
                passed[row, :] = own[k, :]
            p_A[body.parent] = p_A[body.parent] + to_parent(motion, passed)
    return drives


def unit_columns(S: Expression) -> dict[int, int]:
    """{row: column} of those columns of S that are unit vectors of the coordinate axes."""
    found = {}
    for k in range(S.shape[1]):
        rows = [row for row in range(6) if not S[row, k].is_zero()]
        if len(rows) == 1 and S[rows[0], k].is_one():
            found[rows[0]] = k
    return found


def reduced_inertia(I_A: Expression, U: Expression, gain: Expression, free: dict[int, int]) -> Expression:
    """I^A - U D⁻¹ Uᵀ: the articulated inertia that the parent sees."""
    zero = ca.SX.zeros(1)
    return symmetric(
        [
            [
                None if c < r else zero if r in free or c in free else I_A[r, c] - U[r, :] @ gain[:, c]
                for c in range(6)
            ]
            for r in range(6)
        ]
    )


def inertia_to_parent(motion: JointMotion, inertia: Expression) -> Expression:
    """X* I X of a symmetric I = [[A, B], [Bᵀ, C]]: turned by R, then moved by p, each element once."""
    R, p = motion.R, so3.hat(motion.p)
    A, C = rotate_symmetric(R, inertia[:3, :3]), rotate_symmetric(R, inertia[3:, 3:])
    B = R @ inertia[:3, 3:] @ R.T
    B_moved = B + p @ C
    Bp, moved = B @ p, B_moved @ p
    A_moved = symmetric([[A[i, j] - Bp[j, i] - moved[i, j] for j in range(3)] for i in range(3)])
    return ca.vertcat(ca.horzcat(A_moved, B_moved), ca.horzcat(B_moved.T, C))
