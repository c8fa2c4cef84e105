"""Selection by cross-validation inside a log: cut-off, lag, friction terms, and the regularisation weight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.cross_validation import (
    Folds,
    cross_validation_error,
    folds,
    held_out,
    relative_error,
)
from helicoid.identification.linear.equations.friction_columns import linear_terms
from helicoid.identification.linear.equations.regression import Regression, default_groups, stated
from helicoid.identification.linear.lag import estimate_lag
from helicoid.identification.linear.options import Options
from helicoid.identification.linear.solving.consistent import Bounds
from helicoid.identification.linear.solving.estimators import augmented
from helicoid.identification.linear.solving.whitened_coordinates import usual_magnitudes
from helicoid.identification.linear.solving.whitening import usual_sizes
from helicoid.identification.linear.weighting import WeightedFolds, fitter, weighted_folds, weighted_samples
from helicoid.identification.logs.filtering import bandwidth
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import Samples, Stretch, smoothed, usable_stretches
from helicoid.identification.logs.single_frequency import single_frequency_joints
from helicoid.progress import Progress
from helicoid.robot import Robot

_MAX_SAMPLES_FOR_SELECTION = 20_000
_WINDOWS_FOR_SELECTION = 6
_CUTOFFS_PER_BANDWIDTH = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0)
_CUTOFF_TIE = 0.002  # relative error: of cut-offs that differ by less, the lowest is taken
_MIN_CV_IMPROVEMENT = 0.05  # relative: of a candidate term
_MIN_CV_IMPROVEMENT_SINGLE_FREQUENCY = 0.2  # relative: of armature that one frequency hardly separates
_MAX_SIGMA_OF_TERM = 0.1  # of its usual size: σ of a term's unknown, given all others, at most
_MIN_IDENTIFIABLE_JOINTS = 0.5  # fraction of the joints in which a term must be identifiable
_MIN_FAST = 0.15  # of the velocity limits: slower joints do not show how friction grows with speed
_MIN_MOVING = 0.01  # of the velocity limits
_REGULARISATION_DURING_SELECTION = 10.0
_REGULARISATIONS = (10.0, 100.0, 1e3, 1e4, 1e6)  # with the last, bodies stay as described
_BODY_SIGMA = 0.6  # of itself: error of a described body, for the least regularisation


class Selected(NamedTuple):
    """Cut-off of the low-pass (Hz), lag (s) and unknowns; `data` is what these were fitted to, if made."""

    cutoff: float | None
    lag: float
    regression: Regression
    data: WeightedFolds | None = None


def select(
    robot: Robot, logs: Sequence[Log], options: Options, report: Progress
) -> tuple[Selected, list[Samples], list[str]]:
    """The options that were not given, selected on some logs; with them, the logs' samples and notes."""
    wrenches = tuple(logs[0].wrenches)
    regression_of = _regressions(robot, wrenches)
    groups = _default_unknowns(robot, options, wrenches)
    parts, notes = _usable(robot, logs)
    cutoff, rough = (
        select_cutoff(robot, logs, parts, regression_of(groups), report)
        if options.cutoff == "auto"
        else (options.cutoff, None)
    )
    stretches = [smoothed(robot, one, cutoff, options.dead_zone) for one in parts]
    lag = _lag(regression_of(groups), stretches, rough, report) if options.lag is None else options.lag
    stretches = [samples.delayed(lag) for samples in stretches]
    if options.groups is not None or wrenches or options.form in ("power", "energy"):
        return Selected(cutoff, lag, regression_of(groups)), stretches, notes
    groups, data = _selected_unknowns(robot, stretches, regression_of, groups, options.bounds, report)
    own = data if options.form == "torque" else None
    return Selected(cutoff, lag, regression_of(groups), own), stretches, notes


def _default_unknowns(robot: Robot, options: Options, wrenches: tuple[str, ...]) -> tuple[str, ...]:
    if options.groups is not None:
        return tuple(options.groups)
    if wrenches:
        return ("inertia",)
    if options.form in ("power", "energy"):
        # One equation a sample carries less: neither offsets nor the curve of friction are identifiable.
        dissipative = (group for group in linear_terms("always") if TERMS[group].nonnegative)
        return ("inertia", *dissipative, "armature")
    default = (*default_groups(), *linear_terms("fast"))
    beyond = (group for group in linear_terms() if group not in default and stated(robot, group).any())
    return (*default, *beyond, *(("elastic",) if robot.model.elastic else ()))


def _selected_unknowns(
    robot: Robot,
    stretches: Sequence[Samples],
    regression_of: Callable[[tuple[str, ...]], Regression],
    groups: tuple[str, ...],
    bounds: Bounds | None,
    report: Progress,
) -> tuple[tuple[str, ...], WeightedFolds]:
    """The default unknowns without those that the motion does not excite, and with terms that generalise."""
    slow = [group for group in linear_terms("fast") if not _fast_enough(robot, stretches, group)]
    groups = tuple(group for group in groups if group not in slow)
    single = single_frequency_joints(robot, stretches).majority
    if single and not stated(robot, "armature").any():  # armature and the bodies' inertia look alike then
        needed = _improves(stretches, regression_of, groups, "armature", bounds)
        groups = tuple(group for group in groups if needed or group != "armature")
    candidates = [
        term
        for term in linear_terms("candidate")
        if term not in groups and not (single and TERMS[term].depends_on_position)
    ]
    return select_terms(stretches, regression_of, groups, candidates, bounds, report)


def _fast_enough(robot: Robot, stretches: Sequence[Samples], group: str) -> bool:
    """Whether a curve of friction over speed is identifiable: it is described, or joints were fast enough.

    A curve through slow samples alone extrapolates badly to the speeds that joints are made for.
    """
    fastest = np.quantile(np.abs(np.vstack([samples.v for samples in stretches])), 0.99, axis=0)
    part = fastest / usual_sizes(robot)[1]
    moving = part[part > _MIN_MOVING]
    return bool(stated(robot, group).any() or (len(moving) and np.median(moving) > _MIN_FAST))


def _regressions(robot: Robot, wrenches: tuple[str, ...]) -> Callable[[tuple[str, ...]], Regression]:
    cache: dict[tuple[str, ...], Regression] = {}

    def regression_of(groups: tuple[str, ...]) -> Regression:
        if groups not in cache:
            cache[groups] = Regression(robot, groups, wrenches=wrenches)
        return cache[groups]

    return regression_of


def prepared(
    robot: Robot, logs: Sequence[Log], cutoff: float | None, dead_zone: float
) -> tuple[list[Samples], list[str]]:
    """Samples of all stretches of logs without gaps, and notes on what was left out."""
    parts, notes = _usable(robot, logs)
    return [smoothed(robot, one, cutoff, dead_zone) for one in parts], notes


def _usable(robot: Robot, logs: Sequence[Log]) -> tuple[list[Stretch], list[str]]:
    parts: list[Stretch] = []
    notes: list[str] = []
    for log in logs:
        own, said = usable_stretches(robot, log)
        parts.extend(own)
        notes.extend(f"{log.source}: {note}" for note in said)
    return parts, notes


def excerpt(log: Log) -> list[Log]:
    """A log short enough for selection: itself, or windows spread over it."""
    if len(log) <= _MAX_SAMPLES_FOR_SELECTION:
        return [log]
    width = _MAX_SAMPLES_FOR_SELECTION // _WINDOWS_FOR_SELECTION
    starts = np.linspace(0, len(log) - width, _WINDOWS_FOR_SELECTION).astype(int)
    return [log[int(start) : int(start) + width] for start in starts]


def _lag(
    regression: Regression, stretches: Sequence[Samples], rough: WeightedFolds | None, report: Progress
) -> float:
    report("Estimating the lag between motion and torque", 0.0)
    data = weighted_samples(regression, stretches) if rough is None else rough
    fit = fitter("ridge", regression, data, _REGULARISATION_DURING_SELECTION, None)
    return estimate_lag(regression, stretches, fit, data.weights)


def select_cutoff(
    robot: Robot, logs: Sequence[Log], parts: Sequence[Stretch], regression: Regression, report: Progress
) -> tuple[float | None, WeightedFolds]:
    """The cut-off (Hz) whose low-passed model predicts recorded torques best (None: no low-pass), its data.

    `parts` are the stretches of the logs. The same samples are held out for each, so that errors compare.
    """
    candidates = list(_cutoffs(logs))
    lowest = next((cutoff for cutoff in candidates if cutoff is not None), None)
    edge = 0.0 if lowest is None else 1.0 / lowest
    errors: dict[int, float] = {}
    found: dict[int, WeightedFolds] = {}

    def best(tried: Iterable[int]) -> int:
        for k in tried:
            if k not in errors:
                report("Selecting the cut-off of the low-pass", len(errors) / len(candidates))
                stretches = [smoothed(robot, one, candidates[k], edge=edge) for one in parts]
                data = found[k] = weighted_samples(regression, stretches)
                fit = fitter("ridge", regression, data, _REGULARISATION_DURING_SELECTION, None)
                left = held_out([fit(stack) for stack in data.folds.without], data.recorded.parts)
                errors[k] = relative_error(left, data.recorded.whole)
        return min(k for k, error in errors.items() if error <= (1 + _CUTOFF_TIE) * min(errors.values()))

    last = len(candidates) - 1
    k = best(range(0, max(1, last), 2))
    k = best(range(max(0, k - 1), min(last, k + 1) + 1))
    return candidates[k], found[k]


def _cutoffs(logs: Sequence[Log]) -> Iterator[float | None]:
    rate = min(log.rate for log in logs)
    band = max(bandwidth(np.asarray(log.q if log.v is None else log.v), log.rate) for log in logs)
    yield from (band * k for k in _CUTOFFS_PER_BANDWIDTH if 0 < band * k < 0.4 * rate)
    yield None


def select_terms(
    stretches: Sequence[Samples],
    regression_of: Callable[[tuple[str, ...]], Regression],
    groups: tuple[str, ...],
    candidates: Sequence[str],
    bounds: Bounds | None,
    report: Progress,
) -> tuple[tuple[str, ...], WeightedFolds]:
    """Forward selection: the groups with those candidates that lower the error; and the data for them.

    A term that the log does not separate from all others is not tried: it would fit this log and no other.
    """
    everything = regression_of((*groups, *candidates))
    both = folds(everything, stretches)

    def error(chosen: tuple[str, ...]) -> float:
        regression, data = regression_of(chosen), _restricted(both, everything, regression_of(chosen))
        if len(chosen) > len(groups) and not _identifiable(regression, data, chosen[-1]):
            return np.inf
        return _rough_error(regression, data, bounds)

    best, left = error(groups), list(candidates)
    chosen = groups
    while left:
        report("Selecting the terms of friction", 1 - len(left) / len(candidates))
        errors = {term: error((*chosen, term)) for term in left}
        term = min(errors, key=lambda name: errors[name])
        if errors[term] > (1 - _MIN_CV_IMPROVEMENT) * best:
            break
        best, chosen = errors[term], (*chosen, term)
        left.remove(term)
    return chosen, _restricted(both, everything, regression_of(chosen))


def _improves(
    stretches: Sequence[Samples],
    regression_of: Callable[[tuple[str, ...]], Regression],
    groups: tuple[str, ...],
    group: str,
    bounds: Bounds | None,
) -> bool:
    """Whether a group among others lowers the cross-validation error by far more than chance would."""
    everything = regression_of(groups)
    both = folds(everything, stretches)
    errors = []
    for chosen in (tuple(one for one in groups if one != group), groups):
        regression = regression_of(chosen)
        errors.append(_rough_error(regression, _restricted(both, everything, regression), bounds))
    return errors[1] < (1 - _MIN_CV_IMPROVEMENT_SINGLE_FREQUENCY) * errors[0]


def _restricted(both: tuple[Folds, Folds], everything: Regression, some: Regression) -> WeightedFolds:
    """Weighted folds of some of the unknowns, from folds of all of them."""
    parts, recorded = (own.of(everything, some) for own in both)
    return weighted_folds(some, parts, recorded)


def _identifiable(regression: Regression, data: WeightedFolds, group: str) -> bool:
    """Whether the log separates a group from all other unknowns: by its σ given these, for most joints."""
    own = list(range(len(regression.parameters)))[regression.parameters.groups[group]]
    free = [k for k in own if k not in data.coordinates.fixed]
    if len(free) <= len(own) // 2:
        return False
    assert data.coordinates.joint_prior is not None
    joint_prior = np.array(data.coordinates.joint_prior)
    joint_prior[own] = 1e-9 * joint_prior[own]
    coordinates = replace(data.coordinates, joint_prior=joint_prior)
    whitened = coordinates.factor(data.whole.combined(data.weights))
    factor = augmented(whitened, coordinates, _REGULARISATION_DURING_SELECTION)
    spread: Array = np.linalg.norm(np.linalg.pinv(factor.R, rcond=1e-12)[free], axis=1)
    sigma = spread * coordinates.T.diagonal()[free] * np.sqrt(data.redundancy)
    known = sigma < _MAX_SIGMA_OF_TERM * usual_magnitudes(regression)[free]
    return bool(np.mean(known) > _MIN_IDENTIFIABLE_JOINTS)


def _rough_error(regression: Regression, data: WeightedFolds, bounds: Bounds | None) -> float:
    """Cross-validation error of ridge fits, while the regularisation is still to be selected."""
    fit = fitter("ridge", regression, data, _REGULARISATION_DURING_SELECTION, bounds)
    return cross_validation_error(data.folds, data.folds, fit)


def select_regularisation(
    regression: Regression, data: WeightedFolds, estimator: str, bounds: Bounds | None, report: Progress
) -> float:
    """The regularisation weight towards the description with the least cross-validation error.

    The least that is tried belongs to bodies described with a relative error of 0.6, redundant samples
    counted once: folds of one log are too much alike to show that less would do on another motion.
    """
    least = data.redundancy / _BODY_SIGMA**2
    tried = (least, *(weight for weight in _REGULARISATIONS if weight > 2 * least))
    errors = []
    for k, weight in enumerate(tried):
        report("Selecting the regularisation weight", k / len(tried))
        fit = fitter(estimator, regression, data, weight, bounds)
        errors.append(cross_validation_error(data.folds, data.folds, fit))
    return float(tried[int(np.argmin(errors))])
