"""A time step of a robot under servos with exact dry friction, and its sensitivities.

    q_m = q + h/2 v,   M(q_m) (v⁺ - v) / h + h(q_m, v_m) + D v_m + f = τ,   q⁺ = q_m + h/2 v⁺

with v_m = (v + v⁺) / 2: order 2 while no joint stops or starts. Dry friction f is that of the end of the step
(Moreau 1988): v⁺ᵢ = 0 and |fᵢ| <= bᵢ, or fᵢ = bᵢ sign(v⁺ᵢ), without the regularisation tanh(v / ε) that
would need steps of microseconds; or it creeps, f = (v⁺ + lead (v⁺ - v) / h) / creep within ±b
(`dry_friction.py`). The servos' torque is u - kp q - kd v within ± limit, at (q_m, v_m), or at
(q, v) where it is sampled and held; u are the commands. By the implicit function theorem

    δv⁺ = W (... δq, δv, δz),   W = (M/h + C/2)⁻¹ with zeros where joints stick,   δq⁺ = δq + h/2 (δv + δv⁺)

with C the derivative of the torques by v, and without creep. Where a joint starts or stops to slide it is
one-sided.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.compiler import Expressions, Function, Input, Output
from helicoid.dynamics.linear import inverse
from helicoid.robot import Robot
from helicoid.simulation.equations.stiction import creep_or_slide, stiction_terms


def servo_step(robot: Robot, sampled: bool) -> Function:
    """`(q, v, u, kp, kd, limit, creep, lead, theta, dt) -> q_next, v_next`."""
    n, terms = robot.nv, stiction_terms(robot)
    sizes: dict[str, tuple[int, ...]] = {name: (n,) for name in ("q", "v", "u", "kp", "kd", "limit", "creep")}
    sizes |= {"lead": (), "theta": (len(robot.theta),), "dt": ()}
    inputs = [Input(name, shape) for name, shape in sizes.items()]

    def expressions() -> Expressions:
        symbols = [ca.SX.sym(item.name, *item.shape) for item in inputs]
        q, v, u, kp, kd, limit, creep, lead, theta, h = symbols
        middle, nothing = q + h / 2 * v, ca.SX.zeros(n)
        M, force, damping, bound = terms(middle, v, nothing, theta)
        servo = _Servo(u - kp * (q if sampled else middle), kd, limit, v, sampled)
        W, free = _without_dry_friction(M, force, damping, servo, v, h)
        v_m = (v + free - h * W @ (ca.sign(v) * bound)) / 2
        _, force, damping, bound = terms(middle, v_m, nothing, theta)
        W, free = _without_dry_friction(M, force, damping, servo.at(v_m), v, h)
        v_next = creep_or_slide(W, free, h * bound, creep / h, lead / h, v)
        return symbols, [middle + h / 2 * v_next, v_next]

    name = "sampled_servo_step" if sampled else "servo_step"
    outputs = [Output("q_next", (n,)), Output("v_next", (n,))]
    return robot.memo((name, terms), lambda: Function(name, inputs, outputs, expressions))


class _Servo(NamedTuple):
    """A servo's torque `elastic` - kd v, limited, as a constant and a damping that is 0 at the limit."""

    elastic: Expression
    kd: Expression
    limit: Expression
    v: Expression
    sampled: bool

    def at(self, v: Expression) -> _Servo:
        """The servo at another velocity of the step, unless it is sampled at the start."""
        return self if self.sampled else self._replace(v=v)

    @property
    def _limited(self) -> Expression:
        return ca.fabs(self.elastic - self.kd * self.v) > self.limit

    @property
    def constant(self) -> Expression:
        torque = self.elastic - self.kd * self.v
        held = torque if self.sampled else self.elastic
        return ca.if_else(self._limited, self.limit * ca.sign(torque), held)

    @property
    def damping(self) -> Expression:
        return 0 * self.kd if self.sampled else ca.if_else(self._limited, 0, self.kd)


def _without_dry_friction(
    M: Expression, force: Expression, damping: Expression, servo: _Servo, v: Expression, h: Expression
) -> tuple[Expression, Expression]:
    """W = (M + h/2 D)⁻¹, and v⁺ = W ((M - h/2 D) v + h (force + τ))."""
    resisting = damping + servo.damping
    W = inverse(M + ca.diag(h / 2 * resisting))
    return W, W @ (M @ v - h / 2 * resisting * v + h * (force + servo.constant))
