"""Discrete-time dynamics of a problem: x⁺ = F(x, u, h) on a manifold, symbolically.

The state x has coordinates (nq + nv for a robot) and a tangent space of its own dimension (2 nv): derivatives
and steps are taken there. An expensive quantity y that occurs often, such as the torque of inverse dynamics,
is a symbol of its own with a known derivative, so that nothing is differentiated twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca

from helicoid._typing import Expression


@dataclass(frozen=True, eq=False)
class Intermediate:
    """A symbol y that stands for an expression of (x, u), and dy/d(u, x) along the tangent space.

    `solves` is what it solves if that is simpler than the expression: R(x, u, y), which is zero, and
    (dR/dy)⁻¹, an expression of (x, u). Second derivatives are taken of that.
    """

    symbol: Expression
    expression: Expression
    jacobian: Expression
    solves: tuple[Expression, Expression] | None = None

    @property
    def equation(self) -> Expression:
        """R(x, u, y) = 0."""
        return self.symbol - self.expression if self.solves is None else self.solves[0]

    @property
    def inverse(self) -> Expression:
        """(dR/dy)⁻¹."""
        return ca.SX.eye(self.symbol.numel()) if self.solves is None else self.solves[1]


@dataclass(frozen=True, eq=False)
class State:
    """An additional state in a vector space: its name, its symbol, and its value at the next node."""

    name: str
    symbol: Expression
    following: Expression


@dataclass(frozen=True, eq=False)
class System:
    """Symbols and expressions of one step.

    Args:
        x, u, theta, h: symbols: state, control, parameters of all nodes, length of the step on the grid.
        length: the length of the step (s): h, or h times the duration where that is free.
        following: the next state F(x, u, h).
        tangent: Γ(x) with ẋ = Γ w for w in the tangent space; None where that is the identity.
        retract: (x, dx) -> x ⊕ dx, and `local`: (x0, x1) -> dx, expressions in and out.
        intermediates: see `Intermediate`.
        state_names: of the tangent space's coordinates, for messages.
        uses_double_integrator: x = (q, v) and F is v⁺ = v + h u, q⁺ = q + h v + c h² u with c =
        control_share: ½ if u is constant over the step, 1 for semi-implicit Euler.
        symbols: those for user-defined expressions, by name.
        holds: expressions that must be zero at every node with a control.
        units: of the tangent space's coordinates where `tangent`, `retract` and `local` scale them, or empty.
        disturbance: a symbol d, of a robot the torque that its model does not explain, τ = ID(q, v, a) + d;
            of other systems a rate; empty where none is estimated. Of a robot with dry friction its relative
            change k and the breakaway velocity w follow: see `of_joints`.
        disturbed: the coordinates of the tangent space whose rate has + d; None where d is a torque.
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
    control_share: float = 0.5
    symbols: dict[str, Expression] = field(default_factory=dict)
    holds: dict[str, Expression] = field(default_factory=dict)
    units: tuple[float, ...] = ()
    disturbance: Expression = field(default_factory=lambda: ca.SX(0, 1))
    disturbed: slice | None = None

    @property
    def constants(self) -> Expression:
        """Parameters of all nodes that change at run time: θ, then d."""
        return ca.vertcat(self.theta, self.disturbance)

    def of_joints(self, nv: int) -> tuple[Expression, Expression, Expression]:
        """Disturbance torque d, change k of dry friction, breakaway velocity w of a robot; each nv or none.

        w is the planned velocity that joints held by dry friction did not take up (`JointFriction.ahead`).
        """
        d = self.disturbance
        few, many = min(nv, d.numel()), min(2 * nv, d.numel())
        return d[:few], d[few:many], d[many:]

    @property
    def nx(self) -> int:
        """Dimension of the state's tangent space."""
        return int(self.x.numel() if self.tangent is None else self.tangent.shape[1])

    @property
    def nu(self) -> int:
        """Number of controls."""
        return int(self.u.numel())

    @property
    def is_nonlinear(self) -> bool:
        """Whether F is nonlinear: forward dynamics or an ODE, no double integrator."""
        known = ca.vertcat(ca.SX(0, 1), *(y.symbol for y in self.intermediates))
        return not self.intermediates or bool(ca.depends_on(self.following, known))

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

    def after(self, time: Expression) -> Expression:
        """The state after a time (s), also where the duration is free and the grid dimensionless."""
        h = time / ca.substitute(self.length, self.h, 1)
        (there,) = ca.substitute(self.resolve([self.following]), [self.h], [h])
        return there

    def with_state(self, state: State) -> System:
        """The same system with an additional state, initially free; its symbol gets the state's name."""
        name, symbol, following = state.name, state.symbol, state.following
        n, m = self.x.numel(), symbol.numel()
        nx, inner_retract, inner_local = self.nx, self.retract, self.local
        tangent = None if self.tangent is None else ca.diagcat(self.tangent, ca.SX.eye(m))

        def retract(x: Expression, dx: Expression) -> Expression:
            return ca.vertcat(inner_retract(x[:n], dx[:nx]), x[n:] + dx[nx:])

        def local(x0: Expression, x1: Expression) -> Expression:
            return ca.vertcat(inner_local(x0[:n], x1[:n]), x1[n:] - x0[n:])

        wider = [
            replace(y, jacobian=ca.horzcat(y.jacobian, ca.SX(y.jacobian.shape[0], m)))
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
        return stretched.with_state(State("duration", duration, duration))

    # Copies ----------------------------------------------------------------------------------------------

    @property
    def atoms(self) -> list[Expression]:
        """The symbols that every expression of the system is made of."""
        return [self.x, self.u, self.theta, self.disturbance, self.h, *(y.symbol for y in self.intermediates)]

    def _expressions(self) -> list[Expression]:
        parts = [self.length, self.following, *([] if self.tangent is None else [self.tangent])]
        parts += [part for y in self.intermediates for part in (y.expression, y.jacobian, *(y.solves or ()))]
        return [*parts, *self.symbols.values(), *self.holds.values()]

    def __reduce__(self) -> tuple[Any, ...]:
        # CasADi does not pickle symbols, but functions of them: a copy has symbols of its own.
        names = [[atom[k].name() for k in range(atom.numel())] for atom in self.atoms]
        expressions = ca.Function("system", self.atoms, self._expressions())
        dx, other = ca.SX.sym("dx", self.nx), ca.SX.sym("x1", self.x.numel())
        maps = {
            "retract": ca.Function("retract", [self.x, dx], [self.retract(self.x, dx)]),
            "local": ca.Function("local", [self.x, other], [self.local(self.x, other)]),
        }
        plain = {
            "state_names": list(self.state_names),
            "uses_double_integrator": self.uses_double_integrator,
            "control_share": self.control_share,
            "units": self.units,
            "disturbed": self.disturbed and (self.disturbed.start, self.disturbed.stop),
        }
        solves = [y.solves is not None for y in self.intermediates]
        shape = self.tangent is not None, solves, list(self.symbols), list(self.holds)
        return _restored, (names, expressions, shape, {**maps, **plain})


def _restored(
    names: list[list[str]],
    expressions: ca.Function,
    shape: tuple[bool, list[bool], list[str], list[str]],
    rest: dict[str, Any],
) -> System:
    """Inverse of `System.__reduce__`."""
    atoms = [ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in column)) for column in names]
    curved, solves, symbols, holds = shape
    values = iter(expressions.call(atoms))
    x, u, theta, disturbance, h, *unknown = atoms
    disturbed = rest.pop("disturbed")
    length, following = next(values), next(values)
    tangent = next(values) if curved else None
    return System(
        x,
        u,
        theta,
        h,
        length,
        following,
        tangent,
        intermediates=tuple(
            Intermediate(
                symbol, next(values), next(values), (next(values), next(values)) if implicit else None
            )
            for symbol, implicit in zip(unknown, solves, strict=True)
        ),
        symbols={name: next(values) for name in symbols},
        holds={name: next(values) for name in holds},
        disturbance=disturbance,
        disturbed=None if disturbed is None else slice(*disturbed),
        **rest,
    )
