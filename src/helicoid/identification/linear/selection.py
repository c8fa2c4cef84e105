"""What the log decides, by cross-validation inside it: cut-off, extra terms, trust in the description."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import Stack
from helicoid.identification.linear.folds import Folds, folds, held_out
from helicoid.identification.linear.solving.consistent import Bounds, consistent
from helicoid.identification.linear.solving.estimators import (
    augmented,
    noise_floor,
    ordinary,
    ridge,
    row_weights,
    total,
)
from helicoid.identification.linear.solving.standing import standing, stiction, unmoved
from helicoid.identification.linear.solving.whitened_coordinates import (
    WhitenedCoordinates,
    usual_magnitudes,
    whitened_coordinates,
)
from helicoid.identification.logs.filtering import bandwidth
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import Judged, Samples, smoothed
from helicoid.progress import Progress
from helicoid.robot import Robot

_WRONG = 0.6  # of itself: what a described body may be wrong by, where a log can tell it
STRENGTHS = (10.0, 100.0, 1e3, 1e4, 1e6)  # with the last, bodies stay as described
_MIDDLE = 10.0  # strength while other things are chosen
_MULTIPLES = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0)  # of the motion's own band
_TIE = 0.002  # cut-offs whose errors differ by less are alike: the lower one smooths more
_WORTH = 0.05  # an extra term must lower the held-out error by so much
_CLEARLY = 0.2  # and one that the log hardly tells from others by so much
_KNOWN = 0.1  # of its usual size: the σ of an unknown, given all others, at which it is told
_MOSTLY = 0.5  # of the joints
_MOST = 20_000  # samples on which to choose

Fit = Callable[[Stack], Array]


class Weighted(NamedTuple):
    """A log's parts, the weight of each row (1/σ²), and the coordinates to fit in.

    `recorded` are the same parts with torques as recorded, whatever the form of the equations; `excess` is
    how many samples there are for each that the motion makes different.
    """

    folds: Folds
    recorded: Folds
    whole: Stack
    weights: Array
    coordinates: WhitenedCoordinates
    excess: float


def weighted(regression: Regression, stretches: Sequence[Samples], form: str = "torque") -> Weighted:
    """Fold the samples and weigh their rows by the residuals of an ordinary fit."""
    parts, recorded = folds(regression, stretches, form)
    if form in ("power", "energy"):
        recorded = folds(regression, stretches)[1]
    return weighed(regression, parts, recorded)


def weighed(regression: Regression, parts: Folds, recorded: Folds) -> Weighted:
    """Weigh the rows of folds by the residuals of an ordinary fit."""
    whole = parts.whole
    still = standing(regression, whole)
    floor = np.maximum(noise_floor(whole), stiction(regression, len(whole.counts), still))
    weights = np.ones(len(whole.counts))
    for _ in range(3):
        factor = whole.combined(weights)
        weights = row_weights(whole, ordinary(factor, whitened_coordinates(regression, factor)), floor)
    factor = whole.combined(weights)
    usual = usual_magnitudes(regression)
    own = replace(whitened_coordinates(regression, factor), untold=unmoved(regression, still))
    coordinates = own.without_untold(factor, usual).pulled(usual, parts.excess)
    return Weighted(parts, recorded, whole, weights, coordinates, parts.excess)


def _told(regression: Regression, data: Weighted, group: str) -> bool:
    """Whether the log tells a group from all other unknowns: its σ given all of these, for most joints."""
    own = list(range(len(regression.parameters)))[regression.parameters.groups[group]]
    known = [k for k in own if k not in data.coordinates.untold]
    if len(known) <= len(own) // 2:
        return False
    assert data.coordinates.pull is not None
    pull = np.array(data.coordinates.pull)
    pull[own] = 1e-9 * pull[own]
    coordinates = replace(data.coordinates, pull=pull)
    factor = augmented(coordinates.factor(data.whole.combined(data.weights)), coordinates, _MIDDLE)
    spread = np.linalg.norm(np.linalg.pinv(factor.R, rcond=1e-12)[known], axis=1)
    sigma = spread * coordinates.T.diagonal()[known] * np.sqrt(data.excess)
    return bool(np.mean(sigma < _KNOWN * usual_magnitudes(regression)[known]) > _MOSTLY)


def unseen(parts: Folds, held: Folds, fit: Fit) -> float:
    """One figure for the errors on what fits have not seen: other times, and other speeds."""
    times, owners = parts.halves.without, held.halves.parts  # fits cost: fewer parts than for a score
    errors = (
        held_out([fit(stack) for stack in times], owners),
        held_out([fit(stack) for stack in parts.without_speed], held.speeds),
    )
    return float(np.sqrt(np.prod([criterion(error, held.whole) for error in errors])))


def _roughly(regression: Regression, data: Weighted, bounds: Bounds | None) -> float:
    """The error on what quick fits have not seen, while the strength is still to be chosen."""
    return unseen(data.folds, data.folds, fitter("ridge", regression, data, _MIDDLE, bounds))


def fitter(
    estimator: str, regression: Regression, data: Weighted, strength: float, bounds: Bounds | None
) -> Fit:
    """From a stack to x, by an estimator of the least squares family."""
    weights = np.ones_like(data.weights) if estimator == "ordinary" else data.weights
    sizes = usual_magnitudes(regression)

    def fit(stack: Stack) -> Array:
        factor = stack.combined(weights)
        own = data.coordinates
        if estimator in ("consistent", "ridge"):
            own = own.without_untold(factor, sizes)
        if estimator == "consistent":
            return consistent(regression, factor, own, strength, bounds)
        if estimator == "ridge":
            return ridge(factor, own, strength)
        if estimator == "total":
            return total(factor, own)
        return ordinary(factor, own)

    return fit


def excerpt(log: Log) -> list[Log]:
    """A log that is not too long to choose on: itself, or windows spread over it."""
    if len(log) <= _MOST:
        return [log]
    width = _MOST // 6
    starts = np.linspace(0, len(log) - width, 6).astype(int)
    return [log[int(start) : int(start) + width] for start in starts]


def choose_cutoff(
    robot: Robot, logs: Sequence[Log], parts: Sequence[Judged], regression: Regression, tell: Progress
) -> tuple[float | None, Weighted]:
    """The cut-off (Hz) whose low-passed model predicts the torques as recorded best; None: no low-pass.

    `parts` are the stretches of the logs.
    The same samples are held out for each, so that their errors compare. With it, the data of that cut-off.
    """
    candidates = list(_cutoffs(logs))
    lowest = next((cutoff for cutoff in candidates if cutoff is not None), None)
    edge = 0.0 if lowest is None else 1.0 / lowest
    errors: dict[int, float] = {}
    found: dict[int, Weighted] = {}

    def best(tried: Iterable[int]) -> int:
        for k in tried:
            if k not in errors:
                tell("Choosing the cut-off of the low-pass", len(errors) / len(candidates))
                stretches = [smoothed(robot, one, candidates[k], edge=edge) for one in parts]
                data = found[k] = weighted(regression, stretches)
                fit = fitter("ridge", regression, data, _MIDDLE, None)
                left = held_out([fit(stack) for stack in data.folds.without], data.recorded.parts)
                errors[k] = criterion(left, data.recorded.whole)
        return min(k for k, error in errors.items() if error <= (1 + _TIE) * min(errors.values()))

    last = len(candidates) - 1
    k = best(range(0, max(1, last), 2))
    k = best(range(max(0, k - 1), min(last, k + 1) + 1))
    return candidates[k], found[k]


def _cutoffs(logs: Sequence[Log]) -> Iterator[float | None]:
    rate = min(log.rate for log in logs)
    band = max(bandwidth(np.asarray(log.q if log.v is None else log.v), log.rate) for log in logs)
    yield from (band * k for k in _MULTIPLES if 0 < band * k < 0.4 * rate)
    yield None


def choose_terms(
    stretches: Sequence[Samples],
    regression: Callable[[tuple[str, ...]], Regression],
    groups: tuple[str, ...],
    extras: Sequence[str],
    bounds: Bounds | None,
    tell: Progress,
) -> tuple[tuple[str, ...], Weighted]:
    """The groups with those extra terms that pay on held-out data, the best first; and the data for them.

    A term that the log cannot tell from all the others is not asked: it would fit this log and no other.
    """

    everything = regression((*groups, *extras))
    parts, recorded = folds(everything, stretches)

    def data(chosen: tuple[str, ...]) -> Weighted:
        made = regression(chosen)
        return weighed(made, parts.of(everything, made), recorded.of(everything, made))

    def error(chosen: tuple[str, ...]) -> float:
        made, own = regression(chosen), data(chosen)
        if len(chosen) > len(groups) and not _told(made, own, chosen[-1]):
            return np.inf
        return _roughly(made, own, bounds)

    best, left = error(groups), list(extras)
    while left:
        tell("Choosing the terms of friction", 1 - len(left) / len(extras))
        errors = {extra: error((*groups, extra)) for extra in left}
        extra = min(errors, key=lambda name: errors[name])
        if errors[extra] > (1 - _WORTH) * best:
            break
        best, groups = errors[extra], (*groups, extra)
        left.remove(extra)
    return groups, data(groups)


def pays(
    stretches: Sequence[Samples],
    regression: Callable[[tuple[str, ...]], Regression],
    groups: tuple[str, ...],
    group: str,
    bounds: Bounds | None,
) -> bool:
    """Whether a group among others lowers the held-out error by far more than chance would."""
    everything = regression(groups)
    parts, recorded = folds(everything, stretches)
    errors = []
    for chosen in (tuple(one for one in groups if one != group), groups):
        made = regression(chosen)
        own = weighed(made, parts.of(everything, made), recorded.of(everything, made))
        errors.append(_roughly(made, own, bounds))
    return errors[1] < (1 - _CLEARLY) * errors[0]


def choose_strength(
    regression: Regression, data: Weighted, estimator: str, bounds: Bounds | None, tell: Progress
) -> float:
    """How hard to pull to the description: the strength with the least held-out error.

    The least is that of bodies wrong by `_WRONG` of themselves, samples that repeat each other counted once:
    parts of one log are too much alike to say that less would do on another motion.
    """
    least = data.excess / _WRONG**2
    tried = (least, *(strength for strength in STRENGTHS if strength > 2 * least))
    errors = []
    for k, strength in enumerate(tried):
        tell("Choosing how far to trust the description", k / len(tried))
        fit = fitter(estimator, regression, data, strength, bounds)
        errors.append(unseen(data.folds, data.folds, fit))
    return float(tried[int(np.argmin(errors))])


def criterion(rmse: Array, whole: Stack) -> float:
    """One figure for the errors of all rows: the relative error overall, and the mean of each row's own.

    The first is about the large joints, the second (a geometric mean) about all alike; this is the geometric
    mean of the two.
    """
    counts = np.maximum(np.array(whole.counts, dtype=np.float64), 1.0)
    size = np.sqrt(whole.squares(np.zeros(whole.n_unknowns)) / counts)
    used = (np.array(whole.counts) > 0) & (size > 0)
    if not used.any():
        return 0.0
    overall = np.sqrt(np.sum(rmse[used] ** 2) / np.sum(size[used] ** 2))
    each = np.exp(np.mean(np.log(np.maximum(rmse[used], 1e-12 * size[used]) / size[used])))
    return float(np.sqrt(overall * each))
