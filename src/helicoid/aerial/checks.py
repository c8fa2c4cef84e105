"""Checks of single numbers, with messages that name the quantity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError


def is_number(value: Any) -> bool:
    """Whether a value is one finite real number."""
    return isinstance(value, (int, float, np.integer, np.floating)) and math.isfinite(value)


def check_positive(what: str, value: Any, unit: str = "") -> None:
    """Refuse all but a finite number above zero: `check_positive("a propeller's radius", radius, "m")`."""
    if not (is_number(value) and value > 0):
        raise InputError(f"{what} is positive{_in(unit)}; got {value!r}")


def check_not_negative(what: str, value: Any, unit: str = "") -> None:
    """Refuse all but a finite number of zero or more."""
    if not (is_number(value) and value >= 0):
        raise InputError(f"{what} is 0 or more{_in(unit)}; got {value!r}")


def real_numbers(what: str, value: Any) -> Array:
    """An array of real numbers, as given; refuse all else."""
    try:
        array = np.asarray(value)
        if np.iscomplexobj(array):
            raise TypeError
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what}: numbers; got {value!r}") from None


def _in(unit: str) -> str:
    return f" ({unit})" if unit else ""
