"""Unknowns measured by what the description says: coordinates in which "a tenth off" means the same for all.

The ten parameters of a body become the elements of L⁻¹ P L⁻ᵀ, with P its pseudo-inertia and L Lᵀ that of the
described body (Lee, Wensing and Park 2019): distances do not depend on units or on the choice of frames, and
P is positive definite where the 4 × 4 matrix of these elements is. Other unknowns are divided by a size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helicoid.identification.measurement import Measurement
from helicoid.identification.prior import Whitening
from helicoid.identification.stack import Factor
from helicoid.model.inertia import Array, Inertia

_RADIUS = 0.01  # m: no body is thinner than this where it serves as a measure
_PART = 0.01  # of a robot's mean mass of bodies: nor lighter


@dataclass(frozen=True, eq=False)
class Coordinates:
    """x = origin + T u: `bodies` are the first of each body's ten elements of u; `others` the rest.

    ‖u‖² over the bodies is the squared distance from the description.
    """

    origin: Array
    T: Array
    bodies: tuple[int, ...]
    others: tuple[int, ...]

    def factor(self, factor: Factor) -> Factor:
        """The same problem in u."""
        return Factor(factor.R @ self.T, factor.z - factor.R @ self.origin, factor.rest, factor.n_equations)

    def stated(self, start: int) -> Array:
        """The whitened elements of a described body, the first of which is `start`."""
        own = slice(start, start + 10)
        return np.asarray(np.linalg.solve(self.T[own, own], self.origin[own]), dtype=np.float64)

    @property
    def inertial(self) -> Array:
        """1 for the elements of u that belong to bodies, else 0."""
        mask = np.ones(len(self.origin))
        mask[list(self.others)] = 0.0
        return mask


def coordinates(measurement: Measurement, factor: Factor) -> Coordinates:
    """Whitened bodies; other unknowns so that their columns are as long as the longest of a body."""
    parameters = measurement.parameters
    size = np.linalg.norm(factor.R, axis=0)
    T = np.diag(1.0 / np.where(size > 0, size, 1.0))
    origin = np.array(parameters.nominal)
    bodies: list[int] = []
    own = parameters.groups.get("inertia", slice(0, 0))
    inertias = [Inertia.from_parameters(origin[k : k + 10]) for k in range(own.start, own.stop, 10)]
    masses = [inertia.mass for inertia in inertias if inertia.mass > 0]
    least = _PART * (float(np.mean(masses)) if masses else 1.0)
    for start, inertia in zip(range(own.start, own.stop, 10), inertias, strict=True):
        solid = reference(inertia, least)
        T[start : start + 10, start : start + 10] = Whitening(solid).inverse
        if inertia.mass <= 0 or inertia.doubts():
            origin[start : start + 10] = solid.parameters
        bodies.append(start)
    others = [k for k in range(len(origin)) if not own.start <= k < own.stop]
    longest = float(np.linalg.norm(factor.R @ T[:, own], axis=0).max(initial=0.0))
    T[others, others] *= longest or 1.0
    return Coordinates(origin, T, tuple(bodies), tuple(others))


def reference(inertia: Inertia, least_mass: float) -> Inertia:
    """The body that is nearest to a described one and has mass and extent in every direction."""
    m, c = max(inertia.mass, least_mass), inertia.com
    second = np.trace(inertia.at_com) / 2 * np.eye(3) - inertia.at_com
    moments, axes = np.linalg.eigh(second)
    second = axes @ np.diag(np.maximum(moments, m * _RADIUS**2)) @ axes.T
    return Inertia.from_com(m, c, np.trace(second) * np.eye(3) - second)
