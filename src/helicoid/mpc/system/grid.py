"""The times of a problem's nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError


def node_times(horizon: int | None, dt: float | None, grid: ArrayLike | None) -> Array:
    """From a number of intervals and their length (s), or from the times themselves."""
    if grid is not None:
        if horizon is not None or dt is not None:
            raise InputError("give either a grid, or horizon and dt")
        try:
            times = np.asarray(grid, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"grid must be increasing times (s) that start at zero; got {grid!r}") from error
        if times.ndim != 1 or len(times) < 2 or times[0] != 0 or not np.all(np.diff(times) > 0):
            raise InputError("grid must be increasing times (s) that start at zero")
        if not np.isfinite(times).all():
            raise InputError("grid must be finite times (s)")
        return np.asarray(times)
    whole = isinstance(horizon, (int, np.integer)) and horizon >= 1
    if not whole or dt is None or not 0 < dt < np.inf:
        raise InputError(
            f"horizon (an integer, at least 1) and dt (s, positive) are needed; got {horizon!r} and {dt!r}"
        )
    assert horizon is not None
    return np.asarray(np.arange(horizon + 1) * float(dt), dtype=np.float64)
