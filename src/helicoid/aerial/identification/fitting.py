"""Weighted nonlinear least squares with a prior, and standard deviations of the estimate.

Gauss-Newton with Levenberg-Marquardt damping (Nocedal and Wright 2006, section 10.3). Residuals of gusts
are correlated over time, so that standard deviations come from sums of the gradient over blocks, longer
than that correlation (a sandwich estimator: White 1980; Newey and West 1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.aerial.identification.model import predicted, speeds
from helicoid.aerial.identification.parameters import Layout
from helicoid.aerial.identification.sampling import Stretch

_BLOCK = 1.0  # s
_STEP = 1e-3  # of the prior's deviation, for difference quotients
_TOLERANCE = 0.03  # of the deviations found: change at which iterations end
_MIN_NOISE = 1e-4  # m/s², rad/s²: of a channel
_MAX_REJECTED = 8  # steps that do not descend, before the iterations end
_MOVES_SPEEDS = ("speed_at_mean", "speed_slope", "voltage_exponent", "lag", "lag_ratio", "delay")


class Fit(NamedTuple):
    """Point, its covariance, and the deviation of the six residuals."""

    point: Array
    covariance: Array
    noise: Array


class _Linear(NamedTuple):
    residuals: list[Array]  # of each stretch, (M, 6)
    jacobians: list[Array]  # (M, 6, parameters)


def residuals(layout: Layout, data: Sequence[Stretch], point: Array) -> list[Array]:
    """Measured less predicted, (M, 6) of each stretch; without the margins that the smoother shortens."""
    (own,) = speeds(layout, data, point[None])
    return [_inner(s, s.measured - predicted(layout, s, x, point)) for s, x in zip(data, own, strict=True)]


def _inner(stretch: Stretch, rows: Array) -> Array:
    return rows[stretch.window : -stretch.window] * stretch.present


def _linearised(layout: Layout, data: Sequence[Stretch], point: Array) -> _Linear:
    steps = _STEP * layout.spread
    moving = [k for k, name in enumerate(layout.names) if name in _MOVES_SPEEDS]
    points = np.stack([point, *(point + steps[k] * np.eye(len(point))[k] for k in moving)])
    driven = speeds(layout, data, points)
    left, slopes = [], []
    for i, stretch in enumerate(data):
        base = predicted(layout, stretch, driven[0][i], point)
        J = np.empty((*base.shape, len(point)))
        for k in range(len(point)):
            other = point + steps[k] * np.eye(len(point))[k]
            x = driven[1 + moving.index(k)][i] if k in moving else driven[0][i]
            J[..., k] = (predicted(layout, stretch, x, other) - base) / steps[k]
        inner = slice(stretch.window, -stretch.window)
        left.append(_inner(stretch, stretch.measured - base))
        slopes.append(J[inner] * stretch.present[:, None])
    return _Linear(left, slopes)


def deviations(left: Sequence[Array]) -> Array:
    """Standard deviation of each of the six channels; 1 of those that are not measured."""
    size = np.sqrt(np.mean(np.concatenate(left) ** 2, axis=0))
    return np.where(size > 0, np.maximum(size, _MIN_NOISE), 1.0)


def _cost(layout: Layout, left: Sequence[Array], share: float, point: Array) -> float:
    """Twice the negative logarithm of the posterior, noise of each channel eliminated."""
    pulled = (point - layout.prior) / layout.spread
    rows = sum(map(len, left))
    return float(share * 2 * rows * np.sum(np.log(deviations(left))) + pulled @ pulled)


def fit(layout: Layout, data: Sequence[Stretch], start: Array, iterations: int = 30) -> Fit:
    """Parameters of stretches, from a start.

    The smoother makes neighbours alike: of each of its windows one sample counts beside the prior.
    """
    share = 1.0 / data[0].window
    point, damping = np.array(start), 1e-3
    linear = _linearised(layout, data, point)
    for _ in range(iterations):
        H, g = _normal(layout, linear, deviations(linear.residuals), share, point)
        cost = _cost(layout, linear.residuals, share, point)
        sigma = np.sqrt(np.diag(np.linalg.inv(H)))
        for _ in range(_MAX_REJECTED):
            change = np.linalg.solve(H + damping * np.diag(np.diag(H)), g)
            change = np.clip(change, -layout.spread, layout.spread)
            left = residuals(layout, data, point + change)
            if np.isfinite(np.concatenate(left)).all() and _cost(layout, left, share, point + change) < cost:
                break
            damping *= 8
        else:
            break
        damping = max(damping / 8, 1e-9)
        point = point + change
        linear = _linearised(layout, data, point)
        if np.all(np.abs(change) < _TOLERANCE * sigma):
            break
    noise = deviations(linear.residuals)
    return Fit(point, _covariance(layout, data, linear, noise, share, point), noise)


def _normal(layout: Layout, linear: _Linear, noise: Array, share: float, point: Array) -> tuple[Array, Array]:
    n = len(point)
    H, g = np.diag(1 / layout.spread**2), (layout.prior - point) / layout.spread**2
    for r, J in zip(linear.residuals, linear.jacobians, strict=True):
        A, b = (J / noise[:, None]).reshape(-1, n), (r / noise).ravel()
        H += share * (A.T @ A)
        g += share * (A.T @ b)
    return H, g


def _covariance(
    layout: Layout, data: Sequence[Stretch], linear: _Linear, noise: Array, share: float, point: Array
) -> Array:
    n = len(point)
    H, _ = _normal(layout, linear, noise, share, point)
    scores = []
    for stretch, r, J in zip(data, linear.residuals, linear.jacobians, strict=True):
        each = share * np.einsum("mkp,mk->mp", J / noise[:, None], r / noise)
        size = max(1, round(_BLOCK / stretch.dt))
        scores += [each[k : k + size].sum(axis=0) for k in range(0, len(each), size)]
    S = np.stack(scores)
    S = S - S.mean(axis=0)
    blocks = len(S)
    middle = S.T @ S * blocks / max(blocks - min(n, blocks // 2), 1) + np.diag(1 / layout.spread**2)
    inverse = np.linalg.inv(H)
    return inverse @ middle @ inverse
