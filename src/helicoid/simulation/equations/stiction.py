"""A time step with exact dry friction: a joint sticks as long as friction can hold it.

Dry friction is a set: f = b sign(v) where the joint slides, any |f| <= b where it rests. With the friction of
the step at its end (Moreau 1988), the velocities v⁺ and the impulses p = h f solve

    (M + h D) v⁺ = M v + h (τ - g - ...) - p,      v⁺ᵢ = 0 and |pᵢ| <= h bᵢ,  or  pᵢ = h bᵢ sign(v⁺ᵢ)

the conditions of a strictly convex quadratic program in p, with one solution. b = c + (s - c) exp(-(v/v_s)²)
is taken at the beginning of the step: static friction s for a joint at rest. A semi-smooth Newton method
finds who sticks: with W = (M + h D)⁻¹ joint i slides where |pᵢ + v⁺ᵢ / Wᵢᵢ| >= h bᵢ, and for a guess of that
the rest is linear. It ends after few steps where Gauss-Seidel sweeps need hundreds; as the number of steps is
fixed, the whole is one expression.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.forces.passive import acts, damper_torque
from helicoid.dynamics.friction import dry_friction_bound, sliding_friction
from helicoid.dynamics.kinematics.configuration import integrate
from helicoid.dynamics.linear import factor, inverse, solve
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.crba import mass_matrix
from helicoid.dynamics.recursions.rnea import Wrenches, friction_load, inverse_dynamics
from helicoid.model.model import Model
from helicoid.robot import Robot
from helicoid.robot.function import FunctionSpec, RobotFunction

_OPTIONS = ("gravity", "friction", "f_ext", "expressed_in")


def stiction_terms(robot: Robot, **options: Any) -> RobotFunction:
    """`(q, v, tau, ...) -> M, force, damping, bound`: what `stiction_step` needs; inputs as forward_dynamics.

    `force` is τ less all that acts but friction, `bound` what dry friction can hold (N·m or N).
    """
    signature = "q v tau -> M[nv,nv] force[nv] damping[nv] bound[nv]"
    spec = FunctionSpec("stiction_terms", _terms, signature, options=_OPTIONS)
    return robot.function(spec).with_options(**options)


def stiction_step(
    model: Model, terms: tuple[Expression, ...], q: Expression, v: Expression, h: Expression
) -> tuple[Expression, Expression]:
    """q⁺ = q ⊕ h v⁺ and v⁺ after a step of length h (s), from the results of `stiction_terms` at (q, v).

    Velocities of joints that stick are exactly zero. Should the guesses not have settled, which happens with
    long chains now and then, friction stays within its bounds and the next step goes on from there.
    """
    M, force, damping, bound = terms
    W = inverse(M + ca.diag(h * damping))
    v_next = stick_or_slide(W, W @ (M @ v + h * force), h * bound)
    return integrate(model, q, h * v_next), v_next


def stick_or_slide(W: Expression, free: Expression, b: Expression) -> Expression:
    """v⁺ = free - W p, with impulses p of dry friction within ±b: joints that stick have exactly 0."""
    nothing = ca.SX.zeros(W.shape[0])
    return creep_or_slide(W, free, b, nothing, ca.SX(0), nothing)


def creep_or_slide(
    W: Expression, free: Expression, b: Expression, e: Expression, lead: Expression, v: Expression
) -> Expression:
    """v⁺ = free - W p, where dry friction gives way: p = w / e within ±b, w = v⁺ + lead (v⁺ - v).

    With e = lead = 0 joints that stick have exactly 0.
    """
    own = [i for i in range(W.shape[0]) if not b[i].is_zero()]
    if not own:
        return free
    more = 1 + lead
    p, sticks = _impulses(more * W[own, own] + ca.diag(e[own]), more * free[own] - lead * v[own], b[own])
    v_next = free - W[:, own] @ p
    v_next[own] = ca.if_else(sticks, (e[own] * p + lead * v[own]) / more, v_next[own])
    return v_next


def _terms(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    tau: Expression,
    wrenches: Wrenches | None = None,
) -> tuple[Expression, ...]:
    still = ca.SX.zeros(model.nv)
    force = tau - inverse_dynamics(model, physics.without_friction(), q, v, still, wrenches)
    load = friction_load(model, physics, q)
    force -= sliding_friction(physics, v, q, load)
    if acts(model):
        force -= damper_torque(model, physics, q, v)
    bound = dry_friction_bound(physics, v, q, load)
    return mass_matrix(model, physics, q), force, ca.SX(physics.damping), bound


def _impulses(W: Expression, free: Expression, b: Expression) -> tuple[Expression, Expression]:
    """p within ±b, and where it holds the joint at rest: v = free - W p is zero or p = b sign(v)."""
    n = b.shape[0]
    d = ca.diag(W)
    trial = free / d
    for _ in range(_newton_steps(n)):
        slides = ca.fabs(trial) >= b
        sticks = 1 - slides
        sliding = slides * ca.sign(trial) * b
        A = (sticks @ sticks.T) * W + ca.diag(slides)
        p = solve(factor(A), sticks * (free - W @ sliding) + sliding)
        trial = p + (free - W @ p) / d
    held = ca.logic_and(sticks, ca.fabs(p) <= b)
    return ca.fmax(-b, ca.fmin(p, b)), held


def _newton_steps(n: int) -> int:
    """Number of Newton steps: 6 sufficed for arms of 7 joints and 8 for a snake of 16 in random states."""
    return 1 + min(n, 6 + n // 4)
