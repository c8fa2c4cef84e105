"""Weighted nonlinear least squares with a prior, and standard deviations of the estimate.

Gauss-Newton with Levenberg-Marquardt damping (Nocedal and Wright 2006, section 10.3), first with the noise
taken as white, then on residuals whitened by the slow noise that they show (generalised least squares).
Standard deviations come from sums of the gradient over blocks, longer than the correlation that is left
(a sandwich estimator: White 1980; Newey and West 1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.aerial.identification.noise import SlowNoise

STEP = 1e-3  # of the prior's deviation, for difference quotients
_TOLERANCE = 0.03  # of the deviations found: change at which iterations end
_MIN_NOISE = 1e-4  # m/s², rad/s²: of a channel
_WHITENINGS = 2  # times that slow noise is estimated
_MAX_REJECTED = 8  # steps that do not descend, before the iterations end


class Fit(NamedTuple):
    """Point, its covariance, and the deviation of the residuals."""

    point: Array
    covariance: Array
    noise: Array


class Part(NamedTuple):
    """Residuals (M, channels) of a part of the samples, and their derivatives by `columns` of the point."""

    residuals: Array
    jacobian: Array
    columns: NDArray[np.intp]


class Problem(Protocol):
    """Residuals of parts of the samples, with a normal prior."""

    @property
    def prior(self) -> Array:
        """Mean of the prior."""

    @property
    def spread(self) -> Array:
        """Standard deviations of the prior."""

    @property
    def share(self) -> float:
        """Of a sample beside the prior: what neighbours have in common counts once."""

    @property
    def block(self) -> int:
        """Samples in a row whose residuals may be correlated."""

    def residuals(self, point: Array) -> list[Array]:
        """Measured less predicted, (M, channels) of each part."""

    def linearised(self, point: Array) -> list[Part]:
        """The same with derivatives."""

    def slow_noise(self, left: Sequence[Array]) -> SlowNoise | None:
        """Slow noise that residuals of the parts show; None to take them as white."""


def deviations(left: Sequence[Array]) -> Array:
    """Standard deviation of each channel; 1 of those that are not measured."""
    size = np.sqrt(np.mean(np.concatenate(left) ** 2, axis=0))
    return np.where(size > 0, np.maximum(size, _MIN_NOISE), 1.0)


def _cost(problem: Problem, left: Sequence[Array], point: Array) -> float:
    """Twice the negative logarithm of the posterior, noise of each channel eliminated."""
    pulled = (point - problem.prior) / problem.spread
    rows = sum(map(len, left))
    return float(problem.share * 2 * rows * np.sum(np.log(deviations(left))) + pulled @ pulled)


def fit(problem: Problem, start: Array, iterations: int = 30, near: bool = False) -> Fit:
    """The most probable point, from a start; `near` starts with slow noise, as from a point found before."""
    point, slow = np.array(start), None
    if not near:
        point, parts = _minimum(problem, None, point, iterations)
    for _ in range(1 if near else _WHITENINGS):
        slow = problem.slow_noise(problem.residuals(point))
        if slow is None and not near:
            break
        point, parts = _minimum(problem, slow, point, iterations)
    parts = _whitened(parts, slow)
    noise = deviations([part.residuals for part in parts])
    return Fit(point, _covariance(problem, parts, noise, point), noise)


def _minimum(
    problem: Problem, slow: SlowNoise | None, start: Array, iterations: int
) -> tuple[Array, list[Part]]:
    """The most probable point with given slow noise, and the problem linearised there."""
    point, damping = start, 1e-3
    plain = problem.linearised(point)
    for _ in range(iterations):
        parts = _whitened(plain, slow)
        left = [part.residuals for part in parts]
        H, g = _normal(problem, parts, deviations(left), point)
        cost = _cost(problem, left, point)
        sigma = np.sqrt(np.diag(np.linalg.inv(H)))
        for _ in range(_MAX_REJECTED):
            change = np.linalg.solve(H + damping * np.diag(np.diag(H)), g)
            change = np.clip(change, -problem.spread, problem.spread)
            left = problem.residuals(point + change)
            if np.isfinite(np.concatenate(left)).all():
                left = left if slow is None else [slow.whitened(k, one) for k, one in enumerate(left)]
                if _cost(problem, left, point + change) < cost:
                    break
            damping *= 8
        else:
            break
        damping = max(damping / 8, 1e-9)
        point = point + change
        plain = problem.linearised(point)
        if np.all(np.abs(change) < _TOLERANCE * sigma):
            break
    return point, plain


def _whitened(parts: list[Part], slow: SlowNoise | None) -> list[Part]:
    if slow is None:
        return parts
    return [
        Part(slow.whitened(k, part.residuals), slow.whitened(k, part.jacobian), part.columns)
        for k, part in enumerate(parts)
    ]


def _normal(problem: Problem, parts: Sequence[Part], noise: Array, point: Array) -> tuple[Array, Array]:
    H, g = np.diag(1 / problem.spread**2), (problem.prior - point) / problem.spread**2
    for r, J, columns in parts:
        A, b = (J / noise[:, None]).reshape(-1, len(columns)), (r / noise).ravel()
        H[np.ix_(columns, columns)] += problem.share * (A.T @ A)
        g[columns] += problem.share * (A.T @ b)
    return H, g


def _covariance(problem: Problem, parts: Sequence[Part], noise: Array, point: Array) -> Array:
    n = len(point)
    H, _ = _normal(problem, parts, noise, point)
    scores = []
    for r, J, columns in parts:
        each = np.zeros((len(r), n))
        each[:, columns] = problem.share * np.einsum("mkp,mk->mp", J / noise[:, None], r / noise)
        scores += [each[k : k + problem.block].sum(axis=0) for k in range(0, len(each), problem.block)]
    S = np.stack(scores)
    S = S - S.mean(axis=0)
    blocks = len(S)
    middle = S.T @ S * blocks / max(blocks - min(n, blocks // 2), 1) + np.diag(1 / problem.spread**2)
    inverse = np.linalg.inv(H)
    C = inverse @ middle @ inverse
    # Few blocks miss directions: no variance is below that of white noise.
    white = problem.share * np.diag(inverse)
    larger = np.sqrt(np.maximum(1.0, white / np.diag(C)))
    return np.asarray(C * np.outer(larger, larger))
