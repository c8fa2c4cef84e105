"""Selection by cross-validation: cut-off, lag, regularisation, and the weights of optional terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.averaging import averaged
from helicoid.identification.linear.cross_validation import folds, held_out, relative_error
from helicoid.identification.linear.equations.friction_columns import linear_terms
from helicoid.identification.linear.equations.regression import Regression, default_groups, stated
from helicoid.identification.linear.lag import estimate_lag
from helicoid.identification.linear.options import WITH_PRIOR, Options
from helicoid.identification.linear.solving.estimators import (
    MIN_RELATIVE_RESIDUAL,
    deviation,
    ordinary,
    residual_redundancy,
)
from helicoid.identification.linear.solving.whitening import usual_sizes
from helicoid.identification.linear.weighting import (
    SINGLE,
    Mixture,
    WeightedFolds,
    fitter,
    weighted_folds,
    weighted_samples,
)
from helicoid.identification.logs.filtering import bandwidth
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import Samples, Stretch, smoothed, usable_stretches
from helicoid.progress import Progress
from helicoid.robot import Robot

_MAX_SAMPLES_FOR_SELECTION = 20_000
_WINDOWS_FOR_SELECTION = 6
_CUTOFFS_PER_BANDWIDTH = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0)
_CUTOFF_TIE = 0.002  # relative error: of cut-offs that differ by less, the lowest is taken
_REGULARISATION_DURING_SELECTION = 10.0
_BODY_SIGMA = 0.5  # of itself: prior σ of a described body
_TEMPERING = 0.7  # power of weights: 1 where residuals are noise, 0 where they are errors of the model
_USUAL_SPEED = 0.3  # of the velocity limits
_MIN_MOVING = 0.01  # of the velocity limits
_MAX_WIDENINGS, _MIN_WIDENING = 20, 1.05  # of that σ, by wrenches: steps, and the factor of each
_MIN_TERM_WEIGHT = 0.5  # for a term to be fitted by estimators that do not average models


class Selected(NamedTuple):
    """Cut-off of the low-pass (Hz), lag (s), unknowns, and the models that are averaged.

    `data` is what these are fitted to, if made; `evidence` the weight of each optional term.
    """

    cutoff: float | None
    lag: float
    regression: Regression
    data: WeightedFolds | None = None
    mixture: Mixture = SINGLE
    evidence: Mapping[str, float] = {}
    body_sigma: float = _BODY_SIGMA

    @property
    def regularisation(self) -> float:
        """Weight of bodies: redundant samples count once, and a described body has its prior σ."""
        return (self.mixture.redundancy or 1.0) / self.body_sigma**2


def select(
    robot: Robot, logs: Sequence[Log], options: Options, report: Progress
) -> tuple[Selected, list[Samples], list[str]]:
    """Select the options that were not given on some logs; also the logs' samples and notes."""
    wrenches = tuple(logs[0].wrenches)
    groups = _default_unknowns(robot, options, wrenches)
    terms: tuple[str, ...] = ()
    if options.groups is None and not wrenches and options.form not in ("power", "energy"):
        terms = ("armature", *linear_terms("candidate"))
    everything = Regression(robot, groups, wrenches=wrenches)
    # Springs follow slow errors of any model: cut-off and lag are selected without them.
    slow = {term for term in terms if term in TERMS and not TERMS[term].is_velocity_curve}
    basic = everything.with_groups([group for group in groups if group not in slow])
    parts, notes = usable(robot, logs)
    cutoff, rough = options.cutoff, None
    if cutoff == "auto":
        cutoff, rough = select_cutoff(robot, logs, parts, basic, report)
    stretches = [smoothed(robot, one, cutoff, options.dead_zone) for one in parts]
    lag = _lag(basic, stretches, rough, report) if options.lag is None else options.lag
    stretches = [samples.delayed(lag) for samples in stretches]
    report("Averaging models", 0.0)
    both = folds(everything, stretches)
    selected = Selected(cutoff, lag, everything)
    if options.regularisation is None:
        data = weighted_folds(everything, *both)
        selected = selected._replace(mixture=_prior_strength(everything, data, stretches))
        if wrenches:
            data = weighted_folds(everything, *both, selected.mixture)
            selected = selected._replace(body_sigma=_body_sigma(data, selected.mixture.redundancy or 1.0))
    if terms:
        weight = selected.regularisation if options.regularisation is None else options.regularisation
        data = weighted_folds(everything, *both, selected.mixture)
        models = averaged(everything, data, terms, weight, _speed_coverage(robot, stretches))
        mixture = selected.mixture._replace(models=models)
        evidence = {term: mixture.weight_of(term) for term in terms}
        least, mixture = (0.0, mixture) if options.estimator in WITH_PRIOR else (_MIN_TERM_WEIGHT, SINGLE)
        kept = tuple(group for group in groups if evidence.get(group, 1.0) > least)
        some = everything if kept == groups else everything.with_groups(kept)
        selected = selected._replace(regression=some, mixture=mixture, evidence=evidence)
    if options.form == "torque" and selected.regression is everything:
        selected = selected._replace(data=weighted_folds(everything, *both, selected.mixture))
    return selected, stretches, notes


def _prior_strength(regression: Regression, data: WeightedFolds, stretches: Sequence[Samples]) -> Mixture:
    """Redundancy N / N_eff of the samples, and the tempering of weights."""
    counts = np.maximum(np.array(data.whole.counts), 1)
    squares = data.whole.squares(np.zeros(data.whole.n_unknowns)) / counts
    floor = np.maximum(MIN_RELATIVE_RESIDUAL**2 * squares * data.weights, 1.0)
    rounding = float(np.exp(np.mean(np.log(floor))))
    x = ordinary(data.whole.combined(data.weights), data.coordinates)
    redundancy = residual_redundancy(regression, max(stretches, key=len), x, data.redundancy)
    return Mixture(redundancy=redundancy * rounding, tempering=_TEMPERING)


def _speed_coverage(robot: Robot, stretches: Sequence[Samples]) -> float:
    """What a log covers of the usual speeds of joints, squared, 0 to 1."""
    fastest = np.quantile(np.abs(np.vstack([samples.v for samples in stretches])), 0.99, axis=0)
    part = fastest / usual_sizes(robot)[1]
    moving = part[part > _MIN_MOVING]
    return float(min(1.0, np.median(moving) / _USUAL_SPEED) ** 2) if len(moving) else 0.0


def _body_sigma(data: WeightedFolds, redundancy: float) -> float:
    """Prior σ of bodies: as usual, or as large as deviations that wrenches tell of (empirical Bayes).

    A sensor reads a load that is many times as heavy as the described body behind it.
    """
    factor, coordinates = data.whole.combined(data.weights), data.coordinates
    told = np.linalg.norm(coordinates.factor(factor).R, axis=0) > 0
    bodies = [k for start in coordinates.bodies for k in range(start, start + 10) if told[k]]
    sigma = _BODY_SIGMA
    for _ in range(_MAX_WIDENINGS if bodies else 0):
        u = deviation(factor, coordinates, redundancy / sigma**2)[bodies]
        wider = float(np.sqrt(np.mean(u**2)))
        if wider < _MIN_WIDENING * sigma:
            break
        sigma = wider
    return sigma


def _default_unknowns(robot: Robot, options: Options, wrenches: tuple[str, ...]) -> tuple[str, ...]:
    if options.groups is not None:
        return tuple(options.groups)
    if wrenches:
        return ("inertia", "offset")
    if options.form in ("power", "energy"):
        # One equation a sample carries less: neither offsets nor the curve of friction are identifiable.
        dissipative = (group for group in linear_terms("always") if TERMS[group].nonnegative)
        return ("inertia", *dissipative, "armature")
    default = (*default_groups(), *linear_terms("candidate"))
    beyond = (group for group in linear_terms() if group not in default and stated(robot, group).any())
    return (*default, *beyond, *(("elastic",) if robot.model.elastic else ()))


def usable(robot: Robot, logs: Sequence[Log]) -> tuple[list[Stretch], list[str]]:
    """All stretches of logs without gaps, and notes on what was left out."""
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
