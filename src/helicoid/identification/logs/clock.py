"""The clock of a log: gaps, jitter, and whether the time stamps or the samples themselves are even."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from helicoid._typing import Array
from helicoid.identification.logs.filtering import bandwidth, derivative
from helicoid.identification.logs.log import Log

_MIN_GAP_PERIODS = 5.0  # median periods
_MIN_GAP_OF_MOTION = 0.03  # periods of the fastest motion
_ERROR_TIE = 1.1  # ratio to the error of the best clock, within which a simpler one is taken
_VELOCITY_WINDOW = 0.05  # s over which velocities are integrated
_DRIFT_WINDOW = 101  # samples over which a counted clock follows the stamps
_MAX_JITTER = 0.01  # of a period: stamps with less are even


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
    """The parts of a log between gaps: times without samples that are long for the motion."""
    steps = np.diff(log.t)
    period = float(np.median(steps))
    ends = np.flatnonzero(steps > _MIN_GAP_PERIODS * period) + 1
    if len(ends):
        band = bandwidth(np.asarray(log.q), 1.0 / period) if len(log) > 8 else 0.0
        longest = _MIN_GAP_OF_MOTION / band if band > 0 else 0.0
        ends = ends[steps[ends - 1] > max(_MIN_GAP_PERIODS * period, longest)]
    edges = [0, *(int(end) for end in ends), len(log)]
    return [slice(start, end) for start, end in pairwise(edges)]


def clock(log: Log) -> tuple[Clock, str]:
    """An even clock for a log without gaps, and a sentence on what was found (empty if nothing).

    Three clocks are tried where stamps are uneven: samples that are even, stamps that are so many whole
    periods apart (samples were lost), stamps as they are. The one is taken with which integrated velocities
    match positions best or, without velocities, positions are smoothest; of several within 10 %, the first.
    """
    t = log.t
    even = np.linspace(t[0], t[-1], len(t))
    rate = (len(t) - 1) / (t[-1] - t[0])
    jitter = float(np.max(np.abs(np.diff(t) * rate - 1.0)))
    if jitter <= _MAX_JITTER:
        return Clock(even, even, rate, False), ""
    candidates = [even, _counted(t), np.asarray(t)]
    errors = [_disagreement(log, stamps) for stamps in candidates]
    best = next(k for k, error in enumerate(errors) if error <= _ERROR_TIE * min(errors))
    if best == 0:
        return Clock(even, even, rate, False), (
            f"The time stamps jitter by up to {100 * jitter:.0f} % of a period but the signals do not: the "
            f"samples are taken as even, at {rate:.6g} Hz."
        )
    how = ", samples are missing and stamps were taken as whole periods apart" if best == 1 else ""
    return Clock(even, candidates[best], rate, True), (
        f"The clock jitters by up to {100 * jitter:.0f} % of a period{how}: the signals were "
        f"resampled at an even {rate:.6g} Hz."
    )


def _counted(t: Array) -> Array:
    """Stamps that are whole periods apart, as many as the steps of t are long, and drift as t does."""
    steps = np.diff(t)
    counts = np.maximum(1.0, np.round(steps / np.median(steps)))
    index = np.concatenate([[0.0], np.cumsum(counts)])
    line = np.polyval(np.polyfit(index, t, 1), index)
    half = min(_DRIFT_WINDOW, len(t)) // 2
    total = np.concatenate([[0.0], np.cumsum(t - line)])
    low, high = np.arange(len(t)) - half, np.arange(len(t)) + half + 1
    low, high = low.clip(0), high.clip(max=len(t))
    stamps = line + (total[high] - total[low]) / (high - low)
    return stamps if np.all(np.diff(stamps) > 0) else np.asarray(t)


def _disagreement(log: Log, stamps: Array) -> float:
    """Difference of positions from integrated velocities over short windows; or roughness without these."""
    from scipy.interpolate import CubicSpline

    q = np.asarray(log.q)
    if log.v is None or log.v.shape != q.shape:
        even = np.linspace(stamps[0], stamps[-1], len(stamps))
        rate = (len(even) - 1) / (even[-1] - even[0])
        resampled = np.asarray(CubicSpline(stamps, q, axis=0)(even))
        third = derivative(derivative(derivative(resampled, rate), rate), rate)
        return float(np.exp(np.mean(np.log(np.median(np.abs(third), axis=0) + 1e-300))))
    v = np.asarray(log.v)
    grown = np.vstack(
        [np.zeros((1, v.shape[1])), np.cumsum((v[1:] + v[:-1]) / 2 * np.diff(stamps)[:, None], axis=0)]
    )
    m = max(2, min(len(q) // 4, round(_VELOCITY_WINDOW * len(q) / (stamps[-1] - stamps[0]))))
    off = (q[m:] - q[:-m]) - (grown[m:] - grown[:-m])
    off -= np.mean(off, axis=0)
    return float(np.exp(np.mean(np.log(np.sqrt(np.mean(off**2, axis=0)) + 1e-300))))
