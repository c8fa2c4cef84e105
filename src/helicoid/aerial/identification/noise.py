"""Slow noise in residuals, such as that of wind that nothing measures, and its whitening.

Residuals are a sum r = s + e of an Ornstein-Uhlenbeck process s, whose channels share a covariance Σ and a
correlation time τ, and of white noise e. Innovations of its Kalman filter are white (Anderson and Moore 1979,
chapters 5 and 9): least squares on them weighs slow errors as little as they tell, and quick ones, such as
those of lags, as much. Wind stays in the world while the vehicle turns, so s is level with the world's axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array

_TIMES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # s, correlation times that are compared
_MIN_WHITE = 0.02  # share of a channel's variance that is white
_LAGS = 8  # of the covariances over time that tell Σ
_MIN_SIZE = 1e-4  # m/s², rad/s²: of a channel
_SETTLED = 1e-9  # change of a filter's variance from which on its gain is constant
SLOW = 6  # channels that wind moves: specific force and angular acceleration


@dataclass(frozen=True, eq=False)
class SlowNoise:
    """Slow and white noise of channels (K), for residuals of several parts of the flights.

    Attributes:
        window: samples that the smoother makes alike: as many interleaved series are filtered, each alone.
        size: of each channel, to which the covariances are relative.
        slow, white: covariances of s and e.
        phi: correlation of s from a sample of a series to its next.
        headings: of each part, the yaw angle at each row; None where unknown.
    """

    window: int
    size: Array
    slow: Array
    white: Array
    phi: float
    headings: Sequence[Array | None]

    def whitened(self, part: int, rows: Array) -> Array:
        """Innovations of rows (M, K, ...) of a part, over their standard deviations."""
        turned = _levelled(rows, self.headings[part])
        count = -(-len(rows) // self.window)
        padded = np.zeros((count * self.window, *rows.shape[1:]))
        padded[: len(rows)] = turned
        series = padded.reshape(count, self.window, rows.shape[1], -1)
        return self.innovations(series)[0].reshape(padded.shape)[: len(rows)]

    def innovations(self, series: Array) -> tuple[Array, float]:
        """Innovations of series (N, window, K, columns), and the sum of the logarithms of deviations."""
        size, found, mean = self.size[:, None], np.empty_like(series), np.zeros_like(series[0])
        P, change, logarithms = self.slow, np.inf, 0.0
        for k, row in enumerate(series):
            if change > _SETTLED:
                root = np.linalg.cholesky(P + self.white)
                inverse = np.linalg.inv(root)
                K = P @ inverse.T @ inverse
                after = self.phi**2 * (P - K @ P) + (1 - self.phi**2) * self.slow
                change, P = float(np.abs(after - P).max()), after
                logarithm = float(np.log(np.diag(root)).sum())
            error = row / size - mean
            found[k] = inverse @ error
            mean = self.phi * (mean + K @ error)
            logarithms += logarithm
        return found, logarithms


def slow_noise(
    left: Sequence[Array], headings: Sequence[Array | None], window: int, dt: float
) -> SlowNoise | None:
    """The most probable of residuals (M, K) of parts of the flights; None where they are too short.

    Σ follows from covariances between a sample and later ones, by least squares for each τ.
    """
    levelled = [_levelled(rows, yaw) for rows, yaw in zip(left, headings, strict=True)]
    size = np.sqrt(np.mean(np.concatenate(levelled) ** 2, axis=0))
    size = np.where(size > 0, np.maximum(size, _MIN_SIZE), 1.0)
    scaled = [rows / size for rows in levelled]
    longest = max(map(len, scaled)) // window
    lags = range(min(_LAGS, longest // 4) + 1)
    if len(lags) < 3:
        return None
    covariances = np.stack([_covariance(scaled, lag * window) for lag in lags])
    total = np.where(np.diag(covariances[0]) > 0, np.diag(covariances[0]), 1.0)
    candidates = []
    for tau in _TIMES:
        phi = float(np.exp(-window * dt / tau))
        weights = phi ** np.array(lags)[1:]
        slow = _positive(np.tensordot(weights, covariances[1:], 1) / (weights @ weights))
        white = np.diag(np.maximum(total - np.diag(slow), _MIN_WHITE * total))
        candidates.append(SlowNoise(window, size, slow, white, phi, headings))
    return min(candidates, key=lambda one: _cost(one, levelled))


def _cost(noise: SlowNoise, left: Sequence[Array]) -> float:
    """Negative logarithm of the likelihood."""
    cost = 0.0
    for rows in left:
        count = len(rows) // noise.window
        series = rows[: count * noise.window].reshape(count, noise.window, rows.shape[1], 1)
        r, logarithms = noise.innovations(series)
        cost += 0.5 * float(np.sum(r**2)) + noise.window * logarithms
    return cost


def _covariance(left: Sequence[Array], lag: int) -> Array:
    """Symmetric part of the covariance between samples and those `lag` later."""
    long = [rows for rows in left if len(rows) > lag]
    count = sum(len(rows) - lag for rows in long)
    C = np.sum([rows[lag:].T @ rows[: len(rows) - lag] for rows in long], axis=0) / count
    return np.asarray(0.5 * (C + C.T))


def _positive(covariance: Array) -> Array:
    """The nearest positive semidefinite covariance of the slow channels, zero of the others."""
    values, vectors = np.linalg.eigh(covariance[:SLOW, :SLOW])
    found = np.zeros_like(covariance)
    found[:SLOW, :SLOW] = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return found


def _levelled(rows: Array, yaw: Array | None) -> Array:
    """Rows (M, K, ...) with specific force and angular acceleration turned by the yaw angle."""
    if yaw is None:
        return rows
    shape = (-1, *[1] * (rows.ndim - 2))
    c, s, found = np.cos(yaw).reshape(shape), np.sin(yaw).reshape(shape), rows.copy()
    for k in (0, 3):
        x, y = rows[:, k], rows[:, k + 1]
        found[:, k], found[:, k + 1] = c * x - s * y, s * x + c * y
    return found
