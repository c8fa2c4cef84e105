"""Periodic motions that begin and end at rest: Fourier series with conditions on their coefficients.

    q(t) = c₀ + Σ_k [A_k sin(k ω t) + B_k cos(k ω t)] / k,   ω = 2π / duration

The period is the duration, so that the end is as the start: at rest when Σ A_k = 0 and Σ k B_k = 0. All such
coefficients are c = N y + p with free y.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space

from helicoid._typing import Array


class RestingSeries:
    """Series of `harmonics` at rest at 0 and at `duration` (s), and at `start` (n) there if it is given."""

    def __init__(self, duration: float, harmonics: int, start: Array | None = None) -> None:
        self.duration, self.harmonics = duration, harmonics
        k = np.arange(1, harmonics + 1)
        none = np.zeros(harmonics)
        conditions = [np.concatenate([[0.0], 1.0 + none, none]), np.concatenate([[0.0], none, 1.0 * k])]
        self._offset: Array | None = None
        if start is not None:
            here = np.concatenate([[1.0], none, 1 / k])
            conditions.append(here)
            self._offset = np.outer(np.eye(2 * harmonics + 1)[0], start)
        self.basis: Array = np.asarray(null_space(np.array(conditions)), np.float64)

    @property
    def n_free(self) -> int:
        """Number of free coefficients per joint."""
        return self.basis.shape[1]

    def coefficients(self, y: Array) -> Array:
        """c (2 harmonics + 1, n) of y (n_free, n)."""
        return np.asarray(self.basis @ y + (0.0 if self._offset is None else self._offset), np.float64)

    def matrices(self, t: Array) -> tuple[Array, Array, Array]:
        """Φ with q = Φ c at times t, and those of v and a, (N, 2 harmonics + 1) each."""
        k = np.arange(1, self.harmonics + 1)
        w = 2 * np.pi * k / self.duration
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        one, none = np.ones((len(t), 1)), np.zeros((len(t), 1))
        position = np.hstack([one, s / k, c / k])
        velocity = np.hstack([none, c * w / k, -s * w / k])
        acceleration = np.hstack([none, -s * w**2 / k, -c * w**2 / k])
        return position, velocity, acceleration

    def between(self, n: int) -> float:
        """Least ratio of the largest sample of a series at n equal steps to its maximum: cos(π H / n).

        (Ehlich and Zeller 1964.) Limits that are lowered by it hold at all times.
        """
        return float(np.cos(np.pi * self.harmonics / n))
