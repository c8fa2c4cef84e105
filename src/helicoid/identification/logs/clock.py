"""The clock of a log: gaps, jitter, and whether the time stamps or the samples themselves are even."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from helicoid._typing import Array
from helicoid.identification.logs.filtering import derivative
from helicoid.identification.logs.log import Log

_GAP = 5.0  # median periods
_JITTER = 0.01  # of a period: stamps that are less uneven than this are even


@dataclass(frozen=True, eq=False, repr=False)
class Clock:
    """An even clock for one stretch of a log without gaps.

    `t` (M,) are the even times, `stamps` (N,) the times that the samples are taken to have. Where stamps and
    even times agree, the samples are used as they are.
    """

    t: Array
    stamps: Array
    rate: float
    resampled: bool

    def onto(self, x: Array) -> Array:
        """Samples (N, ...) brought onto the even times."""
        if not self.resampled:
            return x
        from scipy.interpolate import CubicSpline

        return np.asarray(CubicSpline(self.stamps, x, axis=0)(self.t))

    def back(self, x: Array) -> Array:
        """Values at the even times (M, ...) brought back to the samples."""
        if not self.resampled:
            return x
        from scipy.interpolate import CubicSpline

        return np.asarray(CubicSpline(self.t, x, axis=0)(self.stamps))


def stretches(log: Log) -> list[slice]:
    """The parts of a log between gaps: places where several samples in a row are missing."""
    steps = np.diff(log.t)
    ends = np.flatnonzero(steps > _GAP * np.median(steps)) + 1
    edges = [0, *(int(end) for end in ends), len(log)]
    return [slice(start, end) for start, end in pairwise(edges)]


def clock(log: Log) -> tuple[Clock, str]:
    """An even clock for a log without gaps, and a sentence on what was found (empty if nothing)."""
    t = log.t
    even = np.linspace(t[0], t[-1], len(t))
    rate = (len(t) - 1) / (t[-1] - t[0])
    jitter = float(np.max(np.abs(np.diff(t) * rate - 1.0)))
    if jitter <= _JITTER:
        return Clock(even, even, rate, False), ""
    if _stamps_mislead(log, even, rate):
        return Clock(even, even, rate, False), (
            f"The time stamps jitter by up to {100 * jitter:.0f} % of a period but the signals do not: the "
            f"samples are taken as even, at {rate:.6g} Hz."
        )
    return Clock(even, t, rate, True), (
        f"The clock jitters by up to {100 * jitter:.0f} % of a period: the signals were resampled at an even "
        f"{rate:.6g} Hz."
    )


def _stamps_mislead(log: Log, even: Array, rate: float) -> bool:
    """Whether q is smoother over the sample number than over the time stamps.

    Stamps that are true make q, resampled, smoother; stamps that jitter on their own make it rougher.
    """
    from scipy.interpolate import CubicSpline

    def roughness(q: Array) -> Array:
        return np.median(np.abs(derivative(derivative(derivative(q, rate), rate), rate)), axis=0)

    resampled = np.asarray(CubicSpline(log.t, log.q, axis=0)(even))
    as_given, as_stamped = roughness(np.asarray(log.q)), roughness(resampled)
    return bool(np.mean(np.log((as_given + 1e-300) / (as_stamped + 1e-300))) < 0)
