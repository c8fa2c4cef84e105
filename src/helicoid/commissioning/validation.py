"""Validation of an identified robot on a motion that was not fitted; thresholds of the observer from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from helicoid._typing import Array
from helicoid.commissioning.controllers import momentum_observer
from helicoid.commissioning.plant.recording import Recording
from helicoid.commissioning.status import CommissioningStatus, CommissioningStopped
from helicoid.control import MomentumObserver
from helicoid.identification.logs.filtering import low_pass
from helicoid.identification.logs.log import Log
from helicoid.identification.result import Identification

LEVEL = 0.95
MIN_COVERAGE = 0.8  # of the prediction interval, at every joint
MAX_RELATIVE_ERROR = 0.25  # of the torque, at a joint whose interval does not cover its measurements
FLOOR_FACTOR = 1.5  # of the observer's largest residual on a motion without contact

_CALIBRATED_SHARE = 0.6  # of the motion; alarms are counted on the rest
_NORMAL_PER_MEDIAN = 1.4826  # standard deviation over the median absolute deviation
_SETTLING = 5.0  # time constants of the observer at the start that count for nothing


@dataclass(frozen=True, eq=False)
class Validation:
    """Predicted against measured torques of a new motion, by joint.

    `coverage` is the share of samples within the 95 % prediction interval, `relative` the error over the
    torque, both low-passed, `tracking` the RMS of the tracking error (rad, m), `speeds` the largest
    velocities (rad/s, m/s).
    """

    names: tuple[str, ...]
    t: Array
    measured: Array
    predicted: Array
    lower: Array
    upper: Array
    coverage: Array
    relative: Array
    described: Array
    tracking: Array
    largest_error: Array
    speeds: Array
    noise_v: Array
    noise_tau: Array


def validate(result: Identification, recording: Recording) -> Validation:
    """Compare the predictions of a result with a recording that was not fitted.

    Raises:
        CommissioningStopped: a joint's torque is neither predicted nor within its interval.
    """
    log = recording.log("validation motion")
    predicted = result.predict(log)
    assert log.tau is not None
    lower, upper = interval(result, log)
    error = recording.error()
    smooth = low_pass(log.tau, log.rate, result.cutoff)  # feedback of the velocities' noise is no model error
    found = Validation(
        tuple(result.regression.row_names),
        recording.t,
        log.tau,
        predicted,
        lower,
        upper,
        np.mean((log.tau >= lower) & (log.tau <= upper), axis=0),
        _relative(smooth, predicted),
        _relative(smooth, described_torque(result, log)),
        np.sqrt(np.mean(error**2, axis=0)),
        np.abs(error).max(axis=0),
        np.abs(recording.v_ref).max(axis=0),
        noise(recording.v),
        noise(log.tau),
    )
    wrong = np.flatnonzero((found.coverage < MIN_COVERAGE) & (found.relative > MAX_RELATIVE_ERROR))
    if len(wrong):
        k = int(wrong[0])
        raise CommissioningStopped(
            CommissioningStatus.FAILED_VALIDATION,
            f"the torque of {found.names[k]!r} is {100 * found.relative[k]:.0f} % off on a motion that was "
            f"not fitted, and {100 * found.coverage[k]:.0f} % of it within the {100 * LEVEL:.0f} % interval",
            recording,
        )
    return found


def interval(result: Identification, log: Log) -> tuple[Array, Array]:
    """Bounds of the measured torques of a log (N, nv) at a probability of `LEVEL`, for its own noise.

    Under feedback the noise of the torques is that of the velocities times the gains, which have changed with
    the model since the log that was fitted: `prediction_interval` has the noise of that one.
    """
    assert log.tau is not None
    lower, upper = result.prediction_interval(log, LEVEL)
    fitted = [_above(one.tau, one.rate, result.cutoff) for one in result.logs if one.tau is not None]
    own, before = _above(log.tau, log.rate, result.cutoff), np.sqrt(np.mean(np.square(fitted), axis=0))
    reach = float(norm.ppf((1 + LEVEL) / 2))
    square = ((upper - lower) / 2) ** 2 + reach**2 * (own**2 - before**2)
    half, middle = np.sqrt(np.maximum(square, (reach * own) ** 2)), (lower + upper) / 2
    return middle - half, middle + half


def _above(tau: Array, rate: float, cutoff: float | None) -> Array:
    """Robust standard deviation of torques (N, nv) above a cutoff (Hz)."""
    x = tau - low_pass(tau, rate, cutoff)
    return np.asarray(_NORMAL_PER_MEDIAN * np.median(np.abs(x - np.median(x, axis=0)), axis=0))


def described_torque(result: Identification, log: Log) -> Array:
    """Torques (N, nv) that the description predicts along a log, with the motion filtered alike."""
    from helicoid.identification.logs.preparation import motion

    torque = np.zeros((len(log), result.nominal.nv))
    for part, even, (q, v, a) in motion(result.nominal, log, result.cutoff):
        tau = np.asarray(result.nominal.inverse_dynamics(q, v, a, friction=True))
        torque[part] = even.back(tau)[: part.stop - part.start]
    return torque


def noise(x: Array) -> Array:
    """Standard deviation of the white noise of samples (N, n), from their second differences."""
    second = np.diff(x, 2, axis=0)
    return np.asarray(_NORMAL_PER_MEDIAN * np.median(np.abs(second), axis=0) / np.sqrt(6.0) + 1e-12)


@dataclass(frozen=True, eq=False)
class ObserverThresholds:
    """An observer, the least torque that it detects at each joint on average (N·m, N), and false alarms.

    Alarms are counted on the last part of the validation motion, which did not set the thresholds.
    """

    observer: MomentumObserver
    detects: Array
    alarms: int


def observer_thresholds(
    result: Identification, validation: Validation, recording: Recording, period: float
) -> ObserverThresholds:
    """Thresholds of a momentum observer from the noise and its residual on a motion without contact."""
    error = float(np.clip(np.median(validation.relative), 0.01, 0.1))
    settings = result.robot, period, validation.noise_v, validation.noise_tau, error
    observer = momentum_observer(*settings, floor=np.full(result.robot.nv, 1e-6))
    n, first = len(recording), round(_SETTLING / (observer.number("gain").max() * period))
    end = max(round(_CALIBRATED_SHARE * n), first + 1)
    r, threshold = _run(observer, recording, 0, n)
    excess = (np.abs(r) - threshold)[first:end].max(axis=0)
    floor = np.maximum(FLOOR_FACTOR * np.maximum(excess, 0), 1e-3 * result.robot.limits.effort)
    observer.set(floor=floor)
    observer.reset()
    above = np.abs(r[end:]) > (threshold + floor)[end:]
    starts = np.flatnonzero(np.diff(np.any(above, axis=1).astype(int), prepend=0) > 0)
    if len(starts):  # cover all of the motion: then nothing is left to count on
        excess = (np.abs(r) - threshold)[first:].max(axis=0)
        observer.set(floor=np.maximum(floor, FLOOR_FACTOR * excess))
    detects = (threshold[first:] + observer.number("floor")).mean(axis=0)
    return ObserverThresholds(observer, detects, len(starts))


def _run(observer: MomentumObserver, recording: Recording, begin: int, end: int) -> tuple[Array, Array]:
    """Residuals and thresholds along a recording."""
    rows = []
    for q, v, tau in zip(recording.q, recording.v, recording.command, strict=True):
        r = observer.step(q, v, tau)
        rows.append((r, observer.threshold.copy()))
    r, threshold = (np.array(x)[begin:end] for x in zip(*rows, strict=True))
    return r, threshold


def _relative(measured: Array, predicted: Array) -> Array:
    size = np.sqrt(np.mean(measured**2, axis=0))
    return np.asarray(np.sqrt(np.mean((measured - predicted) ** 2, axis=0)) / np.maximum(size, 1e-12))
