"""Autocorrelation of sampled signals: how many samples count as one, and how often a motion returns."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array

_MIN_AMPLITUDE = 0.02  # of the largest of all joints: smaller motions are noise


def recurrence(q: Array) -> float:
    """How many times a motion (N, n) comes back to where it was, and with it the errors of the model.

    Σ ρ_k² over all lags relative to that up to the first ρ_k < 0; ρ is the mean autocorrelation of the joints
    that move. It is 1 for a motion that never returns, and about the number of periods for a periodic one.
    """
    size = q.std(axis=0)
    moving = size > _MIN_AMPLITUDE * size.max(initial=0.0)
    if not moving.any():
        return 1.0
    correlation = _autocorrelation(q[:, moving]).mean(axis=1, keepdims=True)
    once = np.cumprod(correlation > 0, axis=0) * correlation
    return float((2 * np.sum(correlation**2) - 1) / (2 * np.sum(once**2) - 1))


def autocorrelation_time(x: Array) -> Array:
    """1 + 2 Σ ρ_k of each column of x (N, n), up to the first ρ_k < 0: N / N_eff of a mean."""
    correlation = _autocorrelation(x)
    positive = np.cumprod(correlation > 0, axis=0)
    return np.maximum(2 * np.sum(correlation * positive, axis=0) - 1, 1.0)


def _autocorrelation(x: Array) -> Array:
    """ρ_k of each column of x (N, n), k from 0 to N - 1."""
    x = x - x.mean(axis=0)
    covariance = np.fft.irfft(np.abs(np.fft.rfft(x, 2 * len(x), axis=0)) ** 2, axis=0)[: len(x)]
    return np.asarray(covariance / np.maximum(covariance[0], 1e-300))
