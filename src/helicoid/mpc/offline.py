"""Solving a problem once, by our own solver or by one of CasADi's, and looking at what came out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.mpc.plan import Plan, Violation, as_numbers
from helicoid.mpc.progress import progress
from helicoid.mpc.solver.engine import STATUS, Engine
from helicoid.mpc.solver.memory import Memory
from helicoid.mpc.solver.nlp import Outcome
from helicoid.mpc.stage import Row

if TYPE_CHECKING:
    from helicoid.mpc.problem import Problem


def solve(
    problem: Problem,
    x0: Array,
    solver: str,
    guess: Plan | None,
    max_iterations: int,
    tolerance: float,
    options: dict[str, Any],
) -> Plan:
    """See `Problem.solve`."""
    x, u = start(problem, x0, guess)
    began = time.perf_counter()
    stationarity = np.nan
    if solver == "sqp":
        if options:
            raise InputError("the solver 'sqp' takes no options; those of 'ipopt' and 'fatrop' are CasADi's")
        engine = problem.engine
        outcome = _by_engine(engine, problem.memory, x0, x, u, max_iterations, tolerance)
        stationarity = engine.result("stationarity")
    else:
        program = problem.program(solver, max_iterations, tolerance, options)
        outcome = program.solve(problem.memory, x0, x, u)
    return report(problem, outcome, solver, time.perf_counter() - began, stationarity, tolerance)


def start(problem: Problem, x0: Array, guess: Plan | None) -> tuple[Array, Array]:
    """Where the search starts: a guess, or standing still, which torques must hold up."""
    nodes, system = problem.intervals + 1, problem.system
    if guess is not None:
        if guess.x.shape != (nodes, system.x.numel()) or guess.u.shape != (nodes - 1, system.nu):
            raise InputError(
                "the guess is a plan of another problem: its states and controls have other sizes"
            )
        return guess.x.copy(), guess.u.copy()
    x, u = np.tile(x0, (nodes, 1)), np.zeros((nodes - 1, system.nu))
    robot = problem.robot
    if robot is not None:
        x[1:, robot.nq : robot.nq + robot.nv] = 0.0
        more = [problem.memory.theta] if robot.selection.groups else []
        g = robot.gravity(x0[: robot.nq], *more)
        if problem.formulation == "forward_dynamics":
            u[:] = robot.selection_matrix @ g
        elif robot.constraints:
            # Constraints carry what no motor can: the least forces with (g + Aᵀ λ) zero there.
            idle = list(robot.unactuated)
            A = np.asarray(robot.constraint_jacobian(x0[: robot.nq]))
            u[:, robot.nv :] = -np.linalg.lstsq(A[:, idle].T, g[idle], rcond=None)[0]
    return x, u


def _by_engine(
    engine: Engine, memory: Memory, x0: Array, x: Array, u: Array, max_iterations: int, tolerance: float
) -> Outcome:
    Memory.of(engine).copy_from(memory)
    engine["x"][...], engine["u"][:-1], engine["initial"][...] = x, u, x0
    engine.set(tolerance=tolerance, qp_tolerance=min(1e-9, 1e-2 * tolerance), budget=0.0)
    engine.reset()

    def told() -> str:  # the solver updates its results as it goes
        iteration, cost, violation = (engine.result(name) for name in ("iterations", "cost", "violation"))
        return f"(iteration {iteration:.0f}, cost {cost:.6g}, violation {violation:.1e})"

    with progress(told):
        status = engine.solve(max_iterations)
    iterations = int(engine.result("iterations"))
    return Outcome(engine["x"].copy(), engine["u"][:-1].copy(), STATUS[status], status == 0, iterations)


def report(
    problem: Problem,
    outcome: Outcome,
    solver: str,
    seconds: float,
    stationarity: float,
    tolerance: float,
    memory: Memory | None = None,
) -> Plan:
    """The plan of an outcome, its cost and constraints evaluated independently of the solver.

    The numbers are those of `memory`, by default the problem's.
    """
    x, u = outcome.x, outcome.u
    memory = problem.memory if memory is None else memory
    cost, gap, rows = evaluate(problem, x, u, memory)
    violations = find_violations(problem, rows, max(10 * tolerance, 1e-8), memory)
    hard = _excess(memory, rows) * (memory.hard != 0)
    status = outcome.status
    if hard.max(initial=0.0) > 0 and violations and not outcome.success:
        status += f"; {violations[0]}"
    lengths = np.diff(problem.times) * problem.duration_of(x)
    parts: dict[str, Any] = {}
    robot = problem.robot
    if robot is not None:
        a, tau = problem.motion(x, u, memory.theta)
        parts = {"q": x[:, : robot.nq], "v": x[:, robot.nq : robot.nq + robot.nv], "a": a, "tau": tau}
        for name in ("velocity_limit", "torque_limit"):
            parts[name] = _limit(problem, memory, name)
    return Plan(
        t=np.concatenate([[0.0], np.cumsum(lengths)]),
        x=x,
        u=u,
        status=status,
        success=outcome.success,
        iterations=outcome.iterations,
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


def _limit(problem: Problem, memory: Memory, name: str) -> Array:
    """The upper bounds (nv) of a constraint whose rows are labelled by velocities, at the second node."""
    assert problem.robot is not None
    names = problem.robot.model.velocity_names
    limit = np.full(len(names), np.inf)
    for k, row in enumerate(problem.stages.path_rows):
        label = row.constraint.labels[row.element]
        if row.constraint.name == name and label in names:
            limit[names.index(label)] = (
                memory.upper[min(1, problem.intervals - 1), k] / row.constraint.scale[row.element]
            )
    return limit


def evaluate(problem: Problem, x: Array, u: Array, memory: Memory) -> tuple[float, float, Array]:
    """Cost, largest gap of the dynamics, and all rows (nodes, padded) of a trajectory."""
    path, end = problem.values
    N = problem.intervals
    lengths = np.diff(problem.times)
    cost, gap, rows = path(x[:-1].T, u.T, x[1:].T, memory.parameters[:-1].T, memory.theta, lengths)
    last_cost, last_rows = end(x[-1], memory.parameters[N], memory.theta)
    all_rows = np.vstack([as_numbers(rows), as_numbers(last_rows)])
    total = float(ca.sum2(cost)) + float(last_cost)
    return total, float(np.abs(np.array(gap)).max(initial=0.0)), all_rows


def _excess(memory: Memory, rows: Array) -> Array:
    return np.maximum(0.0, np.maximum(rows - memory.upper, memory.lower - rows))


def find_violations(problem: Problem, rows: Array, tolerance: float, memory: Memory) -> list[Violation]:
    """The rows that are exceeded by more than a tolerance, each at its worst node.

    Hard ones come first, the worst of them before the others; then soft ones, which are allowed to be.
    """
    excess, last = _excess(memory, rows), problem.intervals
    found: dict[tuple[str, int], tuple[bool, float, Violation]] = {}
    sections: list[tuple[range, list[Row]]] = [
        (range(last), problem.stages.path_rows),
        (range(last, last + 1), problem.stages.end_rows),
    ]
    for nodes, section in sections:
        for k, row in enumerate(section):
            node = max(nodes, key=lambda n: excess[n, k])
            amount = float(excess[node, k])
            key = (row.constraint.name, row.element)
            if amount > tolerance and amount > found.get(key, (False, 0.0))[1]:
                labels, scale = row.constraint.labels, row.constraint.scale
                shown = amount / float(scale[row.element])
                violation = Violation(row.constraint.name, labels[row.element], node, shown)
                found[key] = row.constraint.price is not None, amount, violation
    return [violation for *_, violation in sorted(found.values(), key=lambda one: (one[0], -one[1]))]
