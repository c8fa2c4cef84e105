"""A constraint manifold in configuration space: residuals, projection, and edges that stay near it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.compiler import Function

_MAX_ITERATIONS = 25  # of Newton's method
_MAX_STEP = 0.5  # of Newton's method (rad, m)
_REACHED = 1e-3  # of the tolerance: residual of a projected configuration
_SAMPLES = np.arange(1, 8) / 8  # of an edge
_DAMPING = 1e-12  # relative: rows may depend on each other


@dataclass(frozen=True, eq=False)
class Manifold:
    """All q with e(q) = 0, for a path that keeps every |e_i| ≤ `tolerance` (m, rad).

    `function` is (q, targets) -> e, de/dq; `period` is a whole turn of angles on circles, else 0.
    """

    function: Function
    targets: Array
    labels: tuple[str, ...]
    tolerance: float
    lower: Array
    upper: Array
    period: Array

    def error(self, q: Array) -> Array:
        """max |e_i| of configurations (nq) or (N, nq)."""
        return np.asarray(np.abs(self.function(q, self.targets)[0]).max(axis=-1))

    def worst(self, q: Array) -> str:
        """The constraint of the largest residual at q, with that."""
        e = np.abs(self.function(q, self.targets)[0])
        return f"{self.labels[int(np.argmax(e))]} by {e.max():.3g}"

    def difference(self, a: Array, b: Array) -> Array:
        """b - a, the shorter way round of angles on circles."""
        d = b - a
        turn = self.period > 0
        if turn.any():
            d = d - np.where(turn, self.period * np.rint(d / np.where(turn, self.period, 1.0)), 0.0)
        return np.asarray(d)

    def project(self, q: Array) -> Array | None:
        """The configuration on the manifold that Newton's method leads to from q; None where it fails.

        Each step is the shortest one with J dq = -e; limits are kept by clipping.
        """
        q = q.copy()
        for _ in range(_MAX_ITERATIONS):
            e, J = self.function(q, self.targets)
            if np.abs(e).max() <= _REACHED * self.tolerance:
                return q
            dq = -self._inverse(J, e)
            size = np.abs(dq).max()
            if not np.isfinite(size):
                return None
            q += dq * min(1.0, _MAX_STEP / max(size, 1e-300))
            q = np.where(self.period > 0, q, np.clip(q, self.lower, self.upper))
        return None

    def tangent(self, q: Array, d: Array) -> Array:
        """The part of a step d along the manifold at q."""
        _, J = self.function(q, self.targets)
        return np.asarray(d - self._inverse(J, J @ d))

    def dimension(self, q: Array) -> int:
        """Degrees of freedom that the constraints leave at q."""
        _, J = self.function(q, self.targets)
        return int(J.shape[1] - np.linalg.matrix_rank(J, tol=1e-6))

    def edges_hold(self, a: Array, b: Array, tolerance: float | None = None) -> NDArray[np.bool_]:
        """Whether straight edges from a (N, nq) to b (N, nq) keep within the tolerance.

        Residuals at seven points between the ends, and between those a bound by their second differences.
        """
        d = self.difference(a, b)
        t = np.concatenate([[0.0], _SAMPLES, [1.0]])
        q = a[:, None] + t[:, None] * d[:, None]
        e = self.function(q.reshape(-1, a.shape[1]), self.targets)[0].reshape(len(a), len(t), -1)
        bend = np.abs(np.diff(e, 2, axis=1)).max(axis=1) / 8
        largest = (np.abs(e).max(axis=1) + bend).max(axis=-1)
        return np.asarray(largest <= (self.tolerance if tolerance is None else tolerance))

    def refined(self, q: Array, tolerance: float) -> Array | None:
        """A path (n, nq) with more waypoints, all on the manifold, whose edges keep a tighter tolerance.

        None where a middle of an edge cannot be projected.
        """
        while True:
            bad = np.flatnonzero(~self.edges_hold(q[:-1], q[1:], tolerance))
            if not len(bad):
                return q
            middles = [self.project(q[k] + 0.5 * self.difference(q[k], q[k + 1])) for k in bad]
            if any(one is None for one in middles) or len(q) > 20_000:
                return None
            q = np.insert(q, bad + 1, np.array(middles), axis=0)

    def _inverse(self, J: Array, e: Array) -> Array:
        """J⁺ e, the shortest solution of J x = e."""
        A = J @ J.T
        A[np.diag_indices(len(A))] += _DAMPING * (np.trace(A) + 1e-12)
        return np.asarray(J.T @ np.linalg.solve(A, e))
