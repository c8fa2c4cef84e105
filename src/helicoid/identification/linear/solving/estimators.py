"""Estimators of the least squares family, on the triangular factors of a stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy import linalg

from helicoid._typing import Array
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.rows import stacked, thinning
from helicoid.identification.linear.equations.stack import Factor, Stack
from helicoid.identification.linear.solving.bounded import bounded_least_squares
from helicoid.identification.linear.solving.whitened_coordinates import WhitenedCoordinates
from helicoid.identification.logs.autocorrelation import autocorrelation_time, recurrence
from helicoid.identification.logs.filtering import low_pass
from helicoid.identification.logs.preparation import Samples

_RANK_TOLERANCE = 1e-9  # of the largest singular value
MIN_RELATIVE_RESIDUAL = 1e-4  # of a row's torque: error of any model, also in logs without noise
_BODY_SIGMA = 0.3  # of itself: σ of a described body in predictions
_JOINT_SIGMA = 0.1  # of its usual size: σ of an unknown of a joint in predictions
_MIN_COLUMN = 1e-11  # of the longest column: shorter ones are rounding errors
_MIN_SIGNAL = 2.0  # relative residuals: singular values above are signal in total least squares
_REWEIGHTINGS = 6
_MAX_SAMPLES_FOR_COLOUR = 4000
_HUBER_THRESHOLD = 1.345  # standard deviations: 95 % efficiency for normal noise


def ordinary(factor: Factor, coordinates: WhitenedCoordinates) -> Array:
    """min ‖Y x - y‖²; of all solutions the one nearest to the description."""
    own = coordinates.factor(factor)
    A, scale = _scaled(own.R)
    U, S, Vt = _svd(A)
    kept = _RANK_TOLERANCE * S[0] < S
    return coordinates.origin + coordinates.T @ (scale * (Vt[kept].T @ ((U[:, kept].T @ own.z) / S[kept])))


def deviation(
    factor: Factor, coordinates: WhitenedCoordinates, regularisation: float, least: Array | None = None
) -> Array:
    """u of min ‖Y x - y‖² + regularisation · distance², the ridge regression, not below `least`."""
    own = augmented(coordinates.factor(factor), coordinates, regularisation)
    return bounded_least_squares(own.R, own.z, np.full(len(own.z), -np.inf) if least is None else least)


def total(factor: Factor, coordinates: WhitenedCoordinates) -> Array:
    """Truncated total least squares: errors in Y as in y, in the directions of x that stand out of them.

    Columns are scaled to length 1, as is y. Directions with singular values below the relative residual of
    ordinary least squares are noise (Fierro et al. 1997): there x stays as described. In the others,
    x = -V₁₂ / v₂₂ of the smallest singular vector of [Y y] (Golub and Van Loan, section 6.3).
    """
    own = coordinates.factor(factor)
    A, scale = _scaled(own.R)
    U, S, Vt = _svd(A)
    y = np.append(own.z, np.sqrt(own.rest))
    size = float(np.linalg.norm(y))
    seen = U[:, _RANK_TOLERANCE * S[0] < S]
    residual = np.sqrt(max(0.0, 1.0 - float(np.sum((seen.T @ own.z) ** 2)) / size**2)) if size > 0 else 0.0
    kept = np.maximum(_RANK_TOLERANCE * S[0], _MIN_SIGNAL * residual) < S
    B = np.vstack([U[:, kept] * S[kept], np.zeros(np.count_nonzero(kept))])
    smallest = np.linalg.svd(np.column_stack([B, y / size]))[2][-1] if size > 0 else np.ones(B.shape[1] + 1)
    solution = -size * smallest[:-1] / smallest[-1]
    return coordinates.origin + coordinates.T @ (scale * (Vt[kept].T @ solution))


def augmented(own: Factor, coordinates: WhitenedCoordinates, regularisation: float) -> Factor:
    """A problem in u augmented by the rows of the prior, triangular again.

    `regularisation` is the weight of bodies; unknowns of joints have the prior of the coordinates.
    """
    others = 0.0 if coordinates.joint_prior is None else coordinates.joint_prior
    prior = np.diag(np.sqrt(regularisation) * coordinates.inertial + others)
    Q, R = np.linalg.qr(np.vstack([own.R, prior]))
    return Factor(R, Q.T @ np.append(own.z, np.zeros(len(prior))), own.rest)


def row_weights(stack: Stack, x: Array, floor: Array) -> Array:
    """1/σ² of each row from its residuals, σ no less than `floor`; 0 for rows without samples."""
    counts = np.array(stack.counts, dtype=np.float64)
    variance = stack.squares(x) / np.maximum(counts, 1.0)
    return np.where(counts > 0, 1.0 / np.maximum(variance, floor**2), 0.0)


def noise_floor(stack: Stack) -> Array:
    """Least σ of each row, by rounding: it keeps weights finite."""
    sizes = np.sqrt(stack.squares(np.zeros(stack.n_unknowns)) / np.maximum(np.array(stack.counts), 1))
    return np.maximum(1e-6 * sizes, 1e-12)


def covariance(
    factor: Factor, coordinates: WhitenedCoordinates, regularisation: float, bandwidth: float
) -> Array:
    """Covariance of x for rows weighted by 1/σ²: (YᵀW Y)⁻¹ / `bandwidth`, the part of the noise after F.

    With regularisation, the posterior covariance. Without, unidentifiable parameters have infinite variance.
    """
    own = coordinates.factor(factor)
    own = Factor(own.R * np.sqrt(bandwidth), own.z, own.rest)
    if regularisation > 0:
        own = augmented(own, coordinates, regularisation * bandwidth)
    A, scale = _scaled(own.R)
    S, Vt = _svd(A)[1:]
    kept = _RANK_TOLERANCE * S[0] < S
    spread = coordinates.T @ (scale[:, None] * Vt.T)
    C = (spread[:, kept] / S[kept] ** 2) @ spread[:, kept].T
    open_ones = np.linalg.norm(spread[:, ~kept], axis=1) > 1e-6 * np.linalg.norm(spread, axis=1)
    dropped = np.abs(coordinates.T[:, scale == 0]).max(axis=1, initial=0.0)
    open_ones |= dropped > 1e-6 * np.abs(coordinates.T).max(axis=1, initial=0.0)
    open_ones[list(coordinates.fixed)] = True
    C[open_ones, open_ones] = np.inf
    return C


def posterior(factor: Factor, coordinates: WhitenedCoordinates, redundancy: float, usual: Array) -> Array:
    """Posterior covariance of x for predictions: `redundancy` samples count as one, and nothing is infinite.

    The prior σ is 0.3 of a body, and a tenth of the usual size of an unknown of a joint.
    """
    own = coordinates.factor(factor)
    others = list(coordinates.others)
    prior = coordinates.inertial / _BODY_SIGMA
    prior[others] = coordinates.T[others, others] / (_JOINT_SIGMA * usual[others])
    A, scale = _scaled(np.vstack([own.R / np.sqrt(redundancy), np.diag(prior)]))
    spread = coordinates.T @ (scale[:, None] * np.linalg.pinv(A, rcond=1e-12))
    C = np.asarray(spread @ spread.T)
    fixed = list(coordinates.fixed)
    C[fixed, fixed] += (_JOINT_SIGMA * usual[fixed]) ** 2
    return C


def residual_redundancy(regression: Regression, samples: Samples, x: Array, of_band: float) -> float:
    """Redundancy N / N_eff: recurrence times the geometric mean of that of the band and of the residuals.

    The latter is the mean autocorrelation time of the rows; those with next to no residual are taken to be as
    redundant as the motion.
    """
    s = samples.thinned(thinning(samples))
    left = s.y - low_pass(regression.predict(x, s.q, s.v, s.a), s.rate, s.cutoff)
    used = np.all(s.weights > 0, axis=1)
    left, y = (left[used], s.y[used]) if used.any() else (left, s.y)
    is_noisy = np.std(left, axis=0) > MIN_RELATIVE_RESIDUAL * np.sqrt(np.mean(y**2, axis=0))
    time = np.full(len(is_noisy), max(1.0, of_band))
    time[is_noisy] = autocorrelation_time(left[:, is_noisy])
    return float(np.sqrt(max(1.0, of_band) * max(1.0, float(np.mean(time)))) * recurrence(s.q))


def coloured(regression: Regression, samples: Samples, x: Array) -> Array:
    """Fraction of each row's squared residuals that is not white noise, (rows,): errors of the model.

    Differences of neighbouring samples have twice the variance of white noise, and little else.
    """
    middle = slice(
        max(0, (len(samples) - _MAX_SAMPLES_FOR_COLOUR) // 2), (len(samples) + _MAX_SAMPLES_FOR_COLOUR) // 2
    )
    q, v, a, raw = samples.q[middle], samples.v[middle], samples.a[middle], samples.raw[middle]
    left = raw - low_pass(regression.predict(x, q, v, a), samples.rate, samples.cutoff)
    white = np.mean(np.diff(left, axis=0) ** 2, axis=0) / 2
    return np.clip(1.0 - white / np.maximum(np.mean(left**2, axis=0), 1e-300), 0.0, 1.0)


def huber(
    regression: Regression,
    stretches: Sequence[Samples],
    x: Array,
    fit: Callable[[Stack], Array],
    form: str = "torque",
) -> Array:
    """x of Huber's loss: quadratic up to 1.345 robust standard deviations, linear beyond; starts from x."""
    for _ in range(_REWEIGHTINGS):
        reweighted = []
        for samples in stretches:
            predicted = regression.predict(x, samples.q, samples.v, samples.a)
            left = samples.y - low_pass(predicted, samples.rate, samples.cutoff)
            reweighted.append(replace(samples, weights=_huber_weights(left, samples.weights)))
        x = fit(Stack.together([stacked(regression, samples, form) for samples in reweighted]))
    return x


def _huber_weights(residuals: Array, weights: Array) -> Array:
    """Weights of an iteratively reweighted fit: residuals beyond 1.345 robust σ count by their size only."""
    used = weights > 0
    result = np.array(weights)
    for k in range(residuals.shape[1]):
        r = np.abs(residuals[:, k])
        sigma = 1.4826 * np.median(r[used[:, k]]) if used[:, k].any() else 0.0
        if sigma > 0:
            result[:, k] *= np.minimum(1.0, _HUBER_THRESHOLD * sigma / np.maximum(r, 1e-300))
    return result


def _svd(A: Array) -> tuple[Array, Array, Array]:
    """SVD by QR iteration: NumPy's divide and conquer sometimes fails on rank-deficient factors."""
    U, S, Vt = linalg.svd(A, full_matrices=False, lapack_driver="gesvd")
    return U, S, Vt


def _scaled(R: Array) -> tuple[Array, Array]:
    """R with columns of length 1, and what they were multiplied by: 0 for those that are rounding alone."""
    size = np.linalg.norm(R, axis=0)
    felt = size > _MIN_COLUMN * size.max(initial=0.0)
    scale = np.where(felt, 1.0 / np.where(felt, size, 1.0), 0.0)
    return R * scale, scale
