"""Time derivatives along a motion, by differentiating the algorithm with the fewest operations."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from helicoid.dynamics.coriolis import coriolis_matrix
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.rnea import gravity, inverse_dynamics
from helicoid.dynamics.tree import rate_matrix
from helicoid.model.joints import Expression
from helicoid.model.model import Model


def coriolis_matrix_dot(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression
) -> Expression:
    """Ċ(q, v, a), nv × nv, of the matrix of `coriolis_matrix`."""
    return _rate(model, coriolis_matrix(model, physics, q, v), q, [v, a])


def gravity_dot(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """ġ(q, v), nv."""
    return _rate(model, gravity(model, physics, q), q, [v])


def inverse_dynamics_dot(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression, a_dot: Expression
) -> Expression:
    """τ̇, nv."""
    return _rate(model, inverse_dynamics(model, physics, q, v, a), q, [v, a, a_dot])


def inverse_dynamics_ddot(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    a: Expression,
    a_dot: Expression,
    a_ddot: Expression,
) -> Expression:
    """τ̈, nv: what the motor of an elastic joint has to follow."""
    tau_dot = inverse_dynamics_dot(model, physics, q, v, a, a_dot)
    return _rate(model, tau_dot, q, [v, a, a_dot, a_ddot])


def _rate(model: Model, expression: Expression, q: Expression, rates: Sequence[Expression]) -> Expression:
    """d/dt of an expression of q and of its `rates` (v, a ...) but the last."""
    if model.nv == 0:
        return ca.SX.zeros(*expression.shape)
    moving = ca.vertcat(q, *rates[:-1])
    speed = ca.vertcat(rate_matrix(model, q) @ rates[0], *rates[1:])
    return ca.reshape(ca.jtimes(ca.vec(expression), moving, speed), *expression.shape)
