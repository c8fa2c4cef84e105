"""The fit of simulated to measured positions: multi-start, windows without contact, covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.solving.estimators import autocorrelation_time
from helicoid.identification.logs.filtering import Mask
from helicoid.identification.refinement.elimination import solve
from helicoid.identification.refinement.multiple_shooting import Refinement, refine
from helicoid.identification.trajectory_matching.problem import TrajectoryMatching
from helicoid.identification.trajectory_matching.recording import Recording
from helicoid.identification.trajectory_matching.rollout import Rollouts
from helicoid.identification.trajectory_matching.scaling import scale_of
from helicoid.identification.trajectory_matching.servo import Servo
from helicoid.identification.trajectory_matching.tangent import moving_together
from helicoid.identification.trajectory_matching.trimming import WindowErrors
from helicoid.identification.trajectory_matching.unknowns import Coordinates, Unknowns
from helicoid.progress import Progress

_START_ITERATIONS = 6  # of each start, and between the choices of windows
_START_WINDOWS = 12  # about as many, from all of the log
_MAX_CHOICES = 6  # of the windows, while they are trimmed and after


@dataclass(frozen=True)
class Settings:
    """What stays the same from fit to fit."""

    servo: Servo | None
    unknowns: Unknowns
    horizon: float
    max_delay: float
    iterations: int
    substeps: int


class Fit(NamedTuple):
    """z and its covariance, the windows and joints (W, nv) that counted, and iterations of the last fit."""

    z: Array
    covariance: Array
    counted: Mask
    iterations: int


class _Refined(NamedTuple):
    problem: TrajectoryMatching
    found: Refinement
    residuals: Array


def best_start(settings: Settings, recording: Recording, starts: list[Array], report: Progress) -> Array:
    """The start whose output error is least, by some windows of all of the log."""
    if len(starts) == 1:
        return starts[0]
    some = recording.chosen(slice(None, None, max(1, len(recording.base) // _START_WINDOWS)))
    counted = np.ones((len(some.base), settings.unknowns.robot.nv), dtype=bool)
    trials = [_refined(settings, some, counted, z, _START_ITERATIONS, report) for z in starts]
    # A median: contact is in less than half of the windows.
    errors = [np.median(np.mean(trial.residuals**2, axis=1), axis=0) for trial in trials]
    return trials[int(np.argmin([np.sum(np.log(error + 1e-300)) for error in errors]))].found.x


def fit(settings: Settings, recording: Recording, z: Array, report: Progress, counted: Mask) -> Fit:
    """Output error of the windows without contact, from z and the windows and joints `counted` (W, nv)."""
    part = moving_together(settings.unknowns.parametric)

    def refined(iterations: int) -> tuple[_Refined, WindowErrors]:
        now = _refined(settings, recording, counted, z, iterations, report)
        return now, WindowErrors.of(now.residuals, counted, now.problem.floor(), part)

    now, errors = refined(settings.iterations)
    z = now.found.x
    trimmed = errors.unusual() if counted.all() else np.zeros(len(part), dtype=bool)
    for _ in range(_MAX_CHOICES if trimmed.any() else 0):
        before, counted = counted, errors.best(trimmed)
        if np.array_equal(before, counted):
            break
        now, errors = refined(_START_ITERATIONS)
        z = now.found.x
    for _ in range(_MAX_CHOICES):
        before, counted = counted, errors.regular()
        if np.array_equal(before, counted):
            break
        now, errors = refined(settings.iterations)
        z = now.found.x
    return Fit(z, _covariance(now, before), before, now.found.iterations)


def _covariance(now: _Refined, counted: Mask) -> Array:
    """Of z: residuals count as often as they are independent."""
    problem, found = now.problem, now.found
    time = _samples_for_one(now.residuals, counted)
    flow = problem.flow(found.point)
    sigma = np.maximum(found.deviations, problem.floor()) * np.sqrt(time)
    linear = problem.linearised(flow, problem.deviations(found.point, flow), sigma)
    xi = found.point.xi
    step = solve(linear, xi, problem.unknowns.spread, problem.unknowns.lower)
    D = problem.unknowns.slope(xi)
    return np.asarray(D @ step.covariance @ D.T)


def _samples_for_one(residuals: Array, counted: Mask) -> Array:
    """N / N_eff of each joint's residuals (W, K + 1, nv), where errors of the model count once a window.

    The coloured part of the residuals is what the model lacks, and as much of it may hide in the unknowns.
    Differences of neighbouring samples have twice the variance of the white part, and little else.
    """
    found = []
    for j, windows in enumerate(counted.T):
        own = residuals[windows, :, j].T
        white = np.mean(np.diff(own, axis=0) ** 2) / 2
        variance = max(float(np.mean(own**2)), 1e-300)
        coloured = np.clip(1.0 - white / variance - 3.0 / np.sqrt(own.size), 0.0, 1.0)
        found.append(max(float(np.median(autocorrelation_time(own))), 1.0 + coloured * (len(own) - 1)))
    return np.array(found)


def _refined(
    settings: Settings, recording: Recording, counted: Mask, z: Array, iterations: int, report: Progress
) -> _Refined:
    scale = scale_of(settings.unknowns, recording, z)
    coordinates = Coordinates(settings.unknowns, z, scale, settings.max_delay)
    rollouts = Rollouts(settings.unknowns, settings.servo, recording, settings.substeps)
    problem = TrajectoryMatching(rollouts, coordinates, counted)
    found = refine(problem, coordinates.spread, iterations, report)
    return _Refined(problem, found, problem.residuals(problem.flow(found.point, False)))
