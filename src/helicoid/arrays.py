"""Arrays of numbers and names of files from what a caller gives, with errors that show the value."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import HelicoidError, InputError


def float_array(value: Any, rule: str, error: type[HelicoidError] = InputError) -> Array:
    """A value as a float64 array of real numbers, not copied where it is one.

    Raises:
        error: it is masked, complex, boolean, text or an object, or no array can be made of it; the message
            is the rule and the value.

    >>> float_array("fast", "speed must be numbers")
    Traceback (most recent call last):
    helicoid.errors.InputError: speed must be numbers; got 'fast'
    """
    if type(value) is np.ndarray and value.dtype == np.float64:  # of native byte order
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind in "iuf" and not np.ma.is_masked(value):
            return np.asarray(array, dtype=np.float64)
    except Exception:  # whatever `__array__` of a foreign type raises
        pass
    raise error(f"{rule}; got {shown(value)}")


def real_array(what: str, value: Any, copy: bool = True) -> Array:
    """A value as a float64 array of real numbers alone; without `copy` a float64 array is returned itself.

    Raises:
        InputError: it is masked, complex, boolean, text or an object, or no array can be made of it.
    """
    array = float_array(value, f"{what} must be numbers")
    return np.array(array) if copy else array


def real_number(
    value: Any, rule: str, low: float = -np.inf, high: float = np.inf, above: bool = False
) -> float:
    """One finite number from `low` to `high`, without `low` itself where it is to be `above`.

    Raises:
        InputError: the rule and the value.

    >>> real_number(-1, "rate is positive (Hz)", low=0, above=True)
    Traceback (most recent call last):
    helicoid.errors.InputError: rate is positive (Hz); got -1
    """
    array = float_array(value, rule)
    if array.shape == () and np.isfinite(array) and low <= array <= high and not (above and array == low):
        return float(array)
    raise InputError(f"{rule}; got {shown(value)}")


def file_name(path: Any) -> str:
    """The name of a file or folder.

    Raises:
        InputError: it is no text and no path.
    """
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(name, str) or "\0" in name:
        raise InputError(f"a file or folder is named by text or a path; got {shown(path)}")
    return name


def shown(value: Any) -> str:
    """A value in an error message: its text where it has one, and not all of it."""
    try:
        text = repr(value)
    except Exception:  # an int of thousands of digits, for one, has none
        text = f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:200]} ..."
