"""One body, such as a load, by physically consistent least squares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.stack import Factor
from helicoid.identification.linear.solving.consistent import program
from helicoid.identification.linear.solving.estimators import augmented
from helicoid.identification.linear.solving.whitened_coordinates import WhitenedCoordinates
from helicoid.identification.linear.solving.whitening import Whitening
from helicoid.model.inertia import Inertia

_SLIGHT_REGULARISATION = 1e-4


def _free_body(factor: Array) -> Array:
    """π (10) of one body from the triangular factor (11, 11) of [Y y], by plain least squares."""
    R, z = factor[:-1, :-1], factor[:-1, -1]
    scale = 1.0 / np.maximum(np.linalg.norm(R, axis=0), 1e-300)
    return np.asarray(scale * np.linalg.lstsq(R * scale, z, rcond=1e-9)[0], dtype=np.float64)


class BodyFit(NamedTuple):
    """π (10) of one body, and S (10, k) with covariance C = S Sᵀ; rows had `noise` as their variance."""

    pi: Array
    spread: Array
    noise: float

    def moved_by(self, gradient: Array) -> Array:
        """Change of π by Yᵀ dy = `gradient` (10,), weighted as the fit."""
        return np.asarray(self.spread @ (self.spread.T @ gradient) / self.noise)


def consistent_body(factor: Array, equations: float, least_noise: float = 0.0) -> BodyFit:
    """One body from the triangular factor (11, 11) of [Y y], physically consistent.

    The variance of its rows is estimated from the residuals, and not below `least_noise`.
    """
    R, z = factor[:-1, :-1], factor[:-1, -1]
    free = _free_body(factor)
    mass = max(abs(float(free[0])), 1e-3)
    # A ball of 10 cm as reference, and a regularisation that only matters in unidentifiable directions.
    reference = Inertia.from_pseudo(mass * np.diag([0.01, 0.01, 0.01, 1.0]))
    T = np.asarray(Whitening(reference).inverse, dtype=np.float64)
    rest = float(factor[-1, -1] ** 2)
    noise = max((rest + float(np.sum((R @ free - z) ** 2))) / max(1.0, equations - 10), least_noise, 1e-18)
    whitened = Factor(R @ T / np.sqrt(noise), (z - R @ reference.parameters) / np.sqrt(noise), 0.0)
    own = WhitenedCoordinates(reference.parameters, T, (0,), ())
    u = program(augmented(whitened, own, _SLIGHT_REGULARISATION), own, np.zeros((0, 10)), np.zeros(0))
    # By singular values: without noise RᵀR is so large that the regularisation would be lost in rounding.
    _, singular, V = np.linalg.svd(whitened.R)
    return BodyFit(own.origin + T @ u, T @ V.T / np.sqrt(singular**2 + _SLIGHT_REGULARISATION), noise)
