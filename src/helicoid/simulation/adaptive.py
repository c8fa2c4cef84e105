"""Steps of variable length that keep the error within a tolerance, by SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from helicoid.compiler.function import Function
from helicoid.model.inertia import Array

SOLVERS = {"adaptive": "DOP853", "stiff": "LSODA"}
"""From the name of a method to SciPy's: Dormand-Prince of order 8, or one that turns to BDF when stiff."""
Settle = Callable[[Array, Array, int], tuple[Array, Array]]


class Adaptive:
    """Fills rows of states by integrating ẋ = f(x, u) from each to the next, u constant in between.

    Args:
        rate: the function of `equations.rate_function`.
        states: q and v, each (rows, rollouts, n).
        inputs: (rows or 1, rollouts or 1, size), as for `Iteration`.
        settle: takes rows of q and v, and which rollout they are of; gives the allowed states nearby.
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
        """Compute rows first + 1 to last. Where the solver gives up, the rest becomes NaN."""
        stride = last - first if self._held else 1
        for rollout in range(self._q.shape[1]):
            for k in range(first, last, stride):
                self._integrate(k, k + stride, rollout)

    def _integrate(self, first: int, last: int, rollout: int) -> None:
        from scipy.integrate import solve_ivp

        nq = self._q.shape[2]
        forces = [self._row(value, first, rollout) for value in self._inputs]
        x = np.concatenate([self._q[first, rollout], self._v[first, rollout]])
        rows = np.full((last - first, len(x)), np.nan)
        if np.all(np.isfinite(x)):
            solution = solve_ivp(
                lambda t, x: self._rate(x, *forces),
                (self._times[first], self._times[last]),
                x,
                method=self._solver,
                t_eval=self._times[first + 1 : last + 1],
                rtol=self._rtol,
                atol=self._atol,
            )
            rows[: solution.y.shape[1]] = solution.y.T
        q, v = self._settle(rows[:, :nq], rows[:, nq:], rollout)
        self._q[first + 1 : last + 1, rollout], self._v[first + 1 : last + 1, rollout] = q, v

    def _row(self, value: Array, k: int, rollout: int) -> Array:
        row = value[k if len(value) > 1 else 0]
        return row[rollout if len(row) > 1 else 0]
