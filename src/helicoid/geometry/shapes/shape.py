"""Base class of shapes, and checks of their numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from helicoid._typing import Array
from helicoid.arrays import float_array, shown
from helicoid.errors import InputError


class Shape:
    """A closed set of points in a frame of its own (m).

    Attributes:
        kind: the name of the class in lower case with underscores: "box", "point_cloud".
    """

    kind: ClassVar[str] = ""

    @property
    def bounds(self) -> Array:
        """Axis-aligned bounding box (2, 3): its lowest and its highest corner; infinite for a half-space."""
        raise NotImplementedError

    @property
    def bounding_ball(self) -> tuple[Array, float]:
        """Centre (3) and radius of a ball that contains the shape; infinite for a half-space."""
        low, high = self.bounds
        if not np.all(np.isfinite(high - low)):
            return np.zeros(3), np.inf
        return (low + high) / 2, float(np.linalg.norm(high - low)) / 2


def length(what: str, value: Any) -> float:
    """A finite length above zero (m).

    Raises:
        InputError: it is none.
    """
    real = isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))
    if not real or not 0 < float(value) < np.inf:
        raise InputError(f"the {what} is a length (m) above zero; got {shown(value)}")
    return float(value)


def vector(what: str, value: Any) -> tuple[float, float, float]:
    """Three finite numbers.

    Raises:
        InputError: it is something else.
    """
    array = float_array(value, f"the {what} has three numbers")
    if array.shape != (3,) or not np.all(np.isfinite(array)):
        raise InputError(f"the {what} has three finite numbers; got {shown(value)}")
    x, y, z = array.tolist()
    return x, y, z


def points_array(what: str, value: Any) -> Array:
    """Finite points (n, 3), read-only, one at least.

    Raises:
        InputError: they are none; the message has the first row that is not finite.
    """
    array = float_array(value, f"the {what} are points (n, 3), in numbers")
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise InputError(f"the {what} are points (n, 3), one at least; got shape {array.shape}")
    if not np.isfinite(array.sum()):  # cheap for millions of points
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
        if len(bad):
            raise InputError(
                f"the {what} are finite; {len(bad)} of {len(array)} are not, the first is row {bad[0]}: "
                f"{array[bad[0]]}"
            )
    array = np.array(array, order="C")
    array.setflags(write=False)
    return array
