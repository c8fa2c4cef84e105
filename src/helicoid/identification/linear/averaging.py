"""Model averaging: every subset of the optional terms is fitted, and weighted by its cross-validation error.

With E_S the held-out error of the model S and θ a prior factor for each term that it has,

    ω_S ∝ (E_S / E_C^(1 - c))^-40 θ^|S|,        x = Σ_S ω_S x_S.

An error that follows n effective samples has the likelihood E^-n: 40 are what the folds of one log tell of
another motion. Of friction curves over speed it tells the less, the less it covers of the usual speeds (c, 0
to 1): E_C is the least error of the models with the same curve. Consistent bodies and friction that is not
negative are convex sets, so that the average of parameters is physical where its models are (Hoeting et al.
1999; with weights by predictive density, Yao et al. 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.cross_validation import held_out, relative_error
from helicoid.identification.linear.equations.friction_columns import velocity_curves
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import Stack
from helicoid.identification.linear.solving.bounded import bounded_minimum
from helicoid.identification.linear.solving.consistent import lower_bounds
from helicoid.identification.linear.weighting import Models, WeightedFolds

_EFFECTIVE_HELD_OUT_SAMPLES = 40.0
_PRIOR_FACTOR_OF_TERM = float(np.exp(-0.5))
_MIN_WEIGHT = 0.02  # models with less are left out of the average
_ROUNDING_ERROR = 1e-4  # relative error of a prediction: smaller ones do not compare models
_ROUNDING = 1e-14  # of the mean eigenvalue of the normal equations


def averaged(
    regression: Regression, data: WeightedFolds, terms: Sequence[str], regularisation: float, coverage: float
) -> Models:
    """The models of all subsets of `terms`, from the compressed samples alone; `coverage` is c above."""
    subsets = [left_out for count in range(len(terms) + 1) for left_out in combinations(terms, count)]
    errors = _errors(regression, data, subsets, regularisation) + _ROUNDING_ERROR
    curves = [[term for term in left_out if term in velocity_curves()] for left_out in subsets]
    least = [min(e for e, other in zip(errors, curves, strict=True) if other == own) for own in curves]
    errors /= np.array(least) ** (1.0 - coverage)
    weights = (errors / errors.min()) ** -_EFFECTIVE_HELD_OUT_SAMPLES
    weights /= _PRIOR_FACTOR_OF_TERM ** np.array([len(left_out) for left_out in subsets])
    weights *= weights >= _MIN_WEIGHT * weights.sum()
    models = zip(subsets, weights / weights.sum(), strict=True)
    return tuple((left_out, float(w)) for left_out, w in models if w > 0)


def _errors(
    regression: Regression, data: WeightedFolds, subsets: Sequence[tuple[str, ...]], regularisation: float
) -> Array:
    """The cross-validation error without each subset of terms, over times and over speeds."""
    own, folds = data.coordinates, data.folds
    assert own.joint_prior is not None
    prior = np.diag(regularisation * own.inertial + own.joint_prior**2)
    least = lower_bounds(regression, own)
    trained = [(held, _of_others(data, held)) for held in (folds.parts, folds.speeds)]
    groups, index = regression.parameters.groups, np.arange(len(prior))
    errors = np.ones(len(subsets))
    for k, left_out in enumerate(subsets):
        free = np.setdiff1d(index, np.concatenate([own.fixed, *(index[groups[term]] for term in left_out)]))
        for held, normals in trained:
            fits = []
            for N in normals:
                A = (N[:, :-1] + prior)[np.ix_(free, free)]
                A[np.diag_indices_from(A)] += _ROUNDING * np.trace(A) / max(len(A), 1)
                fits.append(own.origin + own.T[:, free] @ bounded_minimum(A, N[free, -1], least[free]))
            errors[k] *= np.sqrt(relative_error(held_out(fits, held), data.whole))
    return errors


def _of_others(data: WeightedFolds, parts: Sequence[Stack]) -> Array:
    """For each part [RᵀR Rᵀz] of all the others in whitened coordinates, (parts, p, p + 1)."""
    factors = [data.coordinates.factor(part.combined(data.tempered)) for part in parts]
    normals = np.array([one.R.T @ np.column_stack([one.R, one.z]) for one in factors])
    return np.asarray(normals.sum(axis=0) - normals)
