"""Rows of the regression weighted by the inverse variance of their residuals, ready for any estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.cross_validation import Fit, Folds, folds
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import Factor, Stack
from helicoid.identification.linear.solving.at_rest import joints_at_rest, stiction, unexcited
from helicoid.identification.linear.solving.consistent import Bounds, consistent, lower_bounds
from helicoid.identification.linear.solving.estimators import (
    deviation,
    noise_floor,
    ordinary,
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


Models = tuple[tuple[tuple[str, ...], float], ...]


class Mixture(NamedTuple):
    """Models that are averaged, each by the groups that it leaves as described and its weight.

    `redundancy` is N / N_eff, by default that of the bandwidth. Weights of rows relative to their geometric
    mean are raised to the power `tempering`, since bodies are shared and errors of the model are not noise:
    else small joints with friction that no term describes would steer the bodies of all.
    """

    models: Models = (((), 1.0),)
    redundancy: float | None = None
    tempering: float = 1.0

    def weight_of(self, term: str) -> float:
        """The weight of all models with a term."""
        return sum(weight for left_out, weight in self.models if term not in left_out)


SINGLE = Mixture()


class WeightedFolds(NamedTuple):
    """Folds of a log, the weight 1/σ² of each row, and the whitened coordinates to fit in.

    `recorded` are the same folds with torques before the low-pass, whatever the form of the equations;
    `redundancy` is N / N_eff, the number of samples for each that is effectively independent. Fits with a
    prior use `tempered` weights and average `models`: coordinates with what each leaves as described fixed,
    and its weight.
    """

    folds: Folds
    recorded: Folds
    whole: Stack
    weights: Array
    coordinates: WhitenedCoordinates
    redundancy: float
    tempered: Array
    models: tuple[tuple[WhitenedCoordinates, float], ...]


def weighted_samples(
    regression: Regression, stretches: Sequence[Samples], form: str = "torque", mixture: Mixture = SINGLE
) -> WeightedFolds:
    """Weighted folds of samples."""
    parts, recorded = folds(regression, stretches, form)
    if form in ("power", "energy"):
        recorded = folds(regression, stretches)[1]
    return weighted_folds(regression, parts, recorded, mixture)


def weighted_folds(
    regression: Regression, parts: Folds, recorded: Folds, mixture: Mixture = SINGLE
) -> WeightedFolds:
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
    redundancy = parts.redundancy if mixture.redundancy is None else mixture.redundancy
    own = whitened_coordinates(regression, factor).fixing(unexcited(regression, still))
    own = own.fixing_unidentifiable(factor, usual).with_joint_prior(usual, redundancy)
    groups, index = regression.parameters.groups, range(len(regression.parameters))
    models = tuple(
        (own.fixing(k for group in left_out if group in groups for k in index[groups[group]]), weight)
        for left_out, weight in mixture.models
    )
    used = weights > 0
    mean = np.exp(np.mean(np.log(weights[used]))) if used.any() else 1.0
    tempered = mean * (weights / mean) ** mixture.tempering
    return WeightedFolds(parts, recorded, whole, weights, own, redundancy, tempered, models)


def fitter(
    estimator: str,
    regression: Regression,
    data: WeightedFolds,
    regularisation: float,
    bounds: Bounds | None,
) -> Fit:
    """The function from a stack to x, by an estimator of the least squares family."""

    def fit(stack: Stack) -> Array:
        if estimator not in ("consistent", "ridge"):
            weights = np.ones_like(data.weights) if estimator == "ordinary" else data.weights
            return (total if estimator == "total" else ordinary)(stack.combined(weights), data.coordinates)
        factor, own = stack.combined(data.tempered), data.coordinates
        u, weights = _deviations(regression, data, factor, regularisation)
        if estimator == "ridge":
            return np.asarray(own.origin + own.T @ (weights @ u))
        return consistent(regression, factor, own, regularisation, bounds, weights @ u)

    return fit


def between_models(regression: Regression, data: WeightedFolds, regularisation: float) -> Array:
    """Covariance of x between the models of a mixture, Σ ω (x_S - x)(x_S - x)ᵀ."""
    u, weights = _deviations(regression, data, data.whole.combined(data.tempered), regularisation)
    apart = (u - weights @ u) @ data.coordinates.T.T
    return np.asarray((apart.T * weights) @ apart)


def _deviations(
    regression: Regression, data: WeightedFolds, factor: Factor, regularisation: float
) -> tuple[Array, Array]:
    """u of each model, (models, p), and the weights of the models.

    Where they are several, each has friction that is not negative: the average of others would not have it.
    """
    coordinates, weights = zip(*data.models, strict=True)
    bounds = [lower_bounds(regression, own) if len(weights) > 1 else None for own in coordinates]
    pairs = zip(coordinates, bounds, strict=True)
    return np.array([deviation(factor, own, regularisation, b) for own, b in pairs]), np.array(weights)
