"""Springs, dampers and dry friction along tendons.

With L(q), J of L̇ = J v, and e(L) = max(L - L₂, 0) + min(L - L₁, 0) beyond the slack interval (L₁, L₂),

    U = ½ k e²,     τ = Jᵀ (k e + c L̇ + f tanh(L̇ / ε)).
"""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.kinematics.tendons import TendonState, tendon_state
from helicoid.dynamics.physics import SMOOTHING, Physics
from helicoid.model.connections.tendons import Tendon
from helicoid.model.model import Model


def tendon_energy(model: Model, q: Expression) -> Expression:
    """½ Σ k e² (J)."""
    energy = ca.SX.zeros(1)
    for one in model.tendons:
        if one.stiffness:
            energy += one.stiffness * _extension(one, tendon_state(model, q, one)) ** 2 / 2
    return energy


def tendon_spring_torque(model: Model, q: Expression) -> Expression:
    """Torque that balances the springs of all tendons, nv (N·m or N)."""
    tau = ca.SX.zeros(model.nv)
    for one in model.tendons:
        if one.stiffness:
            state = tendon_state(model, q, one)
            tau += state.jacobian.T * (one.stiffness * _extension(one, state))
    return tau


def tendon_damper_torque(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """Torque that dampers and dry friction of all tendons take, nv; none in a physics without friction."""
    tau = ca.SX.zeros(model.nv)
    for one in model.tendons if physics.passive_damping else ():
        if one.damping or one.friction:
            state = tendon_state(model, q, one)
            tau += state.jacobian.T * _resistance(one, state.jacobian @ v)
    return tau


def tendon_wrenches(model: Model, physics: Physics, q: Expression, v: Expression) -> dict[int, Expression]:
    """Per body, the wrench (n, f) of all spatial tendons on it, about its origin in its axes."""
    acting: dict[int, Expression] = {}
    for one in model.tendons:
        if one.acts and one.branches:
            state = tendon_state(model, q, one)
            tension = one.stiffness * _extension(one, state)
            if physics.passive_damping:
                tension += _resistance(one, state.jacobian @ v)
            for body, gradient in state.gradients.items():
                acting[body] = acting.get(body, ca.SX.zeros(6)) - tension * gradient
    return acting


def _extension(tendon: Tendon, state: TendonState) -> Expression:
    shortest, longest = tendon.rest
    L = state.length
    return L - shortest if shortest == longest else ca.fmax(L - longest, 0) + ca.fmin(L - shortest, 0)


def _resistance(tendon: Tendon, rate: Expression) -> Expression:
    dry = tendon.friction * ca.tanh(rate / SMOOTHING) if tendon.friction else 0
    return tendon.damping * rate + dry
