"""M⁻¹ times many columns: by the factors of M, or by articulated bodies, whichever takes fewer operations.

A column costs as many operations as M's factors have nonzeros, up to the square of the number of joints, or a
number linear in it: a pass inwards with the wrenches that torques pass on, and a pass outwards with the
accelerations (Featherstone 2008, section 7.3, at rest and without gravity). Short arms and trees with many
branches are cheaper by factors, long chains by articulated bodies.

Notation as in `aba`: U = I^A S, D = Sᵀ U, u = τ - Sᵀ p^A.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.closed_form.equations import to_body
from helicoid.dynamics.linear import Factors, factor, solve
from helicoid.dynamics.physics import Physics, moments
from helicoid.dynamics.recursions.aba import inertia_to_parent, reduced_inertia, unit_columns
from helicoid.dynamics.recursions.crba import rigid_inertia_times
from helicoid.dynamics.recursions.regrouping import regrouped
from helicoid.dynamics.tree import JointMotion, joint_motions, to_parent
from helicoid.model.model import WORLD, Model

TimesInverse = Callable[[Expression], Expression]  # B, nv × n, to M⁻¹ B


def times_inverse(model: Model, physics: Physics, q: Expression, M: Expression) -> TimesInverse:
    """The map B -> M⁻¹ B that needs fewer operations a column; M is the mass matrix at q."""
    factors = factor(M)

    def by_factors(B: Expression) -> Expression:
        return solve(factors, B)

    if model.nv == 0 or any(body.joint.mimic is not None for body in model.bodies):
        return by_factors
    return min(by_factors, _by_articulated_bodies(model, physics, q), key=lambda f: _cost(f, model.nv))


def _cost(apply: TimesInverse, nv: int) -> int:
    """Operations that one more column takes."""
    B = ca.SX.sym("B", nv, 2)
    return int(ca.n_nodes(apply(B)) - ca.n_nodes(apply(B[:, 0])))


class _Joint(NamedTuple):
    """What the recursion over articulated inertias leaves of a joint."""

    U: Expression
    D: Factors
    gain: Expression  # D⁻¹ Uᵀ
    free: dict[int, int]  # rows of a wrench that only the joint's own torque passes on


def _by_articulated_bodies(model: Model, physics: Physics, q: Expression) -> TimesInverse:
    motions = joint_motions(model, q)
    joints = _joints(model, physics, motions)

    def apply(B: Expression) -> Expression:
        drives = _drives(model, motions, joints, B)
        a = ca.SX.zeros(model.nv, B.shape[1])
        moved: list[Expression] = []
        for body, motion, joint, drive in zip(model.bodies, motions, joints, drives, strict=True):
            carried = ca.SX(6, B.shape[1]) if body.parent == WORLD else to_body(motion, moved[body.parent])
            a_i = drive - joint.gain @ carried
            moved.append(carried + motion.S @ a_i)
            a[body.v.start : body.v.stop, :] = a_i
        return a

    return apply


def _joints(model: Model, physics: Physics, motions: list[JointMotion]) -> list[_Joint]:
    inertias = [rigid_inertia_times(moments(pi), ca.SX.eye(6)) for pi in regrouped(model, physics)]
    joints: list[_Joint] = [None] * len(inertias)  # type: ignore[list-item]
    for i in reversed(range(len(inertias))):
        body, S = model.bodies[i], motions[i].S
        armature = physics.armature[body.v]
        U = inertias[i] @ S
        D = factor(S.T @ U + ca.diag(armature))
        free = unit_columns(S) if armature.is_zero() else {}
        joints[i] = _Joint(U, D, solve(D, U.T), free)
        if body.parent != WORLD:
            reduced = reduced_inertia(inertias[i], U, joints[i].gain, free)
            inertias[body.parent] = inertias[body.parent] + inertia_to_parent(motions[i], reduced)
    return joints


def _drives(
    model: Model, motions: list[JointMotion], joints: list[_Joint], B: Expression
) -> list[Expression]:
    """D⁻¹ u of each joint, for torques in the columns of B."""
    p_A = [ca.SX(6, B.shape[1]) for _ in joints]
    drives: list[Expression] = [None] * len(joints)
    for i in reversed(range(len(joints))):
        body, motion, joint = model.bodies[i], motions[i], joints[i]
        own = B[body.v.start : body.v.stop, :]
        drives[i] = solve(joint.D, own - motion.S.T @ p_A[i])
        if body.parent != WORLD:
            passed = p_A[i] + joint.U @ drives[i]
            for row, k in joint.free.items():
                passed[row, :] = own[k, :]
            p_A[body.parent] = p_A[body.parent] + to_parent(motion, passed)
    return drives
