"""What an optimal control problem moves: x⁺ = F(x, u, h) on a manifold, symbolically.

The state x has coordinates (nq + nv for a robot) and a tangent space of its own dimension (2 nv): derivatives
and steps live there. A quantity y that is expensive and occurs often, such as the torque of inverse dynamics,
is a symbol of its own with a known derivative, so that nothing is differentiated twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics import configuration
from helicoid.dynamics.tree import rate_matrix
from helicoid.errors import InputError

if TYPE_CHECKING:
    from helicoid.robot import Robot

Formulation = Literal["inverse_dynamics", "forward_dynamics"]


@dataclass(frozen=True, eq=False)
class Intermediate:
    """A symbol y that stands for an expression of (x, u), and dy/d(u, x) along the tangent space."""

    symbol: Expression
    expression: Expression
    jacobian: Expression


@dataclass(frozen=True, eq=False)
class System:
    """Symbols and expressions of one step.

    Args:
        x, u, theta, h: symbols: state, control, parameters of all nodes, what the grid says of a step.
        length: the length of the step (s): h, or h times the duration where that is free.
        following: the next state F(x, u, h).
        tangent: Γ(x) with ẋ = Γ w for w in the tangent space; None where that is the identity.
        retract: (x, dx) -> x ⊕ dx, and `local`: (x0, x1) -> dx, expressions in and out.
        intermediates: see `Intermediate`.
        state_names: of the tangent space's coordinates, for messages.
        uses_double_integrator: x = (q, v) and F is v⁺ = v + h u, q⁺ = q + h v⁺.
        symbols: what users may write expressions with, by name.
        holds: expressions that must be zero at every node with a control.
    """

    x: Expression
    u: Expression
    theta: Expression
    h: Expression
    length: Expression
    following: Expression
    tangent: Expression | None = None
    retract: Callable[[Expression, Expression], Expression] = lambda x, dx: x + dx
    local: Callable[[Expression, Expression], Expression] = lambda x0, x1: x1 - x0
    intermediates: tuple[Intermediate, ...] = ()
    state_names: Sequence[str] = ()
    uses_double_integrator: bool = False
    symbols: dict[str, Expression] = field(default_factory=dict)
    holds: dict[str, Expression] = field(default_factory=dict)

    @property
    def nx(self) -> int:
        """Dimension of the state's tangent space."""
        return int(self.x.numel() if self.tangent is None else self.tangent.shape[1])

    @property
    def nu(self) -> int:
        """Number of controls."""
        return int(self.u.numel())

    def differentiate(self, expression: Expression) -> Expression:
        """The derivative along z = (u, x) in the tangent space, intermediates included."""
        by_x = ca.jacobian(expression, self.x)
        if self.tangent is not None:
            by_x = by_x @ self.tangent
        total = ca.horzcat(ca.jacobian(expression, self.u), by_x)
        for y in self.intermediates:
            by_y = ca.jacobian(expression, y.symbol)
            if by_y.nnz():
                total = total + by_y @ y.jacobian
        return total

    def resolve(self, expressions: Sequence[Expression]) -> list[Expression]:
        """Expressions without intermediates."""
        symbols = [y.symbol for y in self.intermediates]
        values = [y.expression for y in self.intermediates]
        return list(ca.substitute(list(expressions), symbols, values)) if symbols else list(expressions)

    def with_state(self, name: str, symbol: Expression, following: Expression) -> System:
        """The same system with more state, in a vector space: its symbol and its next value."""
        n, m = self.x.numel(), symbol.numel()
        nx, inner_retract, inner_local = self.nx, self.retract, self.local
        tangent = None if self.tangent is None else ca.diagcat(self.tangent, ca.SX.eye(m))

        def retract(x: Expression, dx: Expression) -> Expression:
            return ca.vertcat(inner_retract(x[:n], dx[:nx]), x[n:] + dx[nx:])

        def local(x0: Expression, x1: Expression) -> Expression:
            return ca.vertcat(inner_local(x0[:n], x1[:n]), x1[n:] - x0[n:])

        wider = [
            Intermediate(y.symbol, y.expression, ca.horzcat(y.jacobian, ca.SX(y.jacobian.shape[0], m)))
            for y in self.intermediates
        ]
        names = [name] if m == 1 else [f"{name}[{k}]" for k in range(m)]
        return replace(
            self,
            x=ca.vertcat(self.x, symbol),
            following=ca.vertcat(self.following, following),
            tangent=tangent,
            retract=retract,
            local=local,
            intermediates=tuple(wider),
            state_names=[*self.state_names, *names],
            uses_double_integrator=False,
            symbols={**self.symbols, name: symbol},
        )

    def with_free_duration(self) -> System:
        """The same system whose steps are h times a constant of the motion, the state "duration" (s)."""
        duration = ca.SX.sym("duration")
        following = ca.substitute(self.following, self.h, self.h * duration)
        stretched = replace(self, length=self.h * duration, following=following)
        return stretched.with_state("duration", duration, duration)

    def with_previous_control(self) -> System:
        """The same system whose state "previous" is the control of the step before."""
        return self.with_state("previous", ca.SX.sym("previous", self.nu), self.u)


def robot_system(robot: Robot, formulation: Formulation, stabilisation: float) -> System:
    """A robot by semi-implicit Euler: v⁺ = v + h a, q⁺ = q ⊕ h v⁺.

    "inverse_dynamics": the control is a, and τ = ID(q, v, a) an intermediate. Where constraints hold the
    robot, their forces λ are controls too, τ = ID(q, v, a) + Aᵀ λ; `holds` then has the rows that must be
    zero: what the constraints ask of a (with Baumgarte's stabilisation, 1/s), and τ where there is no motor.

    "forward_dynamics": the control is the torque of the motors, and a = FD(q, v, τ) an intermediate.
    """
    if formulation not in ("inverse_dynamics", "forward_dynamics"):
        raise InputError(f"formulation is 'inverse_dynamics' or 'forward_dynamics', got {formulation!r}")
    nq, nv, model = robot.nq, robot.nv, robot.model
    q, v, a, tau = (ca.SX.sym(name, n) for name, n in zip("qvat", (nq, nv, nv, nv), strict=True))
    theta = ca.SX.sym("theta", len(robot.parameters) if robot.selection.groups else 0)
    h = ca.SX.sym("h")
    flat = nq == nv
    tangent = None if flat else ca.diagcat(rate_matrix(model, q), ca.SX.eye(nv))
    make = _by_inverse_dynamics if formulation == "inverse_dynamics" else _by_forward_dynamics
    u, unknown, holds, more = make(robot, q, v, a, tau, theta, stabilisation)
    v_next = v + h * a
    names = model.velocity_names
    return System(
        x=ca.vertcat(q, v),
        u=u,
        theta=theta,
        h=h,
        length=h,
        following=ca.vertcat(configuration.integrate(model, q, h * v_next), v_next),
        tangent=tangent,
        retract=lambda x, dx: ca.vertcat(configuration.integrate(model, x[:nq], dx[:nv]), x[nq:] + dx[nv:]),
        local=lambda x0, x1: ca.vertcat(configuration.difference(model, x0[:nq], x1[:nq]), x1[nq:] - x0[nq:]),
        intermediates=(unknown,),
        state_names=[*(f"q of {name}" for name in names), *(f"v of {name}" for name in names)],
        uses_double_integrator=flat and formulation == "inverse_dynamics" and u.numel() == nv,
        symbols={"q": q, "v": v, "a": a, "tau": tau, **more},
        holds=holds,
    )


_Made = tuple[Expression, Intermediate, dict[str, Expression], dict[str, Expression]]


def _by_inverse_dynamics(
    robot: Robot,
    q: Expression,
    v: Expression,
    a: Expression,
    tau: Expression,
    theta: Expression,
    stabilisation: float,
) -> _Made:
    more = [theta] if robot.selection.groups else []
    dq, dv, M = robot.inverse_dynamics_derivatives(q, v, a, *more)
    torque = robot.inverse_dynamics(q, v, a, *more)
    u, du, holds, symbols = a, M, {}, {}
    if robot.constraints:
        A, error = robot.constraint_jacobian(q), robot.constraint_position(q)
        forces = ca.SX.sym("lambda", A.shape[0])
        pressing = A.T @ forces
        along = rate_matrix(robot.model, q)
        u, du, torque = ca.vertcat(a, forces), ca.horzcat(M, A.T), torque + pressing
        dq = dq + ca.jacobian(pressing, q) @ along
        settling = 2 * stabilisation * (A @ v) + stabilisation**2 * error
        holds["constraints"] = A @ a + robot.constraint_bias(q, v) + settling
        symbols["lambda"] = forces
    if robot.unactuated:
        holds["unactuated"] = tau[list(robot.unactuated)]
    return u, Intermediate(tau, torque, ca.horzcat(du, dq, dv)), holds, symbols


def _by_forward_dynamics(
    robot: Robot,
    q: Expression,
    v: Expression,
    a: Expression,
    tau: Expression,
    theta: Expression,
    stabilisation: float,
) -> _Made:
    more = [theta] if robot.selection.groups else []
    S = ca.SX(robot.selection_matrix)
    u = ca.SX.sym("u", S.shape[0]) if S.shape[0] < robot.nv else tau
    full = S.T @ u if S.shape[0] < robot.nv else tau
    symbols = {"tau": full}
    if robot.constraints:
        function = robot.constrained_forward_dynamics.with_options(stabilisation=stabilisation)
        value = function(q, v, full, *more)[0]
        along = rate_matrix(robot.model, q)
        jacobian = ca.horzcat(ca.jacobian(value, u), ca.jacobian(value, q) @ along, ca.jacobian(value, v))
        return u, Intermediate(a, value, jacobian), {}, symbols
    dq, dv, M_inverse = robot.forward_dynamics_derivatives(q, v, full, *more)
    value = robot.forward_dynamics(q, v, full, *more)
    by_u = M_inverse @ S.T if S.shape[0] < robot.nv else M_inverse
    return u, Intermediate(a, value, ca.horzcat(by_u, dq, dv)), {}, symbols


def ode_system(
    x: Expression, u: Expression, rate: Expression, theta: Expression | None = None, steps: int = 1
) -> System:
    """Any ẋ = f(x, u, θ) in a vector space, by `steps` steps of the classic Runge–Kutta method of order 4."""
    theta = ca.SX(0, 1) if theta is None else theta
    for name, symbol in (("x", x), ("u", u)):
        if not isinstance(symbol, ca.SX) or not symbol.is_valid_input() or symbol.numel() == 0:
            raise InputError(f"{name} must be a vector of SX symbols, got {symbol!r}")
    if ca.SX(rate).shape != (x.numel(), 1):
        raise InputError(f"the rate of x must have {x.numel()} elements, got shape {ca.SX(rate).shape}")
    h = ca.SX.sym("h")
    f = ca.Function("f", [x, u, theta], [rate])
    now, part = x, h / steps
    for _ in range(steps):
        k1 = f(now, u, theta)
        k2 = f(now + part / 2 * k1, u, theta)
        k3 = f(now + part / 2 * k2, u, theta)
        k4 = f(now + part * k3, u, theta)
        now = now + part / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    names = [str(x[k]) for k in range(x.numel())]
    return System(x, u, theta, h, h, now, state_names=names, symbols={"x": x, "u": u})
