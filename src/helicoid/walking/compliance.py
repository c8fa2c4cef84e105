"""Compliance of the ground: how deep a load presses a foot into it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array

_MAX_SPEED = 0.02  # m/s: of feet that rest
_MEAN_TIME_CONSTANT = 0.2  # s: of the mean of load and height in a stance
_MEMORY = 20.0  # s of stance, after which samples have lost most of their weight
_PRIOR_TIME = 0.01  # s: of loads that vary by a foot's share of the weight, as much as the prior weighs
_MAX_DEPTH = 0.05  # m under a foot's share of the weight


class Compliance:
    """Estimate of the compliance c of the ground, z = z₀ - c f, from heights z and loads f of feet that rest.

    Least squares over the variations of both within a stance, with a prior of c = 0 and with forgetting: a
    foot that takes a larger part of the weight sinks deeper. Heights of different footholds are not
    compared, so that uneven ground does not count.

    Args:
        feet: their number.
        share: load of a foot when all stand (N).
    """

    def __init__(self, feet: int, share: float) -> None:
        self._feet, self._share = feet, share
        self.reset()

    def reset(self) -> None:
        """Begin with rigid ground."""
        self._z, self._f = np.zeros(self._feet), np.zeros(self._feet)
        self._rested: NDArray[np.bool_] = np.zeros(self._feet, bool)
        self._zf, self._ff = 0.0, _PRIOR_TIME * self._share**2

    @property
    def value(self) -> float:
        """c (m/N)."""
        return min(max(-self._zf / self._ff, 0.0), _MAX_DEPTH / self._share)

    def update(
        self, heights: Array, velocities: Array, loads: Array, standing: NDArray[np.bool_], dt: float
    ) -> None:
        """Take heights (m), vertical velocities (m/s) and loads (N) of the feet, of which some stand."""
        rests = standing & (np.abs(velocities) < _MAX_SPEED)
        begins = rests & ~self._rested
        self._z[begins], self._f[begins] = heights[begins], loads[begins]
        self._rested = (self._rested | rests) & standing  # a foot that moves for a while is the same stance
        z, f = heights[rests] - self._z[rests], loads[rests] - self._f[rests]
        gain, kept = min(1.0, dt / _MEAN_TIME_CONSTANT), 1.0 - dt / _MEMORY
        self._z[rests] += gain * z
        self._f[rests] += gain * f
        self._zf = kept * self._zf + dt * float(z @ f)
        self._ff = max(kept * self._ff, _PRIOR_TIME * self._share**2) + dt * float(f @ f)
