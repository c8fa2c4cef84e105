"""Rows of the regression weighted by the inverse variance of their residuals, ready for any estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.cross_validation import Fit, Folds, folds
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import Stack
from helicoid.identification.linear.solving.at_rest import joints_at_rest, stiction, unexcited
from helicoid.identification.linear.solving.consistent import Bounds, consistent
from helicoid.identification.linear.solving.estimators import (
    noise_floor,
    ordinary,
    ridge,
    row_weights,
    total,
)
from helicoid.identification.linear.solving.whitened_coordinates import (
    WhitenedCoordinates,
    usual_magnitudes,
    whitened_coordinates,
)
from helicoid.identification.logs.preparation import Samples

_REWEIGHTINGS = 3


class WeightedFolds(NamedTuple):
    """Folds of a log, the weight 1/σ² of each row, and the whitened coordinates to fit in.

    `recorded` are the same folds with torques before the low-pass, whatever the form of the equations;
    `redundancy` is N / N_eff, the number of samples for each that is effectively independent.
    """

    folds: Folds
    recorded: Folds
    whole: Stack
    weights: Array
    coordinates: WhitenedCoordinates
    redundancy: float


def weighted_samples(
    regression: Regression, stretches: Sequence[Samples], form: str = "torque"
) -> WeightedFolds:
    """Weighted folds of samples."""
    parts, recorded = folds(regression, stretches, form)
    if form in ("power", "energy"):
        recorded = folds(regression, stretches)[1]
    return weighted_folds(regression, parts, recorded)


def weighted_folds(regression: Regression, parts: Folds, recorded: Folds) -> WeightedFolds:
    """Rows weighted by the residuals of ordinary least squares, iterated."""
    whole = parts.whole
    still = joints_at_rest(regression, whole)
    floor = np.maximum(noise_floor(whole), stiction(regression, len(whole.counts), still))
    weights = np.ones(len(whole.counts))
    for _ in range(_REWEIGHTINGS):
        factor = whole.combined(weights)
        weights = row_weights(whole, ordinary(factor, whitened_coordinates(regression, factor)), floor)
    factor = whole.combined(weights)
    usual = usual_magnitudes(regression)
    own = replace(whitened_coordinates(regression, factor), fixed=unexcited(regression, still))
    coordinates = own.fixing_unidentifiable(factor, usual).with_joint_prior(usual, parts.redundancy)
    return WeightedFolds(parts, recorded, whole, weights, coordinates, parts.redundancy)


def fitter(
    estimator: str,
    regression: Regression,
    data: WeightedFolds,
    regularisation: float,
    bounds: Bounds | None,
) -> Fit:
    """The function from a stack to x, by an estimator of the least squares family."""
    weights = np.ones_like(data.weights) if estimator == "ordinary" else data.weights
    sizes = usual_magnitudes(regression)

    def fit(stack: Stack) -> Array:
        factor = stack.combined(weights)
        own = data.coordinates
        if estimator in ("consistent", "ridge"):
            own = own.fixing_unidentifiable(factor, sizes)
        if estimator == "consistent":
            return consistent(regression, factor, own, regularisation, bounds)
        if estimator == "ridge":
            return ridge(factor, own, regularisation)
        if estimator == "total":
            return total(factor, own)
        return ordinary(factor, own)

    return fit
