"""The last step of a controller: its figures, the constraints its plan violates, its feedback gains."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.mpc.solution import find_violations
from helicoid.mpc.solver.compiled import Compiled
from helicoid.mpc.solver.engine import RESULTS, SqpSolver
from helicoid.mpc.solver.memory import Memory
from helicoid.mpc.solver.receding_horizon.loop import TOLERANCE

_RESULTS = {
    name: RESULTS.index(name)
    for name in ("qp_iterations", "seconds", "cost", "violation", "gap", "step_length", "stationarity")
}
FIGURES = ("iterations", *_RESULTS)


def figures(iterations: float, seconds: float, results: bytes) -> dict[str, float]:
    """The figures of a step by name, from the results in the solver's memory; NaN where no solver ran."""
    numbers = np.frombuffer(results).tolist()
    found = {name: numbers[at] if iterations else np.nan for name, at in _RESULTS.items()}
    return {"iterations": iterations, **found, "seconds": seconds}


def violated(compiled: Compiled, memory: Memory, engine: SqpSolver) -> str:
    """The constraints that the plan violates, and by how much."""
    found = find_violations(compiled, memory, engine["rows"], TOLERANCE, soft=False)
    texts, gap = [str(one) for one in found], engine.result("gap")
    if not gap <= TOLERANCE:
        texts.append(f"the dynamics are violated by {gap:.3g}")
    return "; ".join(texts)


def feedback_gains(compiled: Compiled, memory: Memory, engine: SqpSolver, period: float) -> Array:
    """Derivative of the command by the measured state, by the Riccati recursion."""
    structure, robot = compiled.structure, compiled.structure.robot
    # Without states that a problem adds: a free duration, the previous control.
    x, n = structure.system.x.numel(), structure.n_measured
    dx = structure.system.nx - (x - n) if robot is None else 2 * robot.nv
    K = engine.gains()[:, :dx]
    if robot is None:
        units = structure.system.units
        return K / np.array(units) if units else K
    if structure.formulation == "forward_dynamics":
        return np.asarray(robot.selection_matrix.T @ K)
    here = engine["initial"], engine["u"][0], memory.constants, period
    by_u, by_x = compiled.torque_derivatives(*here)
    return np.asarray(by_x[:, :dx] + by_u @ K)
