"""Noise of the motion of a log, and the low-pass that a prediction from it needs."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import position_rates
from helicoid.robot import Robot

_QUANTILE = 0.9  # of the differences: lost samples and outliers are fewer than a tenth
_MIN_SAMPLES = 20


def motion_noise(robot: Robot, log: Log) -> Array:
    """Size of the white noise of velocities, (nv,), up to a constant: third differences hold little else."""
    v = position_rates(robot, np.asarray(log.q), log.rate) if log.v is None else np.asarray(log.v)
    if len(v) < _MIN_SAMPLES:
        return np.full(robot.nv, np.inf)
    return np.asarray(np.quantile(np.abs(np.diff(v, 3, axis=0)), _QUANTILE, axis=0))


def prediction_cutoff(cutoff: float | None, fitted: Array, new: Array) -> float | None:
    """Cut-off (Hz) for a motion with `new` noise where `cutoff` was selected for motions with `fitted` noise.

    After it accelerations have the same noise, which grows with the cut-off to the power 3/2. A planned
    motion has no noise: a low-pass would only round off the steps of Coulomb friction.

    >>> noise = np.array([0.01])
    >>> round(prediction_cutoff(4.0, 8 * noise, noise), 6), prediction_cutoff(4.0, noise, 2 * noise)
    (16.0, 4.0)
    >>> prediction_cutoff(4.0, noise, 0 * noise) is None
    True
    """
    size, noise = float(np.sqrt(np.sum(fitted**2))), float(np.sqrt(np.sum(new**2)))
    if cutoff is None or noise >= size:
        return cutoff
    return cutoff * (size / noise) ** (2 / 3) if noise > 0 else None
