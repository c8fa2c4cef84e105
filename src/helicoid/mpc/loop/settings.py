"""Checks of the settings of a controller."""

from __future__ import annotations

from numbers import Real

import numpy as np

from helicoid.errors import InputError


def check_times(budget: float | None, disturbance_time: float | None) -> None:
    """Refuse times (s) that are not positive; the second one is also finite."""
    finite = float(np.finfo(float).max)
    for name, value, largest in (("budget", budget, np.inf), ("disturbance_time", disturbance_time, finite)):
        if value is not None and not (isinstance(value, Real) and 0 < float(value) <= largest):
            also = ', "auto"' if name == "disturbance_time" else ""
            raise InputError(f"{name} is a positive time (s){also} or None, got {value!r}")


def at_least_one(iterations: int) -> int:
    """A number of iterations."""
    if iterations < 1:
        raise InputError(f"iterations must be at least 1, got {iterations}")
    return int(iterations)
