"""Instrumental variables with simulated instruments (Janot, Vandanjon and Gautier 2014).

Noise that enters the regressor Y through the measured motion biases least squares. Instruments Z, the
regressor of a simulated motion, are independent of it: x of Zᵀ W (y - Y x) = 0 is not biased by it. The
simulated robot follows the recorded one with a closed loop of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.rows import blocks
from helicoid.identification.linear.solving.whitened_coordinates import WhitenedCoordinates
from helicoid.identification.logs.filtering import bandwidth, derivative, low_pass
from helicoid.identification.logs.preparation import Samples, position_rates
from helicoid.robot import Robot

_NATURAL_FREQUENCY = 0.05  # of the controlled robot, of the sampling rate
_REFERENCE_CUTOFF = 2.0  # bandwidths of the motion
_RANK_TOLERANCE = 1e-10  # of Zᵀ W Y, which is quadratic in the motion


def instrumental(
    regression: Regression, stretches: Sequence[Samples], weights: Array, coordinates: WhitenedCoordinates
) -> Array:
    """x of the instrumental variable equations, rows having `weights` (1/σ²)."""
    n = len(regression.parameters)
    A, b = np.zeros((n, n)), np.zeros(n)
    for samples in stretches:
        followed = simulated(regression.robot, samples)
        pairs = zip(blocks(regression, samples), blocks(regression, followed), strict=True)
        for (Y, y, _, counted, _), (Z, *_) in pairs:
            for k, on in enumerate(regression.supports):
                ZW = Z[k].T * (counted[:, k] * weights[k])
                A[np.ix_(on, on)] += ZW @ Y[k]
                b[on] += ZW @ y[:, k]
    G = coordinates.T.T @ A @ coordinates.T
    right = coordinates.T.T @ (b - A @ coordinates.origin)
    size = np.sqrt(np.abs(np.diag(G)))
    scale = np.where(size > 0, 1.0 / np.where(size > 0, size, 1.0), 0.0)
    solution = np.linalg.lstsq(scale[:, None] * G * scale, scale * right, rcond=_RANK_TOLERANCE)[0]
    return coordinates.origin + coordinates.T @ (scale * solution)


def simulated(robot: Robot, samples: Samples) -> Samples:
    """Motion of the simulated robot under a computed-torque controller with the exact model.

    The parameters cancel: a' = a + 2 ω (v - v') + ω² (q ⊖ q'), by semi-implicit Euler, along a reference
    q, v, a derived from the measured positions alone.
    """
    rate = samples.rate
    cutoff = min(_REFERENCE_CUTOFF * bandwidth(samples.v, rate), 0.4 * rate)
    flat = robot.nq == robot.nv
    q_r = low_pass(samples.q, rate, cutoff) if flat else samples.q
    v_r = low_pass(position_rates(robot, q_r, rate), rate, cutoff)
    a_r = derivative(v_r, rate)
    ω = 2 * np.pi * _NATURAL_FREQUENCY * rate
    q, v, a = np.array(q_r), np.array(v_r), np.array(a_r)
    for i in range(len(q)):
        behind = q_r[i] - q[i] if flat else np.asarray(robot.difference(q[i], q_r[i]))
        a[i] = a_r[i] + 2 * ω * (v_r[i] - v[i]) + ω * ω * behind
        if i + 1 < len(q):
            v[i + 1] = v[i] + a[i] / rate
            step = v[i + 1] / rate
            q[i + 1] = q[i] + step if flat else np.asarray(robot.integrate(q[i], step))
    return replace(samples, q=q, v=v, a=a)
