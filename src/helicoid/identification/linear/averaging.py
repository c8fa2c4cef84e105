"""Model averaging: every subset of the optional terms is fitted, and weighted by its cross-validation error.

With E_S the held-out error of the model S and θ a prior factor for each term that it has,

    ω_S ∝ (E_S / min E)^-40 θ^|S|,        x = Σ_S ω_S x_S.

An error that follows n effective samples has the likelihood E^-n: 40 are what the folds of one log tell of
another motion. Consistent bodies and friction that is not negative are convex sets, so that the average of
parameters is physical where its models are (Hoeting, Madigan, Raftery and Volinsky 1999; with weights by
predictive density, Yao, Vehtari, Simpson and Gelman 2018).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.cross_validation import held_out, relative_error
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import Stack
from helicoid.identification.linear.solving.bounded import bounded_minimum
from helicoid.identification.linear.solving.consistent import nonnegative_unknowns
from helicoid.identification.linear.weighting import Mixture, WeightedFolds

_EFFECTIVE_HELD_OUT_SAMPLES = 40.0
_PRIOR_FACTOR_OF_TERM = float(np.exp(-0.5))
_MIN_WEIGHT = 0.02  # models with less are left out of the average
_ROUNDING_ERROR = 1e-4  # relative error of a prediction: smaller ones do not compare models
_ROUNDING = 1e-14  # of the mean eigenvalue of the normal equations


def averaged(
    regression: Regression, data: WeightedFolds, terms: Sequence[str], regularisation: float, mixture: Mixture
) -> Mixture:
    """A mixture with the models of all subsets of `terms`, from the compressed samples alone."""
    errors = {
        left_out: error + _ROUNDING_ERROR
        for left_out, error in _errors(regression, data, terms, regularisation)
    }
    least = min(errors.values())
    weights = {
        left_out: (error / least) ** -_EFFECTIVE_HELD_OUT_SAMPLES
        * _PRIOR_FACTOR_OF_TERM ** -len(left_out)
        for left_out, error in errors.items()
    }  # fmt: skip
    total = sum(weights.values())
    kept = {left_out: w for left_out, w in weights.items() if w >= _MIN_WEIGHT * total}
    total = sum(kept.values())
    return mixture._replace(models=tuple((left_out, w / total) for left_out, w in kept.items()))


def term_weights(terms: Sequence[str], mixture: Mixture) -> Mapping[str, float]:
    """The weight of all models with a term, for each term."""
    return {term: sum(w for left_out, w in mixture.models if term not in left_out) for term in terms}


class _Normal(NamedTuple):
    """RᵀR and Rᵀz of a least squares problem in whitened coordinates."""

    A: Array
    b: Array

    def __sub__(self, other: _Normal) -> _Normal:
        return _Normal(self.A - other.A, self.b - other.b)

    def solved(self, free: Array, prior: Array, least: Array) -> Array:
        """u >= `least` of the ridge regression with some elements free and the others 0."""
        M = self.A[np.ix_(free, free)] + np.diag(prior[free])
        M[np.diag_indices_from(M)] += _ROUNDING * np.trace(M) / max(len(M), 1)
        u = np.zeros(len(prior))
        u[free] = bounded_minimum(M, self.b[free], least[free])
        return u


def _errors(
    regression: Regression, data: WeightedFolds, terms: Sequence[str], regularisation: float
) -> Iterator[tuple[tuple[str, ...], float]]:
    """The cross-validation error without each subset of terms, over times and over speeds."""
    own, folds = data.coordinates, data.folds
    assert own.joint_prior is not None
    prior = regularisation * own.inertial + own.joint_prior**2
    least = np.full(len(prior), -np.inf)
    bounded = np.setdiff1d(nonnegative_unknowns(regression), own.fixed)
    least[bounded] = -own.origin[bounded] / own.T.diagonal()[bounded]
    trained = [_without([_normal(data, part) for part in parts]) for parts in (folds.parts, folds.speeds)]
    groups, index = regression.parameters.groups, np.arange(len(prior))
    for count in range(len(terms) + 1):
        for left_out in combinations(terms, count):
            fixed = np.concatenate([np.array(own.fixed), *(index[groups[term]] for term in left_out)])
            free = np.setdiff1d(index, fixed)
            errors = []
            for normals, held in zip(trained, (folds.parts, folds.speeds), strict=True):
                fits = [own.origin + own.T @ one.solved(free, prior, least) for one in normals]
                errors.append(relative_error(held_out(fits, held), data.whole))
            yield left_out, float(np.sqrt(errors[0] * errors[1]))


def _normal(data: WeightedFolds, stack: Stack) -> _Normal:
    factor = data.coordinates.factor(stack.combined(data.tempered))
    return _Normal(factor.R.T @ factor.R, factor.R.T @ factor.z)


def _without(parts: Sequence[_Normal]) -> list[_Normal]:
    """For each part, all the others."""
    total = _Normal(np.sum([part.A for part in parts], axis=0), np.sum([part.b for part in parts], axis=0))
    return [total - part for part in parts]
