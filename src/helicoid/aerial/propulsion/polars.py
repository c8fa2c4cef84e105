"""Airfoil polars as tables over the angle of attack and the Reynolds number."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.errors import InputError

_STALL_BLEND = 0.2
"""Angle (rad) beyond the table over which its ends blend into a flat plate."""


class Polars:
    """Airfoil by tables of c_l and c_d, measured or computed, such as polars of XFOIL.

    Args:
        alpha: angles of attack (rad), ascending.
        reynolds: Reynolds numbers, ascending; one or more.
        lift, drag: c_l and c_d, (angles, Reynolds numbers); one column may be given as a vector.

    Interpolation is linear in α and in the logarithm of the Reynolds number, which is held at the ends of the
    table. Beyond its angles lift and drag blend into those of a flat plate, sin 2α and 2 sin²α. Lift is
    divided by √(1 - Ma²) (Prandtl and Glauert).

    >>> import numpy as np
    >>> lift = [[-0.2, -0.3], [0.3, 0.4], [0.8, 1.0]]
    >>> foil = Polars([-0.1, 0.0, 0.1], [2e4, 1e5], lift, np.full((3, 2), 0.03))
    >>> lift, drag = foil.coefficients(np.array([0.05]), 1e5, 0.0)
    >>> print(lift.round(3), drag.round(3))
    [0.7] [0.03]
    """

    def __init__(self, alpha: ArrayLike, reynolds: ArrayLike, lift: ArrayLike, drag: ArrayLike) -> None:
        try:
            a, Re = (np.atleast_1d(np.array(x, dtype=np.float64)) for x in (alpha, reynolds))
            tables = [np.array(x, dtype=np.float64) for x in (lift, drag)]
        except (TypeError, ValueError):
            raise InputError("polars are numbers: alpha (rad), reynolds, lift and drag") from None
        tables = [x[:, None] if x.ndim == 1 else x for x in tables]
        if a.ndim != 1 or Re.ndim != 1 or len(a) < 2 or any(x.shape != (len(a), len(Re)) for x in tables):
            raise InputError("polars: lift and drag have one row an angle and one column a Reynolds number")
        if not all(np.isfinite(x).all() for x in (a, Re, *tables)):
            raise InputError("polars: all numbers are finite")
        if np.any(np.diff(a) <= 0) or np.any(np.diff(Re) <= 0) or Re[0] <= 0 or np.abs(a).max() > np.pi / 2:
            raise InputError("polars: alpha ascends within ±π/2 (rad), reynolds ascend from above 0")
        if np.any(tables[1] <= 0):
            raise InputError("polars: drag coefficients are positive")
        self.alpha, self.reynolds, (self.lift, self.drag) = a, Re, tables

    def __repr__(self) -> str:
        return f"Polars({len(self.alpha)} angles, {len(self.reynolds)} Reynolds numbers)"

    def coefficients(self, alpha: Array, reynolds: Array | float, mach: Array | float) -> tuple[Array, Array]:
        """c_l and c_d at angles of attack (rad)."""
        alpha, Re = np.broadcast_arrays(np.asarray(alpha, np.float64), np.asarray(reynolds, np.float64))
        held = np.clip(alpha, self.alpha[0], self.alpha[-1])
        i, s = _cell(self.alpha, held)
        if len(self.reynolds) > 1:
            x = np.log(np.clip(Re, self.reynolds[0], self.reynolds[-1]))
            j, t = _cell(np.log(self.reynolds), x)
        else:
            j, t = np.zeros(alpha.shape, int), np.zeros(alpha.shape)
        k = np.minimum(j + 1, len(self.reynolds) - 1)
        c_l, c_d = (
            (1 - t) * ((1 - s) * c[i, j] + s * c[i + 1, j]) + t * ((1 - s) * c[i, k] + s * c[i + 1, k])
            for c in (self.lift, self.drag)
        )
        c_l = c_l / np.sqrt(1 - np.minimum(mach, 0.95) ** 2)
        plate = np.clip(np.abs(alpha - held) / _STALL_BLEND, 0.0, 1.0)
        c_l = (1 - plate) * c_l + plate * np.sin(2 * alpha)
        return c_l, np.maximum(c_d, (1 - plate) * c_d + plate * 2 * np.sin(alpha) ** 2)


def _cell(knots: Array, x: Array) -> tuple[NDArray[np.intp], Array]:
    """Index of the interval of x, and the fraction of it."""
    i = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    return i, (x - knots[i]) / (knots[i + 1] - knots[i])
