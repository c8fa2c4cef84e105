"""Limits and freshness of samples, watched during a motion."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning.plant.protocol import PlantSample
from helicoid.commissioning.plant.recording import deviation_limit
from helicoid.commissioning.status import CommissioningStatus, CommissioningStopped
from helicoid.robot import Robot

_LOOK_AHEAD = 0.1  # s: by which a growing tracking error is extrapolated
_MAX_VELOCITY_ERROR = 0.5  # of the velocity limit
_MAX_REPEATED = 0.02, 0.05  # s: of one sample, while its velocity, or while commands say that it must change
_MIN_REPEATED = 3  # samples
_MIN_TIMED, _MAX_TIME_ERROR = 0.1, 0.1  # s, and share: of the time that samples state
_MIN_MOVED = 5e-3  # rad, m: that the velocity of a repeated sample says
_MIN_COMMANDED = 0.02  # of the effort: change of the commands under a repeated sample


class LimitMonitor:
    """Stops a motion before a limit: position, velocity, and the deviation from its reference."""

    def __init__(self, robot: Robot, start: Array) -> None:
        limits, self._names = robot.limits, robot.model.velocity_names
        self._velocity, self._deviation = limits.velocity, deviation_limit(robot)
        # A joint that sagged beyond a limit has to move there, to come back.
        slack = self._deviation / 2
        self._lower = np.where(start < limits.lower, start - slack, limits.lower)
        self._upper = np.where(start > limits.upper, start + slack, limits.upper)

    def check(self, t: float, q: Array, v: Array, q_ref: Array, v_ref: Array) -> None:
        """Compare a sample with the limits.

        Raises:
            CommissioningStopped: one is reached, or will be within a tenth of a second.
        """
        ahead = q + _LOOK_AHEAD * (v - v_ref)
        excess = {
            "leaves its position limits": np.maximum(ahead - self._upper, self._lower - ahead),
            "exceeds its velocity limit": np.abs(v) - self._velocity,
            "is too far from its reference": np.abs(q - q_ref) - self._deviation,
            "is faster than its reference": np.abs(v - v_ref) - _MAX_VELOCITY_ERROR * self._velocity,
        }
        for what, by in excess.items():
            k = int(np.argmax(by))
            if by[k] > 0:
                raise CommissioningStopped(
                    CommissioningStatus.LIMIT_REACHED,
                    f"{self._names[k]!r} {what} at {t:.3f} s (q {q[k]:.4g}, reference {q_ref[k]:.4g}, "
                    f"v {v[k]:.3g})",
                )


class FreshnessMonitor:
    """Stops a motion whose samples repeat, bit by bit, although they must change, or come at other times.

    They must change where their own velocity says so, and the measured torque where commands change.
    """

    def __init__(self, robot: Robot, period: float) -> None:
        self._effort, self._period = robot.limits.effort, period
        self._last: PlantSample | None = None
        self._begin = (0.0, np.nan)
        self._count, self.stale = 0, False
        self._low = self._high = np.zeros(robot.nv)

    def check(self, t: float, sample: PlantSample, commanded: Array) -> None:
        """Compare a sample, and the last command, with those before.

        Raises:
            CommissioningStopped: samples repeat for too long.
        """
        self._check_time(t, sample.t)
        last, self._last = self._last, sample
        if last is None or not (np.array_equal(last.q, sample.q) and np.array_equal(last.v, sample.v)):
            self._count, self._low, self._high = 0, commanded, commanded
            return
        self._count += 1
        self._low, self._high = np.minimum(self._low, commanded), np.maximum(self._high, commanded)
        seconds = self._count * self._period
        if self._count < _MIN_REPEATED or seconds < _MAX_REPEATED[0]:
            return
        moves = np.abs(sample.v).max() * seconds > _MIN_MOVED
        held = np.array_equal(last.tau, sample.tau) and bool(np.any(sample.tau))
        driven = bool(np.any(self._high - self._low > _MIN_COMMANDED * self._effort))
        if moves or (held and driven and seconds > _MAX_REPEATED[1]):
            self.stale = True
            raise CommissioningStopped(
                CommissioningStatus.BAD_MEASUREMENT,
                f"measure() has repeated the same sample for {1e3 * seconds:.0f} ms at {t:.3f} s, while "
                + ("its velocity is not zero" if moves else "the commands changed"),
            )

    def _check_time(self, t: float, measured: float) -> None:
        begin, first = self._begin
        if not np.isfinite(first):
            self._begin = t, measured
            return
        passed, wanted = measured - first, t - begin
        if wanted > _MIN_TIMED and np.isfinite(passed) and abs(passed - wanted) > _MAX_TIME_ERROR * wanted:
            raise CommissioningStopped(
                CommissioningStatus.BAD_MEASUREMENT,
                f"samples are {1e3 * self._period * passed / wanted:.3g} ms apart at {t:.3f} s, by their own "
                f"times; period says {1e3 * self._period:.3g} ms",
            )
