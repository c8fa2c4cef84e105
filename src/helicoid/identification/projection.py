"""The nearest parameters that bodies can have: least squares over cones, by alternating directions.

    min (θ - θ̂)ᵀ Λ (θ - θ̂)   with every pseudo-inertia ⪰ ε of its reference, and some elements >= 0

In whitened coordinates w = W θ the cones are those of 4 × 4 matrices with eigenvalues >= ε, onto which
clipping eigenvalues projects (Boyd et al. 2011, section 5.2, with over-relaxation).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from helicoid.identification.prior import UPPER, WEIGHT, Whitening
from helicoid.model.inertia import Array

Indices = NDArray[np.intp]

_ITERATIONS = 100  # every one ends in the set; more gain a small part of one standard deviation
_RELAXATION = 1.6


class ConsistentSet:
    """Parameters θ of bodies that can exist, and of joints that take energy.

    `bodies`: the whitening of ten parameters, by where they start in θ. `nonnegative`: which of θ are >= 0,
    `scale`: their size. `least`: the smallest eigenvalue of a whitened pseudo-inertia.
    """

    def __init__(
        self, bodies: Mapping[int, Whitening], nonnegative: Indices, scale: Array, least: float = 1e-3
    ) -> None:
        self.bodies, self.nonnegative, self.least = bodies, nonnegative, least
        self.W, self.inverse = np.diag(1 / scale), np.diag(scale)
        for start, whitening in bodies.items():
            own = slice(start, start + 10)
            self.W[own, own], self.inverse[own, own] = whitening.W, whitening.inverse
        self._index = np.array([np.arange(start, start + 10) for start in bodies], dtype=np.intp).reshape(
            -1, 10
        )

    def contains(self, theta: Array) -> bool:
        """Whether all bodies and signs are possible, up to rounding."""
        w = self.W @ theta
        smallest = np.linalg.eigvalsh(_matrices(w[self._index])).min(initial=np.inf)
        return bool(smallest >= self.least * (1 - 1e-6) and w[self.nonnegative].min(initial=0.0) >= 0.0)

    def nearest(self, theta: Array, information: Array) -> Array:
        """The member nearest to θ in the metric of its information matrix."""
        if self.contains(theta):
            return theta
        wanted = self.W @ theta
        H = self.inverse.T @ information @ self.inverse
        # Between the best and the worst known directions: neither the fit nor the cones wait for the other.
        eigenvalues = np.linalg.eigvalsh(H)
        rho = float(np.sqrt(max(eigenvalues[0], 1e-9 * eigenvalues[-1]) * eigenvalues[-1]))
        solve = np.linalg.inv(H + rho * np.eye(len(H)))
        pull = H @ wanted
        z = self._clipped(wanted)
        u = np.zeros_like(z)
        for _ in range(_ITERATIONS):
            w = solve @ (pull + rho * (z - u))
            mixed = _RELAXATION * w + (1 - _RELAXATION) * z
            before, z = z, self._clipped(mixed + u)
            u = u + mixed - z
            if max(np.abs(z - before).max(), np.abs(w - z).max()) < 1e-6:
                break
        return np.asarray(self.inverse @ z, np.float64)

    def _clipped(self, w: Array) -> Array:
        """The nearest member in whitened coordinates."""
        nearest = w.copy()
        nearest[self.nonnegative] = np.maximum(w[self.nonnegative], 0.0)
        if len(self._index):
            values, vectors = np.linalg.eigh(_matrices(w[self._index]))
            clipped = (vectors * np.maximum(values, self.least)[:, None, :]) @ vectors.transpose(0, 2, 1)
            nearest[self._index] = clipped[:, UPPER[0], UPPER[1]] * WEIGHT
        return nearest


def _matrices(w: Array) -> Array:
    """(n, 10) to (n, 4, 4) symmetric."""
    P = np.zeros((len(w), 4, 4))
    P[:, UPPER[0], UPPER[1]] = w / WEIGHT
    P[:, UPPER[1], UPPER[0]] = w / WEIGHT
    return P
