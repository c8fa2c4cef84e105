"""Composite rigid body algorithm (Walker and Orin 1982; Featherstone 2008, section 6.2).

Notation: m, h, Σ mass, first and second moment of a body and all that it carries, about its origin; F = I S
the wrench that a unit acceleration of its joint asks of it.
"""

from __future__ import annotations

import casadi as ca

from helicoid.dynamics.friction import friction_torque
from helicoid.dynamics.linear import factor, inverse, solve
from helicoid.dynamics.physics import Physics, second_moment, symmetric
from helicoid.dynamics.rnea import Wrenches, body_forces, joint_forces
from helicoid.dynamics.tree import joint_motions, to_parent
from helicoid.model.joints import Expression
from helicoid.model.model import WORLD, Model

Moments = tuple[Expression, Expression, Expression]  # m, h, Σ


def mass_matrix(model: Model, physics: Physics, q: Expression) -> Expression:
    """M(q), nv × nv, symmetric; armature on its diagonal."""
    motions = joint_motions(model, q)
    composites: list[Moments] = [(pi[0], pi[1:4], second_moment(pi)) for pi in physics.inertias]
    M = ca.SX(model.nv, model.nv)
    for i in reversed(range(len(composites))):
        body = model.bodies[i]
        if body.parent != WORLD:
            composites[body.parent] = _add(
                composites[body.parent], _to_parent(composites[i], *motions[i][:2])
            )
        F = rigid_inertia_times(composites[i], motions[i].S)
        j = i
        while j != WORLD:
            other = model.bodies[j]
            block = (body.multiplier * other.multiplier) * (motions[j].S.T @ F)
            M[other.v, body.v] += block
            if j != i:
                M[body.v, other.v] += block.T
            F, j = to_parent(motions[j], F), other.parent
    return M + ca.diag(physics.armature)


def mass_matrix_inverse(model: Model, physics: Physics, q: Expression) -> Expression:
    """M(q)⁻¹, nv × nv."""
    return inverse(mass_matrix(model, physics, q))


def forward_dynamics_crba(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    tau: Expression,
    wrenches: Wrenches | None = None,
) -> Expression:
    """a = M⁻¹ (τ - h(q, v) + Σ Jᵀ w_ext - friction), nv, through the sparse factors of M."""
    motions = joint_motions(model, q)
    forces = body_forces(model, physics, motions, q, v, ca.SX.zeros(model.nv), wrenches)
    driving = tau - joint_forces(model, motions, forces) - friction_torque(physics, v)
    return solve(factor(mass_matrix(model, physics, q)), driving)


def rigid_inertia_times(moments: Moments, S: Expression) -> Expression:
    """I S of a rigid body: n = I₀ ω + h × v, f = m v - h × ω for each column (ω, v) of S."""
    m, h, Σ = moments
    rotational = rotational_inertia(Σ)
    columns = []
    for k in range(S.shape[1]):
        ω, v = S[:3, k], S[3:, k]
        columns.append(ca.vertcat(rotational @ ω + ca.cross(h, v), m * v - ca.cross(h, ω)))
    return ca.horzcat(*columns) if columns else ca.SX.zeros(6, 0)


def rotational_inertia(Σ: Expression) -> Expression:
    """I₀ = tr(Σ) 1 - Σ."""
    xx, yy, zz = Σ[0, 0], Σ[1, 1], Σ[2, 2]
    return symmetric([[yy + zz, -Σ[0, 1], -Σ[0, 2]], [None, xx + zz, -Σ[1, 2]], [None, None, xx + yy]])


def rotate_symmetric(R: Expression, A: Expression) -> Expression:
    """R A Rᵀ of a symmetric A, each element once."""
    RA = R @ A
    rows = [[ca.dot(RA[i, :], R[j, :]) if j >= i else None for j in range(3)] for i in range(3)]
    return symmetric(rows)


def _to_parent(moments: Moments, R: Expression, p: Expression) -> Moments:
    """About the parent's origin: each point r of the body becomes p + R r."""
    m, h, Σ = moments
    h_turned = R @ h
    h_parent = h_turned + m * p
    turned = rotate_symmetric(R, Σ)
    rows = [[turned[i, j] + p[i] * h_parent[j] + h_turned[i] * p[j] for j in range(3)] for i in range(3)]
    return m, h_parent, symmetric(rows)


def _add(one: Moments, other: Moments) -> Moments:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]
