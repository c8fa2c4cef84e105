"""A problem as a nonlinear program for CasADi's solvers, ipopt and fatrop, with exact second derivatives.

Variables are (x_0, u_0, s_0, x_1, ... x_N, s_N), s the excess of soft rows. The state is in coordinates: the
dynamics keep quaternions unit. Constraints of a node are its gap x⁺ - F(x, u) first, as fatrop wants them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler import Function, compile_is_on
from helicoid.errors import CompileError, InputError
from helicoid.interrupts import solving
from helicoid.mpc.solver.outcome import SolverResult

if TYPE_CHECKING:
    from helicoid.mpc.solver.memory import Memory
    from helicoid.mpc.solver.nodes.stage import Stages
    from helicoid.mpc.structure import Structure


@dataclass(frozen=True, eq=False)
class _Node:
    """Symbols of one node, and its rows: which are hard, which soft."""

    x: Expression
    u: Expression
    s: Expression
    hard: list[int]
    soft: list[int]


class NonlinearProgram:
    """A problem as one nonlinear program, for any parameters and initial states."""

    def __init__(
        self,
        structure: Structure,
        stages: Stages,
        memory: Memory,
        solver: str,
        max_iterations: int,
        tolerance: float,
        options: dict[str, Any],
    ) -> None:
        if solver not in ("ipopt", "fatrop"):
            raise InputError(f"solver is 'sqp', 'ipopt' or 'fatrop', got {solver!r}")
        self._stages = stages
        self._intervals = structure.intervals
        self._lengths = np.diff(structure.times)
        self._solver_name = solver
        self._fixed = _fixed_coordinates(stages)
        path, end = self._functions()
        nodes = [self._node(k, memory) for k in range(self._intervals + 1)]
        objective, rows = self._transcribe(path, end, nodes, memory)
        self._nodes = nodes
        g = ca.vertcat(*(expression for expression, _ in rows))
        w = ca.vertcat(*(ca.vertcat(node.x, node.u, node.s) for node in nodes))
        p = ca.vertcat(ca.vec(self._P), self._theta, self._x0, self._prices)
        flags = [equal for expression, equal in rows for _ in range(expression.numel())]
        settings: dict[str, Any] = {"print_time": False, f"{solver}.max_iter": max_iterations}
        settings |= {f"{solver}.tol": tolerance, f"{solver}.print_level": 0}
        if solver == "ipopt":
            settings |= {"ipopt.sb": "yes"}
        else:
            settings |= {"structure_detection": "auto", "equality": flags}
        self._solve = ca.nlpsol("plan", solver, {"x": w, "p": p, "f": objective, "g": g}, settings | options)

    def _functions(self) -> tuple[ca.Function, ca.Function]:
        stages, system = self._stages, self._stages.system
        path_out = [system.following, stages.objective(False), stages.row_values(stages.path_rows)]
        end_out = [stages.objective(True), stages.row_values(stages.end_rows)]
        symbols = {"x": system.x, "u": system.u, "p": stages.parameter_symbol}
        symbols |= {"theta": system.constants, "h": system.h}
        made = []
        for name, outputs in (("path", path_out), ("end", end_out)):
            keys = ("following", "cost", "rows") if name == "path" else ("cost", "rows")
            resolved = dict(zip(keys, (ca.densify(e) for e in system.resolve(outputs)), strict=True))
            used = {k: v for k, v in symbols.items() if name == "path" or k in ("x", "p", "theta")}
            made.append(_callable(f"{name}_node", used, resolved))
        return made[0], made[1]

    def _node(self, k: int, memory: Memory) -> _Node:
        system, last = self._stages.system, k == self._intervals
        rows = self._stages.end_rows if last else self._stages.path_rows
        used = [i for i, row in enumerate(rows) if last or k > 0 or row.at_first]
        soft = [i for i in used if memory.hard[k, i] == 0]
        return _Node(
            ca.MX.sym(f"x{k}", system.x.numel()),
            ca.MX.sym(f"u{k}", 0 if last else system.nu),
            ca.MX.sym(f"s{k}", len(soft)),
            [i for i in used if i not in soft],
            soft,
        )

    def _transcribe(
        self, path: ca.Function, end: ca.Function, nodes: Sequence[_Node], memory: Memory
    ) -> tuple[Expression, list[tuple[Expression, bool]]]:
        """The objective and the constraints, with whether each is an equation."""
        N, stages = self._intervals, self._stages
        self._P = ca.MX.sym("P", stages.parameter_symbol.numel(), N + 1)
        self._theta = ca.MX.sym("theta", stages.system.constants.numel())
        self._x0 = ca.MX.sym("x0", stages.system.x.numel())
        self._prices = ca.MX.sym("prices", 2 * sum(len(node.soft) for node in nodes))
        objective, rows, price = ca.MX(0), [], 0
        for k, node in enumerate(nodes):
            if k < N:
                following, cost, values = path(node.x, node.u, self._P[:, k], self._theta, self._lengths[k])
                rows.append((nodes[k + 1].x - following, True))
            else:
                cost, values = end(node.x, self._P[:, k], self._theta)
            objective += cost
            if k == 0 and self._fixed:
                rows.append((node.x[self._fixed] - self._x0[self._fixed], True))
            for i in node.hard:
                rows.append((values[i], bool(memory.lower[k, i] == memory.upper[k, i])))
            for j, i in enumerate(node.soft):
                rows.append((values[i] - node.s[j], False))
                rows.append((values[i] + node.s[j], False))
                objective += self._prices[price] * node.s[j] + 0.5 * self._prices[price + 1] * node.s[j] ** 2
                price += 2
        return objective, rows

    def solve(self, memory: Memory, x0: Array, x: Array, u: Array) -> SolverResult:
        """Solve from a guess of states and controls."""
        first, free, prices = [], [], []
        for k, node in enumerate(self._nodes):
            first += [x[k], u[k] if k < len(u) else np.zeros(0), np.full(len(node.soft), 0.1)]
            free += [np.full(node.x.numel() + node.u.numel(), -np.inf), np.zeros(len(node.soft))]
            prices += [array[k, i] for i in node.soft for array in (memory.penalty, memory.penalty2)]
        low, high = self._bounds(memory)
        p = np.concatenate([memory.parameters.ravel(), memory.constants, x0, np.array(prices, dtype=float)])
        numbers = {"x0": np.concatenate(first), "p": p, "lbx": np.concatenate(free), "lbg": low, "ubg": high}
        given = {key: ca.DM(value) for key, value in numbers.items()}  # no conversion is left to the solver
        try:
            with solving():
                result = self._solve(**given)
        except RuntimeError as error:
            return SolverResult(x, u, f"failed: {str(error).splitlines()[-1]}", False, 0)
        stats = self._solve.stats()
        w, at, xs, us = np.array(result["x"]).ravel(), 0, [], []
        for node in self._nodes:
            n, m = node.x.numel(), node.u.numel()
            xs.append(w[at : at + n])
            us.append(w[at + n : at + n + m])
            at += n + m + len(node.soft)
        word = str(stats.get("return_status", ""))
        done = bool(stats.get("success", False))
        message = "solved" if done else f"failed: {self._solver_name} says {word}"
        return SolverResult(np.array(xs), np.array(us[:-1]), message, done, int(stats.get("iter_count", 0)))

    def _bounds(self, memory: Memory) -> tuple[Array, Array]:
        low, high = [], []
        for k, node in enumerate(self._nodes):
            if k < self._intervals:
                low += [0.0] * node.x.numel()
                high += [0.0] * node.x.numel()
            if k == 0:
                low += [0.0] * len(self._fixed)
                high += [0.0] * len(self._fixed)
            for i in node.hard:
                low.append(memory.lower[k, i])
                high.append(memory.upper[k, i])
            for i in node.soft:
                low += [-np.inf, memory.lower[k, i]]
                high += [memory.upper[k, i], np.inf]
        return np.array(low), np.array(high)


def _fixed_coordinates(stages: Stages) -> list[int]:
    """Indices of the given coordinates of the first state."""
    system, free = stages.system, np.array(stages.initial_free)
    if system.tangent is None:
        return [int(k) for k in np.flatnonzero(~free)]
    # A coordinate is free when a free direction of the tangent space moves it.
    moves = np.array(ca.DM(ca.Sparsity(system.tangent.sparsity()), 1.0))
    return [k for k in range(system.x.numel()) if not np.any(moves[k, free] != 0)]


def _callable(name: str, inputs: dict[str, Expression], outputs: dict[str, Expression]) -> ca.Function:
    """A function to call with MX: compiled with its derivatives where that is possible."""
    full = {key: value for key, value in outputs.items() if value.numel()}
    function = ca.Function(name, list(inputs.values()), list(outputs.values()), list(inputs), list(outputs))
    if not compile_is_on() or len(full) < len(outputs) or any(v.numel() == 0 for v in inputs.values()):
        return function
    try:
        return Function.from_expressions(name, inputs, outputs).casadi_external()
    except CompileError:
        return function
