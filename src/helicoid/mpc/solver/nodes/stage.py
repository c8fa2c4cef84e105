"""From costs and constraints to the functions of one node: values, and first and second derivatives.

The solver in C calls them for all nodes at once. What they give is laid out as it reads it, see
runtime/layout.h: z = (u, x), each part padded with zeros to whole vector registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from helicoid._typing import Expression
from helicoid.compiler import native_lanes
from helicoid.mpc.constraints import Constraint
from helicoid.mpc.costs import Cost
from helicoid.mpc.solver.nodes.curvature import second_derivative
from helicoid.mpc.system import System
from helicoid.mpc.system.parameter import Parameter

MAX_EXACT_JOINTS = 8  # of an arm with exact torque Hessians by default: their cost grows with the cube


@dataclass(frozen=True, eq=False)
class ConstraintRow:
    """One row of a constraint at a node. A `box` row bounds one element of z, with a constant factor.

    `at_first` says whether the row is any use at the first node, whose state is given (where it is not free),
    `of_place` whether it depends on nothing but the configuration of a robot.
    """

    constraint: Constraint
    element: int
    box: int | None
    factor: float
    at_first: bool
    of_place: bool

    @property
    def label(self) -> str:
        """The name of the row in messages."""
        return f"{self.constraint.name}: {self.constraint.labels[self.element]}"


@dataclass(frozen=True, eq=False)
class Stages:
    """The functions of a problem's nodes.

    `initial_free` says which elements of the first state (in its tangent space) are free, `lanes` is the
    number of doubles in a vector register. `hessian` is "auto", "exact" or "gauss_newton", see `Problem`.
    """

    system: System
    parameters: Sequence[Parameter]
    costs: Sequence[Cost]
    constraints: Sequence[Constraint]
    initial_free: Sequence[bool]
    lanes: int
    hessian: str = "auto"

    @cached_property
    def parameter_symbol(self) -> Expression:
        """All parameters of a node, one after the other."""
        return ca.vertcat(ca.SX(0, 1), *(parameter.symbol for parameter in self.parameters))

    # Layout --------------------------------------------------------------------------------------------

    def _padded(self, n: int) -> int:
        return -(-n // self.lanes) * self.lanes

    @cached_property
    def nup(self) -> int:
        """Padded number of controls."""
        return self._padded(self.system.nu)

    @cached_property
    def state_at(self) -> list[int]:
        """The place of each element of the state's tangent space in its padded vector."""
        if not self.system.uses_double_integrator:
            return list(range(self.system.nx))
        return [*range(self.system.nu), *(self.nup + k for k in range(self.system.nu))]

    @cached_property
    def nxp(self) -> int:
        """Padded dimension of the state."""
        return 2 * self.nup if self.system.uses_double_integrator else self._padded(self.system.nx)

    @cached_property
    def nzp(self) -> int:
        """Padded length of z."""
        return self.nup + self.nxp

    @cached_property
    def z_at(self) -> list[int]:
        """The place of each element of (u, x) in the padded z."""
        return [*range(self.system.nu), *(self.nup + k for k in self.state_at)]

    @cached_property
    def nrp(self) -> int:
        """Padded number of rows of a node."""
        return self._padded(max(1, len(self.path_rows), len(self.end_rows)))

    def _spread(
        self, matrix: Expression, rows: Sequence[int], n_rows: int, columns: Sequence[int]
    ) -> Expression:
        """A matrix with its rows and columns at their padded places."""
        result = ca.SX(n_rows, self.nzp)
        result[list(rows), list(columns)] = matrix
        return result

    # Rows ----------------------------------------------------------------------------------------------

    @cached_property
    def path_rows(self) -> list[ConstraintRow]:
        """Rows of the nodes on the path: those that bound one variable first, those of a place alone last."""
        return self._rows([c for c in self.constraints if c.on_path])

    @cached_property
    def end_rows(self) -> list[ConstraintRow]:
        """Rows of the last node."""
        return self._rows([c for c in self.constraints if c.at_end])

    def _rows(self, constraints: Sequence[Constraint]) -> list[ConstraintRow]:
        rows = []
        nu, nv = self.system.nu, self.system.symbols.get("v", ca.SX(0, 1)).numel()
        for constraint in constraints:
            J = self.system.differentiate(constraint.expression * constraint.scale)
            for element in range(constraint.size):
                row = ca.sparsify(J[element, :])
                alone = row.nnz() == 1 and row.nz[0].is_constant()
                box = self.z_at[row.sparsity().get_col()[0]] if alone else None
                used = set(row.sparsity().get_col())
                factor = float(row.nz[0]) if alone else 0.0
                at_first, of_place = not used.isdisjoint(self._open), used <= set(range(nu, nu + nv))
                rows.append(ConstraintRow(constraint, element, box, factor, at_first, of_place))
        return sorted(rows, key=lambda row: (row.box is None, row.box is None and row.of_place))

    def row_values(self, rows: Sequence[ConstraintRow]) -> Expression:
        """The scaled rows, a column."""
        values = [row.constraint.scale[row.element] * row.constraint.expression[row.element] for row in rows]
        return ca.vertcat(ca.SX(0, 1), *values)

    @cached_property
    def _open(self) -> set[int]:
        """The elements of z at the first node that are not given."""
        nu = self.system.nu
        return {*range(nu), *(nu + k for k, is_free in enumerate(self.initial_free) if is_free)}

    # Costs ---------------------------------------------------------------------------------------------

    def objective(self, at_end: bool) -> Expression:
        """The cost of a node."""
        total = self._total(at_end)
        return total if at_end else self.system.length * total

    def _total(self, at_end: bool) -> Expression:
        return sum((c.value for c in self.costs if (c.at_end if at_end else c.on_path)), ca.SX(0))

    def _derivatives(self, at_end: bool) -> tuple[Expression, Expression]:
        """Gradient and Hessian of a node's cost along z."""
        nz = self.system.nu + self.system.nx
        g, H = ca.SX(nz, 1), ca.SX(nz, nz)
        for cost in self.costs:
            if not (cost.at_end if at_end else cost.on_path):
                continue
            if cost.square:
                J = self.system.differentiate(cost.expression)
                weighted = ca.diag(ca.densify(cost.weight.symbol * ca.SX.ones(J.shape[0]))) @ J
                g, H = g + weighted.T @ cost.expression, H + J.T @ weighted
                if self.hessian != "gauss_newton":
                    H = H + self._residual_curvature(cost)
            else:
                own = self._exact(cost)
                g, H = g + own[0], H + own[1]
        if at_end:
            return g, _symmetric(H)
        # Where the duration is free, the length depends on the state. Of its product with the cost, the mixed
        # second derivatives are left out: they could make H indefinite.
        by_length = self.system.differentiate(self.system.length).T
        return self.system.length * g + by_length * self._total(False), _symmetric(self.system.length * H)

    def _residual_curvature(self, cost: Cost) -> Expression:
        """Σ w r ∇²r of a residual r, which the Gauss-Newton Hessian leaves out.

        Where a residual stays large, as that of a target out of reach, it is most of the curvature: without
        it steps overshoot by the ratio of the target's distance to the arm's length, and a controller
        chatters. Residuals of what has a derivative of its own, such as the torque, are left to `curvature`:
        to differentiate that once more costs more than all the rest.
        """
        nz = self.system.nu + self.system.nx
        if self._is_known(cost.expression):
            return ca.SX(nz, nz)
        force = ca.SX.sym("force", cost.expression.numel())
        _, H = self._twice(ca.dot(force, cost.expression))
        (curvature,) = ca.substitute([H], [force], [cost.weight.symbol * cost.expression])
        return ca.sparsify(curvature)

    def _is_known(self, expression: Expression) -> bool:
        """Whether an expression depends on an intermediate, which has a derivative of its own."""
        known = ca.vertcat(ca.SX(0, 1), *(y.symbol for y in self.system.intermediates))
        return bool(known.numel() and ca.depends_on(expression, known))

    def _exact(self, cost: Cost) -> tuple[Expression, Expression]:
        """Gradient and Hessian of a cost that is not a square."""
        (value,) = self.system.resolve([cost.value])
        return self._twice(value)

    def _twice(self, value: Expression) -> tuple[Expression, Expression]:
        """Gradient and Hessian of a number along z, in the tangent space."""
        system = self.system
        du, dx = ca.SX.sym("du", system.nu), ca.SX.sym("dx", system.nx)
        dz = ca.vertcat(du, dx)
        there = [system.u + du, system.retract(system.x, dx)]
        (moved,) = ca.substitute([value], [system.u, system.x], there)
        H, g = ca.hessian(moved, dz)
        gradient, hessian = ca.substitute([g, H], [dz], [ca.SX.zeros(dz.numel())])
        return gradient, hessian

    # Functions -----------------------------------------------------------------------------------------

    def gap(self, following: Expression) -> Expression:
        """The gap: difference of F(x, u) from the next node's state."""
        return self.system.local(following, self.system.following)

    def _function(
        self, name: str, inputs: Sequence[Expression], outputs: Sequence[Expression]
    ) -> ca.Function:
        dense = [ca.densify(ca.vec(output)) for output in self.system.resolve(outputs)]
        return ca.Function(name, list(inputs), dense)

    @cached_property
    def _path_inputs(self) -> list[Expression]:
        system = self.system
        following = ca.SX.sym("x_next", system.x.numel())
        return [system.x, system.u, following, self.parameter_symbol, system.constants, system.h]

    @cached_property
    def _end_inputs(self) -> list[Expression]:
        return [self.system.x, self.parameter_symbol, self.system.constants]

    def _padded_rows(self, rows: Sequence[ConstraintRow]) -> Expression:
        return ca.vertcat(self.row_values(rows), ca.SX(self.nrp - len(rows), 1))

    def _padded_state(self, vector: Expression) -> Expression:
        result = ca.SX(self.nxp, 1)
        result[self.state_at] = vector
        return result

    def values(self) -> ca.Function:
        """(x, u, x_next, p, θ, h) -> cost, gap, rows."""
        gap = self._padded_state(self.gap(self._path_inputs[2]))
        return self._function(
            "values", self._path_inputs, [self.objective(False), gap, self._padded_rows(self.path_rows)]
        )

    def stage(self) -> ca.Function:
        """(x, u, x_next, p, θ, h) -> cost, gradient, gap, rows, Hessian, Jacobian of general rows, [B A]."""
        gap = self.gap(self._path_inputs[2])
        g, H = self._derivatives(False)
        outputs = [
            self.objective(False),
            self._spread(g.T, [0], 1, self.z_at),
            self._padded_state(gap),
            self._padded_rows(self.path_rows),
            self._spread(H, self.z_at, self.nzp, self.z_at),
            self.path_jacobian.T,
        ]
        outputs.append(ca.SX(1, 1) if self.system.uses_double_integrator else self.dynamics.T)
        return self._function("stage", self._path_inputs, outputs)

    @cached_property
    def dynamics(self) -> Expression:
        """[B A] in padded places."""
        AB = self.system.differentiate(self.gap(self._path_inputs[2]))
        return self._spread(ca.sparsify(AB), self.state_at, self.nxp, self.z_at)

    @cached_property
    def curvature(self) -> ca.Function | None:
        """(x, u, x_next, π, w, p, θ, h) -> Σ π ∇²gap + Σ w ∇²row + Σ h W r ∇²r, what `stage` leaves out.

        π are multipliers of the dynamics and w of the rows, r the residuals that depend on what has a
        derivative of its own. None where that is zero, and where the problem's `hessian` does without.
        """
        system = self.system
        small = system.uses_double_integrator and system.nu <= MAX_EXACT_JOINTS
        if self.hessian == "gauss_newton" or (self.hessian == "auto" and not (system.is_nonlinear or small)):
            return None
        x, u, following, p, theta, h = self._path_inputs
        costate, weight = ca.SX.sym("costate", self.nxp), ca.SX.sym("weight", self.nrp)
        rows = self.row_values(self.path_rows)
        L = ca.dot(costate[self.state_at], self.gap(following)) + ca.dot(weight[: rows.numel()], rows)
        forces, values = [], []
        for cost in self.costs:
            if cost.on_path and cost.square and self._is_known(cost.expression):
                forces.append(ca.SX.sym("force", cost.expression.numel()))
                values.append(ca.densify(system.length * cost.weight.symbol * cost.expression))
                L = L + ca.dot(forces[-1], cost.expression)
        H = second_derivative(system, L)
        (H,) = ca.substitute([H], [ca.vertcat(ca.SX(0, 1), *forces)], [ca.vertcat(ca.SX(0, 1), *values)])
        if not ca.sparsify(H).nnz():
            return None
        spread = self._spread(_symmetric(H), self.z_at, self.nzp, self.z_at)
        return self._function("curvature", [x, u, following, costate, weight, p, theta, h], [spread])

    @cached_property
    def path_jacobian(self) -> Expression:
        """The Jacobian of the general rows of a node on the path, in padded places."""
        return self._general(self.path_rows)

    def _general(self, rows: Sequence[ConstraintRow]) -> Expression:
        """The Jacobian of the rows that bound more than one variable, in padded places."""
        general = [row for row in rows if row.box is None]
        count = max(1, *(sum(row.box is None for row in r) for r in (self.path_rows, self.end_rows)), 1)
        J = self.system.differentiate(self.row_values(general))
        result = ca.SX(count, self.nzp)
        if general:
            result[list(range(len(general))), self.z_at] = J
        return result

    def end_values(self) -> ca.Function:
        """(x, p, θ) -> cost, rows of the last node."""
        return self._function(
            "end_values", self._end_inputs, [self.objective(True), self._padded_rows(self.end_rows)]
        )

    def end(self) -> ca.Function:
        """(x, p, θ) -> cost, gradient, rows, Hessian, Jacobian of the general rows."""
        g, H = self._derivatives(True)
        outputs = [
            self.objective(True),
            self._spread(g.T, [0], 1, self.z_at),
            self._padded_rows(self.end_rows),
            self._spread(H, self.z_at, self.nzp, self.z_at),
            self._general(self.end_rows).T,
        ]
        return self._function("end", self._end_inputs, outputs)

    def retract(self) -> ca.Function:
        """(x, padded dx) -> x ⊕ dx."""
        dx = ca.SX.sym("dx", self.nxp)
        moved = self.system.retract(self.system.x, dx[self.state_at])
        return ca.Function("retract", [self.system.x, dx], [ca.densify(moved)])

    def local(self) -> ca.Function:
        """(x0, x1) -> padded dx."""
        other = ca.SX.sym("x1", self.system.x.numel())
        seen = self._padded_state(self.system.local(self.system.x, other))
        return ca.Function("local", [self.system.x, other], [ca.densify(seen)])


def _symmetric(H: Expression) -> Expression:
    """The same symmetric matrix with each element computed once."""
    return ca.triu2symm(ca.triu(H))


def best_lanes(system: System) -> int:
    """Width of the solver's vectors (doubles): in wide ones, small problems are mostly padding."""

    def work(lanes: int) -> float:
        stages = Stages(system, (), (), (), (), lanes)
        return stages.nzp**2 / lanes

    return min((lanes for lanes in (8, 4, 2) if lanes <= native_lanes()), key=work)
