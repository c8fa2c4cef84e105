"""Quadratic functions with lower bounds, such as friction that is not negative."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array

_ACTIVE_SET_ITERATIONS = 5


def bounded_minimum(A: Array, b: Array, least: Array) -> Array:
    """min uᵀA u - 2 bᵀu with u >= least, by a few iterations of an active-set method."""
    held = np.zeros(len(b), dtype=bool)
    u = _solution(A, b)
    for _ in range(_ACTIVE_SET_ITERATIONS):
        below = u < least - 1e-12
        if not below.any():
            break
        held |= below
        free = ~held
        u = np.where(held, least, 0.0)
        u[free] = _solution(A[np.ix_(free, free)], b[free] - A[np.ix_(free, held)] @ u[held])
    return np.asarray(u, dtype=np.float64)


def _solution(A: Array, b: Array) -> Array:
    """A⁻¹ b; the shortest solution where A is singular to rounding."""
    try:
        return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])
