"""Residuals by the speed of the joint: near rest, dry friction has no certain sign, and errors are larger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array

_SHARES = 0.01, 0.03, 0.1, 0.3  # of the samples, the slowest first: bounds of the classes
_MIN_SAMPLES = 20  # in a class


@dataclass(frozen=True, eq=False)
class ResidualProfile:
    """Mean square of the residual of each row by the speed of its joint.

    `speeds` (K - 1, rows) separate the classes, of which `squares` (K, rows) are the mean squares.
    """

    speeds: Array
    squares: Array

    @staticmethod
    def of(v: Array, residual: Array) -> ResidualProfile:
        """The profile of residuals (N, rows) at velocities (N, rows).

        >>> v = np.array([[0.0], [1.0]] * 500)
        >>> profile = ResidualProfile.of(v, np.where(v == 0, 3.0, 1.0))
        >>> profile.at(np.array([[0.0], [0.5], [2.0]])).ravel().tolist()
        [9.0, 1.0, 1.0]
        """
        n, speed = len(v), np.abs(v)
        shares = [share for share in _SHARES if share * n >= _MIN_SAMPLES]
        speeds = np.quantile(speed, shares, axis=0) if shares else np.zeros((0, v.shape[1]))
        squares = np.zeros((len(shares) + 1, v.shape[1]))
        for row in range(v.shape[1]):
            own = _classes(speeds[:, row], speed[:, row])
            filled = np.unique(own)
            found = [np.mean(residual[own == k, row] ** 2) for k in filled]
            squares[:, row] = np.interp(range(len(squares)), filled, found)  # ties leave classes empty
        return ResidualProfile(speeds, squares)

    def at(self, v: Array) -> Array:
        """Mean squares (N, rows) at velocities (N, rows)."""
        pairs = zip(self.speeds.T, self.squares.T, np.abs(v).T, strict=True)
        return np.column_stack([squares[_classes(bounds, speed)] for bounds, squares, speed in pairs])


def _classes(bounds: Array, speed: Array) -> NDArray[np.intp]:
    """Class of each speed; a bound belongs to the slower class."""
    return np.searchsorted(bounds, speed, side="left")
