"""Quadratic functions with lower bounds, such as friction that is not negative."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array

_ACTIVE_SET_ITERATIONS = 5


def bounded_minimum(A: Array, b: Array, least: Array) -> Array:
    """min uᵀA u - 2 bᵀu with u >= least, by a few iterations of an active-set method."""
    held = np.zeros(len(b), dtype=bool)
    u = np.linalg.solve(A, b)
    for _ in range(_ACTIVE_SET_ITERATIONS):
        below = u < least - 1e-12
        if not below.any():
            break
        held |= below
        free = ~held
        u = np.where(held, least, 0.0)
        u[free] = np.linalg.solve(A[np.ix_(free, free)], b[free] - A[np.ix_(free, held)] @ u[held])
    return np.asarray(u, dtype=np.float64)
