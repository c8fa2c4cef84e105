"""Steps of variable length that keep the error within a tolerance, by SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Function
from helicoid.simulation.running import MAX_VELOCITY

SOLVERS = {"adaptive": "DOP853", "stiff": "LSODA"}
"""From the name of a method to SciPy's: Dormand-Prince of order 8, or one that turns to BDF when stiff."""
MAX_EVALUATIONS = 300_000  # of the equations between two samples: seconds of work, where a dozen are common
Settle = Callable[[Array, Array, int], tuple[Array, Array]]


class VariableStepSolver:
    """Fills rows of states by integrating ẋ = f(x, u) from each to the next, u constant in between.

    Args:
        rate: the function of `equations.rate_function`.
        states: q and v, each (rows, rollouts, n).
        inputs: (rows or 1, rollouts or 1, size), as for `Iteration`.
        settle: projects rows of q and v of a rollout on the constraints.
    """

    def __init__(
        self,
        rate: Function,
        states: Sequence[Array],
        inputs: Sequence[Array],
        times: Array,
        settle: Settle,
        method: str,
        tolerances: tuple[float, float],
    ) -> None:
        self._rate, self._inputs, self._times, self._settle = rate, list(inputs), times, settle
        self._q, self._v = states
        self._solver, (self._rtol, self._atol) = SOLVERS[method], tolerances
        self._held = all(len(value) == 1 for value in inputs)

    def run(self, first: int, last: int) -> None:
        """Compute rows first + 1 to last. Where the motion diverges, later rows are not finite."""
        stride = last - first if self._held else 1
        for rollout in range(self._q.shape[1]):
            for k in range(first, last, stride):
                self._integrate(k, k + stride, rollout)

    def _integrate(self, first: int, last: int, rollout: int) -> None:
        from scipy import integrate  # slow to import

        nq = self._q.shape[2]
        forces = [self._row(value, first, rollout) for value in self._inputs]
        x = np.concatenate([self._q[first, rollout], self._v[first, rollout]])
        rows = np.full((last - first, len(x)), np.nan)
        if np.all(np.isfinite(x)):
            times = self._times[first : last + 1]
            tolerances = {"rtol": self._rtol, "atol": self._atol}
            make = getattr(integrate, self._solver)
            with np.errstate(over="ignore", invalid="ignore"):  # divergence is reported by time and joint
                if _diverged(x[nq:], self._rate(x, *forces)):
                    _mark(rows[0], x, nq)
                else:
                    solver = make(lambda t, x: self._rate(x, *forces), times[0], x, times[-1], **tolerances)
                    _fill(rows, times, solver, nq)
        q, v = self._settle(rows[:, :nq], rows[:, nq:], rollout)
        gone = ~np.all(np.isfinite(rows), axis=1)
        # Projection on constraints would make all of them NaN, and hide the joint.
        v[gone] = rows[gone, nq:]
        self._q[first + 1 : last + 1, rollout], self._v[first + 1 : last + 1, rollout] = q, v

    def _row(self, value: Array, k: int, rollout: int) -> Array:
        row = value[k if len(value) > 1 else 0]
        return row[rollout if len(row) > 1 else 0]


def _fill(rows: Array, times: Array, solver: Any, nq: int) -> None:
    """States at times[1:]; where the motion diverges, its fastest joint is marked and later rows stay NaN.

    A solver with error control follows a divergent motion in ever more and shorter steps: nothing overflows,
    and without a limit it would never end.
    """
    done = 0
    while solver.status == "running":
        solver.step()
        failed = solver.status == "failed" or solver.nfev > MAX_EVALUATIONS * (done + 1)
        if failed or _diverged(solver.y[nq:], solver.y):
            _mark(rows[done], solver.y, nq)
            return
        reached = int(np.searchsorted(times[1:], solver.t, side="right"))
        if reached > done:
            rows[done:reached] = solver.dense_output()(times[done + 1 : reached + 1]).T
            done = reached


def _diverged(v: Array, values: Array) -> bool:
    """Whether a velocity has diverged or a value is not finite: no step is short enough for these."""
    return not (np.all(np.abs(v) < MAX_VELOCITY) and np.all(np.isfinite(values)))


def _mark(row: Array, x: Array, nq: int) -> None:
    """The last state, with the velocity of the fastest joint infinite."""
    row[:] = x
    row[nq + int(np.argmax(np.abs(x[nq:])))] = np.inf
