"""Inertia along tendons, their armature: a mass m that moves with the length L(q) of each, L̇ = J v.

    T = ½ m L̇²,     M += m Jᵀ J,     C += m Jᵀ J̇,     τ += Jᵀ m L̈,     L̈ = J a + J̇ v

With this C, Ṁ = C + Cᵀ, and it is the matrix of Christoffel's symbols.
"""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.kinematics.tendons import TendonState, tendon_state
from helicoid.dynamics.tree import along_motion
from helicoid.model.connections.tendons import Tendon
from helicoid.model.model import Model


def has_tendon_inertia(model: Model) -> bool:
    """Whether any tendon has an armature."""
    return any(one.armature for one in model.tendons)


def tendon_mass_matrix(model: Model, q: Expression) -> Expression:
    """Σ m Jᵀ J, nv × nv; without elements where there is none."""
    M = ca.SX(model.nv, model.nv)
    for one, state in _massive(model, q):
        J = ca.sparsify(state.jacobian)
        M += one.armature * (J.T @ J)
    return M


def tendon_coriolis_matrix(model: Model, q: Expression, v: Expression) -> Expression:
    """Σ m Jᵀ J̇, nv × nv."""
    C = ca.SX(model.nv, model.nv)
    for one, state in _massive(model, q):
        C += one.armature * (state.jacobian.T @ along_motion(model, state.jacobian, q, v))
    return C


def tendon_inertia_torque(model: Model, q: Expression, v: Expression, a: Expression) -> Expression:
    """Σ Jᵀ m L̈, nv (N·m or N)."""
    tau = ca.SX.zeros(model.nv)
    for one, state in _massive(model, q):
        tau += state.jacobian.T * (one.armature * _acceleration(model, state, q, v, a))
    return tau


def tendon_kinetic_energy(model: Model, q: Expression, v: Expression) -> Expression:
    """½ Σ m L̇² (J)."""
    energy = ca.SX.zeros(1)
    for one, state in _massive(model, q):
        energy += one.armature * (state.jacobian @ v) ** 2 / 2
    return energy


def tendon_inertia_wrenches(
    model: Model, q: Expression, v: Expression, a: Expression
) -> dict[int, Expression]:
    """Per body, the wrench (n, f) of the accelerated masses of spatial tendons on it, in its axes."""
    acting: dict[int, Expression] = {}
    for one, state in _massive(model, q):
        tension = one.armature * _acceleration(model, state, q, v, a)
        for body, gradient in state.gradients.items():
            acting[body] = acting.get(body, ca.SX.zeros(6)) - tension * gradient
    return acting


def _acceleration(
    model: Model, state: TendonState, q: Expression, v: Expression, a: Expression
) -> Expression:
    """L̈ = J a + J̇ v."""
    return state.jacobian @ a + along_motion(model, state.jacobian, q, v) @ v


def _massive(model: Model, q: Expression) -> Iterator[tuple[Tendon, TendonState]]:
    return ((one, tendon_state(model, q, one)) for one in model.tendons if one.armature)
