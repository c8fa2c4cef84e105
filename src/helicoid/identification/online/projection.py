"""Projection on physically consistent parameters: least squares over cones, by Newton's method.

    min (w - ŵ)ᵀ H (w - ŵ)   with every pseudo-inertia ⪰ ε of its reference, and some elements >= 0

In whitened coordinates w = W θ the cones are those of 4 × 4 matrices with eigenvalues >= ε, onto which
clipping eigenvalues projects: Π. The solution is z = Π(s) where

    F(s) = H (Π(s) - ŵ) + ρ (s - Π(s)) = 0,      ‖z - solution‖_H <= ‖F(s)‖_H⁻¹ for any s and ρ > 0,

so that the distance left is known, in standard deviations. Steps are Newton's with the derivative of Π (Sun
and Sun 2002), or a part of them; where none gains enough, one of alternating directions (Boyd et al. 2011,
section 5.2, with over-relaxation), s - 1.6 (H + ρ)⁻¹ F(s), takes their place: it converges from any start.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from helicoid._typing import Array
from helicoid.identification.identifiability import prior
from helicoid.identification.identifiability.base_equations import BaseEquations
from helicoid.identification.linear.solving.whitening import UPPER, WEIGHT, Whitening

Indices = NDArray[np.intp]

_TOLERANCE = 0.03  # standard deviations from the solution
_STEP_LENGTHS = (1.0, 0.5, 0.2, 0.05)  # of Newton's step: the first with a fifth of the predicted decrease
_MAX_ITERATIONS = 100  # each iterate is in the set
_RELAXATION = 1.6
_PENALTY = 0.2  # ρ, of the geometric mean of H's eigenvalues: with a tenth to once that, steps are few
_MAX_PENALTY_RATIO = 3.0  # of ρ to that of the last solution
_MIN_INFORMATION = 1e-12  # of the largest element of H

# w (10) of a body to its symmetric matrix (16), and back by the transpose: lengths stay as they are.
_SYMMETRIC = np.zeros((10, 16))
_SYMMETRIC[range(10), 4 * UPPER[0] + UPPER[1]] = _SYMMETRIC[range(10), 4 * UPPER[1] + UPPER[0]] = 1 / WEIGHT


class _Point(NamedTuple):
    """s, z = Π(s), of each body the eigenvalues of s less ε with their vectors, F(s), and ‖F(s)‖_H⁻¹."""

    s: Array
    z: Array
    values: Array
    vectors: Array
    F: Array
    distance: float


class _Start(NamedTuple):
    """Warm start: the last solution s, its ρ, and the factors of F' there, if any were needed."""

    s: Array
    rho: float
    slope: tuple[Array, Array] | None


class ConsistentSet:
    """Set of physically consistent parameters θ, with joints that dissipate energy.

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
        starts = np.array(list(bodies), dtype=np.intp)
        self._index = starts[:, None] + np.arange(10)
        self._blocks = self._index[:, :, None], self._index[:, None, :]
        self._unit = np.eye(len(scale))
        self._last: _Start | None = None

    def contains(self, theta: Array) -> bool:
        """Whether θ is in the set, up to rounding."""
        w = self.W @ theta
        smallest = _eigen(self._matrices(w))[0].min(initial=np.inf)
        return bool(smallest >= self.least * (1 - 1e-6) and w[self.nonnegative].min(initial=0.0) >= 0.0)

    def nearest(self, theta: Array, metric: Array) -> Array:
        """The member nearest to θ, up to 0.03 in the metric H, the information matrix of w = W θ.

        Starts where the last call ended, so that θ and H that have changed little take little time.
        """
        target = self.W @ theta
        H, factor = self._factored(metric)
        rho = _PENALTY * math.exp(2 / len(H) * float(np.log(factor.diagonal()).sum()))
        start = self._last or _Start(target, rho, None)
        if not 1 / _MAX_PENALTY_RATIO < rho / start.rho < _MAX_PENALTY_RATIO:
            z, *_ = self._split(start.s)
            start = _Start(z + (start.s - z) * (start.rho / rho), rho, None)
        z, self._last = self._solved(H, factor, target, start)
        return np.asarray(self.inverse @ z, np.float64)

    def whitened(self, base: Array, covariance: Array, root: Array) -> tuple[Array, Array]:
        """C of δβ = base δθ = C w, and what a prior knows besides β, in the coordinates w.

        P is the prior's `covariance` of θ; `root` is R₀ of R₀ᵀR₀ = (base P baseᵀ)⁻¹. With a factor R of the
        information on δβ that of w is P⁻¹ - Cᵀ R₀ᵀR₀ C + Cᵀ RᵀR C.
        """
        C = base @ self.inverse
        known = np.linalg.inv(self.W @ covariance @ self.W.T)
        rows = root @ C
        return C, known - rows.T @ rows

    def _factored(self, metric: Array) -> tuple[Array, Array]:
        """H, regularised until it is positive definite in floating point too, and its Cholesky factor."""
        size, least = metric.diagonal().max(), _MIN_INFORMATION
        while least < 1.0:
            H = metric + least * size * self._unit
            factor, failed = lapack.dpotrf(H, lower=1, clean=0)
            if not failed:
                return H, factor
            least *= 100.0
        return self._unit, self._unit

    def _solved(self, H: Array, factor: Array, target: Array, start: _Start) -> tuple[Array, _Start]:
        """Π(s) with F(s) = 0, and s."""
        s, rho, slope = start

        def point(s: Array) -> _Point:
            z, values, vectors = self._split(s)
            F = H @ (z - target) + rho * (s - z)
            return _Point(s, z, values, vectors, F, math.sqrt(F @ lapack.dpotrs(factor, F, lower=1)[0]))

        here = point(s)
        least = here.distance
        for _ in range(_MAX_ITERATIONS):
            if here.distance < _TOLERANCE:
                break
            # An earlier derivative is kept as long as it halves the distance.
            there = None if slope is None else point(here.s - lapack.dgetrs(*slope, here.F)[0])
            if there is None or not there.distance < least / 2:
                slope = self._slope(H, rho, here)
                step = lapack.dgetrs(*slope, here.F)[0]
                for length in _STEP_LENGTHS:
                    there = point(here.s - length * step)
                    if there.distance < (1 - 0.2 * length) * least:
                        break
                else:
                    step = np.linalg.solve(H + rho * self._unit, here.F)
                    there, slope = point(here.s - _RELAXATION * step), None
            here = there
            least = min(least, here.distance)
        return here.z, _Start(here.s, rho, slope)

    def _slope(self, H: Array, rho: float, at: _Point) -> tuple[Array, Array]:
        """LU factors of F' = H Π' + ρ (1 - Π')."""
        derivative = self._unit.copy()
        derivative[self.nonnegative, self.nonnegative] = at.s[self.nonnegative] > 0
        derivative[self._blocks] = _derivative(at.values, at.vectors)
        factors = lapack.dgetrf(H @ derivative + rho * (self._unit - derivative))
        return factors[0], factors[1]

    def _split(self, s: Array) -> tuple[Array, Array, Array]:
        """Π(s), the nearest member in whitened coordinates, and the eigenvalues less ε with their vectors."""
        z = s.copy()
        if len(self.nonnegative):
            z[self.nonnegative] = np.maximum(s[self.nonnegative], 0.0)
        values, vectors = _eigen(self._matrices(s))
        clipped = (vectors * np.maximum(values, self.least)[:, None, :]) @ vectors.transpose(0, 2, 1)
        z[self._index] = clipped.reshape(-1, 16) @ _SYMMETRIC.T
        return z, values - self.least, vectors

    def _matrices(self, w: Array) -> Array:
        """The bodies of w as symmetric matrices, (n, 4, 4)."""
        return (w[self._index] @ _SYMMETRIC).reshape(-1, 4, 4)


def consistent_set(equations: BaseEquations, covariance: Array) -> ConsistentSet:
    """The set of consistent θ of equations; joints are scaled by the prior's covariance (θ, θ)."""
    slices = [own for group, own in equations.slices.items() if group in ("friction", "armature")]
    joints = np.concatenate([np.zeros(0, np.intp), *(np.arange(own.start, own.stop) for own in slices)])
    return ConsistentSet(prior.whitenings(equations), joints, np.sqrt(np.diag(covariance)))


def _eigen(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues and vectors of (n, 4, 4) symmetric matrices."""
    if len(matrices) == 1:  # a payload: NumPy would spend more time on checks than on the matrix
        values, vectors, _ = lapack.dsyevd(matrices[0])
        return values[None], vectors[None]
    values, vectors = np.linalg.eigh(matrices)
    return values, vectors


def _derivative(values: Array, vectors: Array) -> Array:
    """The derivative of clipping negative eigenvalues, (n, 10, 10), in the coordinates of whitened bodies.

    In the basis v_i v_jᵀ it is diagonal, (λ_i⁺ + λ_j⁺) / (|λ_i| + |λ_j|).
    """
    positive, size = np.maximum(values, 0.0), np.maximum(np.abs(values), 1e-300)
    share = (positive[:, :, None] + positive[:, None, :]) / (size[:, :, None] + size[:, None, :])
    basis = vectors[:, :, None, :, None] * vectors[:, None, :, None, :]
    rows = _SYMMETRIC @ basis.reshape(-1, 16, 16)
    return (rows * share.reshape(-1, 1, 16)) @ rows.transpose(0, 2, 1)
