"""Solution of a problem by the SQP solver or by one of CasADi's, and evaluation of the result."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.interrupts import attended, interruptible
from helicoid.mpc.plan import Plan, Violation, as_numbers
from helicoid.mpc.solver.compiled import Compiled
from helicoid.mpc.solver.engine import SqpSolver
from helicoid.mpc.solver.guess import Guess, first_guess
from helicoid.mpc.solver.memory import Memory
from helicoid.mpc.solver.nodes.stage import ConstraintRow
from helicoid.mpc.solver.outcome import SolverResult, SolverStatus
from helicoid.progress import UNKNOWN, Progress, reporting
from helicoid.robot import Robot

_MAX_REFRESHES = 30  # of obstacles, each followed by a solution from the last one


@interruptible()
def solve(
    compiled: Compiled,
    x0: Array,
    solver: str,
    guess: Guess | None,
    max_iterations: int,
    tolerance: float,
    options: dict[str, Any],
    progress: Progress | bool | None = None,
) -> Plan:
    """See `Problem.solve`."""
    x, u = first_guess(compiled.structure, x0, compiled.memory.theta, guess, compiled.memory.schedule)
    compiled.memory.refresh(x)
    began = time.perf_counter()
    stationarity = np.nan
    if solver == "sqp":
        if options:
            raise InputError("the solver 'sqp' takes no options; those of 'ipopt' and 'fatrop' are CasADi's")
        engine = compiled.engine
        result = _by_engine(engine, compiled.memory, x0, x, u, max_iterations, tolerance, progress)
        for _ in range(_MAX_REFRESHES if compiled.memory.refreshes else 0):
            if compiled.memory.refreshed(result.x) < 1e-6:
                break
            again = _by_engine(
                engine, compiled.memory, x0, result.x, result.u, max_iterations, tolerance, progress
            )
            result = replace(again, iterations=result.iterations + again.iterations)
        stationarity = engine.result("stationarity")
    else:
        program = compiled.program(solver, max_iterations, tolerance, options)
        with reporting(progress, f"Solving by {solver}"):
            result = program.solve(compiled.memory, x0, x, u)
    seconds = time.perf_counter() - began
    return report(compiled, compiled.memory, result, solver, seconds, stationarity, tolerance)


def _by_engine(
    engine: SqpSolver,
    memory: Memory,
    x0: Array,
    x: Array,
    u: Array,
    max_iterations: int,
    tolerance: float,
    progress: Progress | bool | None,
) -> SolverResult:
    Memory.of(engine).copy_from(memory)
    engine["x"][...], engine["u"][:-1], engine["initial"][...] = x, u, x0
    engine.set(tolerance=tolerance, qp_tolerance=min(1e-9, 1e-2 * tolerance), budget=0.0)
    engine.reset()

    def state() -> tuple[str, float]:  # the solver updates its results as it goes
        iteration, cost, violation = (engine.result(name) for name in ("iterations", "cost", "violation"))
        return f"Solving (iteration {iteration:.0f}, cost {cost:.6g}, violation {violation:.1e})", UNKNOWN

    with reporting(progress, "Solving", state):
        # An interrupt of the user ends the time budget.
        status = attended(lambda: engine.solve(max_iterations), lambda: engine.set(budget=1e-9))
    iterations = int(engine.result("iterations"))
    return SolverResult(
        engine["x"].copy(), engine["u"][:-1].copy(), status.text, status is SolverStatus.SOLVED, iterations
    )


def report(
    compiled: Compiled,
    memory: Memory,
    result: SolverResult,
    solver: str,
    seconds: float,
    stationarity: float,
    tolerance: float,
) -> Plan:
    """The plan of a result, its cost and constraints evaluated independently of the solver."""
    structure, x, u = compiled.structure, result.x, result.u
    cost, gap, rows = _evaluate(compiled, memory, x, u)
    violations = find_violations(compiled, memory, rows, max(10 * tolerance, 1e-8))
    hard = _excess(memory, rows) * (memory.hard != 0)
    message = result.message
    if hard.max(initial=0.0) > 0 and violations and not result.success:
        message += f"; {violations[0]}"
    lengths = np.diff(structure.times) * structure.duration_of(x)
    parts: dict[str, Any] = {}
    robot, carried = structure.robot, structure.carried
    if carried is not None:
        parts = {"q": x[:, : carried.nq], "v": x[:, carried.nq : carried.nq + carried.nv]}
    if robot is not None:
        a, tau, forces = compiled.motion(x, u, memory.constants)
        parts = {"q": x[:, : robot.nq], "v": x[:, robot.nq : robot.nq + robot.nv], "a": a, "tau": tau}
        parts["forces"] = forces
        for name in ("velocity_limit", "torque_limit"):
            parts[name] = _limit(compiled, memory, robot, name)
    return Plan(
        t=np.concatenate([[0.0], np.cumsum(lengths)]),
        x=x,
        u=u,
        message=message,
        success=result.success,
        iterations=result.iterations,
        cost=cost,
        violation=float(hard.max(initial=0.0)),
        gap=gap,
        stationarity=stationarity,
        seconds=seconds,
        solver=solver,
        violations=tuple(violations),
        robot=robot,
        **parts,
    )


def _limit(compiled: Compiled, memory: Memory, robot: Robot, name: str) -> Array:
    """The upper bounds (nv) of a constraint whose rows are labelled by velocities, at the second node."""
    names = robot.model.velocity_names
    limit, node = np.full(len(names), np.inf), min(1, compiled.structure.intervals - 1)
    for k, row in enumerate(compiled.stages.path_rows):
        label = row.constraint.labels[row.element]
        if row.constraint.name == name and label in names:
            limit[names.index(label)] = memory.upper[node, k] / row.constraint.scale[row.element]
    return limit


def _evaluate(compiled: Compiled, memory: Memory, x: Array, u: Array) -> tuple[float, float, Array]:
    """Cost, largest gap of the dynamics, and all rows (nodes, padded) of a trajectory."""
    path, end = compiled.values
    lengths = np.diff(compiled.structure.times)
    cost, gap, rows = path(x[:-1].T, u.T, x[1:].T, memory.parameters[:-1].T, memory.constants, lengths)
    last_cost, last_rows = end(x[-1], memory.parameters[-1], memory.constants)
    all_rows = np.vstack([as_numbers(rows), as_numbers(last_rows)])
    total = float(ca.sum2(cost)) + float(last_cost)
    return total, float(np.abs(np.array(gap)).max(initial=0.0)), all_rows


def _excess(memory: Memory, rows: Array) -> Array:
    return np.maximum(0.0, np.maximum(rows - memory.upper, memory.lower - rows))


def find_violations(
    compiled: Compiled, memory: Memory, rows: Array, tolerance: float, soft: bool = True
) -> list[Violation]:
    """The rows that are exceeded by more than a tolerance, each at its worst node.

    Hard ones come first, then, unless `soft` is False, soft ones; the worst of each before the others.
    """
    excess, last = _excess(memory, rows), compiled.structure.intervals
    if not soft:
        excess *= memory.hard != 0
    if excess.max(initial=0.0) <= tolerance:
        return []
    found: dict[tuple[str, int], tuple[bool, float, Violation]] = {}
    sections: list[tuple[range, list[ConstraintRow]]] = [
        (range(last), compiled.stages.path_rows),
        (range(last, last + 1), compiled.stages.end_rows),
    ]
    for nodes, section in sections:
        for k, row in enumerate(section):
            node = nodes[int(excess[nodes.start : nodes.stop, k].argmax())]
            amount = float(excess[node, k])
            key = (row.constraint.name, row.element)
            if amount > tolerance and amount > found.get(key, (False, 0.0))[1]:
                labels, scale = row.constraint.labels, row.constraint.scale
                shown = amount / float(scale[row.element])
                violation = Violation(row.constraint.name, labels[row.element], node, shown)
                found[key] = row.constraint.price is not None, amount, violation
    return [violation for *_, violation in sorted(found.values(), key=lambda one: (one[0], -one[1]))]
