"""The fit of simulated to measured positions: multi-start, windows without contact, covariance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.logs.filtering import Mask
from helicoid.identification.refinement.multiple_shooting import Refinement, refine
from helicoid.identification.trajectory_matching.covariance import covariance
from helicoid.identification.trajectory_matching.problem import TrajectoryMatching
from helicoid.identification.trajectory_matching.recording import Recording
from helicoid.identification.trajectory_matching.rollouts.dry_friction import DryFrictionKind
from helicoid.identification.trajectory_matching.rollouts.rollout import Rollouts
from helicoid.identification.trajectory_matching.rollouts.tangent import moving_together
from helicoid.identification.trajectory_matching.scaling import scale_of
from helicoid.identification.trajectory_matching.servo import Servo
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
    dry_friction: DryFrictionKind = "exact"

    def rollouts(self, recording: Recording) -> Rollouts:
        """Simulations of the windows of a recording."""
        return Rollouts(self.unknowns, self.servo, recording, self.substeps, self.dry_friction)


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
    some = _some(recording)
    windows = recording.chosen(some)
    counted = np.ones((len(windows.base), settings.unknowns.robot.nv), dtype=bool)
    trials = [_refined(settings, windows, counted, z, _START_ITERATIONS, report) for z in starts]
    # A median: contact is in less than half of the windows.
    errors = [np.median(np.mean(trial.residuals**2, axis=1), axis=0) for trial in trials]
    return trials[int(np.argmin([np.sum(np.log(error + 1e-300)) for error in errors]))].found.x


def with_dry_friction(
    settings: Settings, recording: Recording, first: Fit, kind: DryFrictionKind, report: Progress
) -> tuple[Fit, float]:
    """The fit with another kind of dry friction, and its output error over that of the first.

    By some of the windows that count for the first, which is returned where it is better.
    """
    some, other = _some(recording), replace(settings, dry_friction=kind)
    windows, counted = recording.chosen(some), first.counted[some]
    trials = [
        _refined(own, windows, counted, first.z, _START_ITERATIONS, report) for own in (settings, other)
    ]
    before, after = (
        (np.sum(np.mean(trial.residuals**2, axis=1), axis=0, where=counted) + 1e-300) for trial in trials
    )
    ratio = float(np.exp(np.mean(np.log(after / before)) / 2))
    if not ratio < 1.0:
        return first, ratio
    return fit(other, recording, trials[1].found.x, report, np.ones_like(first.counted)), ratio


def _some(recording: Recording) -> slice:
    return slice(None, None, max(1, len(recording.base) // _START_WINDOWS))


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
    return Fit(z, covariance(now.problem, now.found, now.residuals, before), before, now.found.iterations)


def _refined(
    settings: Settings, recording: Recording, counted: Mask, z: Array, iterations: int, report: Progress
) -> _Refined:
    scale = scale_of(settings.unknowns, recording, z)
    coordinates = Coordinates(settings.unknowns, z, scale, settings.max_delay)
    rollouts = settings.rollouts(recording)
    problem = TrajectoryMatching(rollouts, coordinates, counted)
    found = refine(problem, coordinates.spread, iterations, report)
    return _Refined(problem, found, problem.residuals(problem.flow(found.point, False)))
