"""The inertia of a rigid body: ten numbers, and what can be asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import ModelError

PARAMETER_NAMES = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def frozen_array(values: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """A read-only float64 copy of `values`, or a ModelError that says what was wrong with it."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what}: expected numbers of shape {shape}, got {values!r}") from error
    if array.shape != shape:
        raise ModelError(f"{what}: expected shape {shape}, got {array.shape}")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass m, first moment h = m·com and rotational inertia about the frame's origin (kg, kg·m, kg·m²).

    >>> rod = Inertia.from_com(2.0, [0, 0, 0.5], np.diag([0.1, 0.1, 0.0]))
    >>> rod.parameters[:4]
    array([2., 0., 0., 1.])
    """

    mass: float
    first_moment: Array
    rotational: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "first_moment", frozen_array(self.first_moment, (3,), "first moment"))
        object.__setattr__(self, "rotational", frozen_array(self.rotational, (3, 3), "rotational inertia"))

    @staticmethod
    def zero() -> Inertia:
        """The inertia of nothing."""
        return Inertia.from_parameters(np.zeros(10))

    @staticmethod
    def from_com(mass: float, com: ArrayLike, inertia: ArrayLike) -> Inertia:
        """From the center of mass (m) and the rotational inertia about it (kg·m²), both in one frame."""
        m = float(frozen_array(mass, (), "mass"))
        c = frozen_array(com, (3,), "center of mass")
        at_com = frozen_array(inertia, (3, 3), "rotational inertia")
        if not all(np.all(np.isfinite(part)) for part in (m, c, at_com)):
            raise ModelError(f"an inertia needs finite numbers, got {mass!r}, {com!r}, {inertia!r}")
        if not np.allclose(at_com, at_com.T, rtol=0, atol=1e-9 * float(np.abs(at_com).max())):
            raise ModelError(f"rotational inertia: expected a symmetric matrix, got {at_com.tolist()}")
        # Parallel axes: I_origin = I_com + m (c·c 1 - c cᵀ)
        at_origin = at_com + m * (c @ c * np.eye(3) - np.outer(c, c))
        return Inertia(m, m * c, at_origin)

    @staticmethod
    def from_parameters(pi: ArrayLike) -> Inertia:
        """From π = [m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz] about the frame's origin."""
        m, hx, hy, hz, xx, xy, xz, yy, yz, zz = frozen_array(pi, (10,), "inertial parameters")
        rotational = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return Inertia(float(m), np.array([hx, hy, hz]), rotational)

    @staticmethod
    def from_pseudo(P: ArrayLike) -> Inertia:
        """From the pseudo-inertia [[Σ, h], [hᵀ, m]], 4 × 4."""
        P = frozen_array(P, (4, 4), "pseudo-inertia")
        rotational = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
        # Sums of two, not the trace less one: zeros and equal moments stay exact.
        np.fill_diagonal(rotational, [P[1, 1] + P[2, 2], P[0, 0] + P[2, 2], P[0, 0] + P[1, 1]])
        return Inertia(float(P[3, 3]), P[:3, 3], rotational)

    @property
    def pseudo(self) -> Array:
        """The pseudo-inertia ∫ (r, 1)(r, 1)ᵀ dm = [[Σ, h], [hᵀ, m]], 4 × 4, with Σ = ½ tr(I) 1 - I."""
        second = np.trace(self.rotational) / 2 * np.eye(3) - self.rotational
        upper = np.column_stack([second, self.first_moment])
        return np.vstack([upper, np.append(self.first_moment, self.mass)])

    @property
    def parameters(self) -> Array:
        """π = [m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz]."""
        i = self.rotational
        upper = [i[0, 0], i[0, 1], i[0, 2], i[1, 1], i[1, 2], i[2, 2]]
        return np.concatenate([[self.mass], self.first_moment, upper])

    @property
    def com(self) -> Array:
        """Center of mass (m); the origin for a massless body."""
        return self.first_moment / self.mass if self.mass != 0.0 else np.zeros(3)

    @property
    def at_com(self) -> Array:
        """Rotational inertia about the center of mass (kg·m²)."""
        c = self.com
        return self.rotational - self.mass * (c @ c * np.eye(3) - np.outer(c, c))

    def transformed(self, rotation: Array, translation: Array) -> Inertia:
        """The same body seen from a, given R_ab and p_ab of the frame b that it is expressed in."""
        m, h, p = self.mass, rotation @ self.first_moment, translation
        # Linear in (m, h, I), so that it holds for parameters that no body has, massless ones included.
        outer = np.outer(p, h) + np.outer(h, p) + m * np.outer(p, p)
        turned = rotation @ self.rotational @ rotation.T
        rotational = turned + np.trace(outer) * np.eye(3) - outer
        return Inertia(m, h + m * p, rotational)

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia.from_parameters(self.parameters + other.parameters)

    def doubts(self) -> list[str]:
        """In words: why no rigid body can have these numbers (empty when one can)."""
        found = []
        if self.mass < 0:
            found.append(f"negative mass {self.mass:g} kg")
        if self.mass == 0:
            if np.any(self.parameters != 0):
                found.append("mass is zero but its moments are not")
            return found
        moments = np.linalg.eigvalsh(self.at_com)
        # Rounding of the parallel-axis shift is relative to the moments about the origin.
        scale = float(np.max(np.abs(self.rotational)))
        if moments[0] < -1e-9 * scale:
            found.append(f"rotational inertia has a negative principal moment {moments[0]:.3g} kg·m²")
        elif moments[0] + moments[1] < moments[2] * (1 - 1e-6) - 1e-9 * scale:
            found.append(
                "principal moments of inertia "
                f"{moments[0]:.4g}, {moments[1]:.4g}, {moments[2]:.4g} kg·m² break the triangle inequality"
            )
        return found


def transformation(rotation: ArrayLike, translation: ArrayLike) -> Array:
    """T, 10 × 10, with T π the parameters seen from a of a body with π in b, given R_ab and p_ab.

    >>> T = transformation(np.eye(3), [0, 0, 0.5])
    >>> print(T @ [2, 0, 0, 0, 0, 0, 0, 0, 0, 0])  # a point of 2 kg
    [2.  0.  0.  1.  0.5 0.  0.  0.5 0.  0. ]
    """
    R, p = np.asarray(rotation, dtype=np.float64), np.asarray(translation, dtype=np.float64)
    units = (Inertia.from_parameters(unit) for unit in np.eye(10))
    return np.column_stack([unit.transformed(R, p).parameters for unit in units])


def total(inertias: Sequence[Inertia]) -> Inertia:
    """The sum of inertias that are expressed in one frame."""
    return Inertia.from_parameters(sum((i.parameters for i in inertias), np.zeros(10)))
