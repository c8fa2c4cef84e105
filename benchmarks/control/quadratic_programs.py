"""Small quadratic programs beside daqp: `python -m benchmarks.control.quadratic_programs`.

Programs as differential kinematics has them, H = JᵀJ + 1e-3 1 with limits that hold, of the sizes of a
Panda, of a Talos and of whole-body control. µs of processor time of a call from Python, with the data in
place, from nothing active and from what was active at the solution; beside the times that daqp takes of
itself in C (setup, solution).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import daqp
import numpy as np

from helicoid.control.qp import QuadraticProgram

SIZES = ((7, 0, 6), (38, 0, 20), (44, 20, 30))  # variables, rows, rank of J
PROGRAMS, SEED = 20, 0


def program(rng: np.random.Generator, n: int, m: int, rank: int) -> dict[str, Any]:
    """Data as `QuadraticProgram.solve` takes them."""
    J = rng.normal(size=(rank, n))
    H, f = J.T @ J + 1e-3 * np.eye(n), -3 * J.T @ rng.normal(size=rank)
    limit = np.full(n, 0.8)
    rows = {"A": rng.normal(size=(m, n)), "row_lower": -np.ones(m), "row_upper": np.ones(m)}
    return {"H": H, "f": f, "lower": -limit, "upper": limit, **rows}


def best(call: Callable[[], object]) -> float:
    """µs of processor time."""
    found = np.inf
    for _ in range(15):
        began = time.process_time()
        for _ in range(100):
            call()
        found = min(found, time.process_time() - began)
    return float(1e4 * found)


def ours(solver: QuadraticProgram, p: dict[str, Any]) -> tuple[float, float, int, Any]:
    """Time from nothing, time from the solution, iterations, x."""
    solver.forget()
    s = solver.solve(**p)
    kernel, inputs, outputs = solver._kernel, solver._inputs, solver._outputs

    def cold() -> None:
        outputs[2][:] = 0
        kernel.evaluate(inputs, outputs)

    forgetting = best(lambda: outputs[2].fill(0))
    return best(cold) - forgetting, best(lambda: kernel.evaluate(inputs, outputs)), s.iterations, s.x


def peer(p: dict[str, Any]) -> tuple[float, int, Any]:
    """Time of setup and solution, iterations, x."""
    high, low = np.append(p["upper"], p["row_upper"]), np.append(p["lower"], p["row_lower"])
    seconds = []
    for _ in range(100):
        x, _, flag, info = daqp.solve(p["H"], p["f"], p["A"], high, low, np.zeros(len(high), np.int32))
        assert flag == 1
        seconds.append(info["setup_time"] + info["solve_time"])
    return 1e6 * min(seconds), int(info["iterations"]), x


def main() -> None:
    """The table."""
    print(f"{'variables, rows':18}{'cold':>10}{'warm':>10}{'daqp':>10}{'iterations':>14}{'daqp':>8}")
    for n, m, rank in SIZES:
        rng, solver, rows = np.random.default_rng(SEED), QuadraticProgram(n, m), []
        for _ in range(PROGRAMS):
            p = program(rng, n, m, rank)
            (cold, warm, steps, x), (time_, others, y) = ours(solver, p), peer(p)
            assert np.abs(x - y).max() < 1e-5
            rows.append((cold, warm, time_, steps, others))
        cold, warm, time_, steps, others = np.mean(rows, axis=0)
        print(f"{f'{n}, {m}':18}{cold:10.2f}{warm:10.2f}{time_:10.2f}{steps:14.1f}{others:8.1f}")


if __name__ == "__main__":
    main()
