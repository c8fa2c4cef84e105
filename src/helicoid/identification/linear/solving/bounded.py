"""Quadratic functions with lower bounds, such as friction that is not negative."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from helicoid._typing import Array
from helicoid.identification.logs.filtering import Mask

_MAX_EXCHANGES = 10  # after as many, no element is released from its bound any more
_TOLERANCE = 1e-9  # of the largest gradient


def bounded_minimum(A: Array, b: Array, least: Array) -> Array:
    """min uᵀA u - 2 bᵀu with u >= least, by block principal pivoting (Kim and Park 2011)."""

    def minimum(free: Mask, u: Array) -> Array:
        return _solution(A[np.ix_(free, free)], b[free] - A[np.ix_(free, ~free)] @ u[~free])

    return _pivoted(minimum, lambda u: A @ u - b, float(np.abs(b).max(initial=0.0)), least)


def bounded_least_squares(R: Array, z: Array, least: Array) -> Array:
    """min ‖R u - z‖² with u >= least, by the same method without RᵀR, whose conditioning is squared."""

    def minimum(free: Mask, u: Array) -> Array:
        return np.asarray(np.linalg.lstsq(R[:, free], z - R[:, ~free] @ u[~free], rcond=1e-12)[0])

    return _pivoted(minimum, lambda u: R.T @ (R @ u - z), float(np.abs(R.T @ z).max(initial=0.0)), least)


def _pivoted(
    minimum: Callable[[Mask, Array], Array], gradient: Callable[[Array], Array], size: float, least: Array
) -> Array:
    """u, from `minimum` over its free elements for others that are held at their bounds.

    Elements below their bounds are held, those that the gradient draws away from it are released.
    """
    free, u = np.ones(len(least), dtype=bool), np.zeros(len(least))
    u[free] = minimum(free, u)
    for exchange in range(2 * _MAX_EXCHANGES):
        below = u < least - 1e-12
        drawn = ~free & (gradient(u) < -_TOLERANCE * size) & (exchange < _MAX_EXCHANGES)
        if not (below | drawn).any():
            break
        free = (free & ~below) | drawn
        u = np.where(free, 0.0, least)
        u[free] = minimum(free, u)
    return np.maximum(u, least)


def _solution(A: Array, b: Array) -> Array:
    """A⁻¹ b; the shortest solution where A is singular to rounding."""
    try:
        return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])
