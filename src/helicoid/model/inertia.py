"""The inertia of a rigid body: ten parameters, their transformations and consistency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.errors import ModelError

PARAMETER_NAMES = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def frozen_array(values: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """A read-only float64 copy of `values`, or a ModelError that says what was wrong with it."""
    array = np.array(float_array(values, f"{what}: expected numbers of shape {shape}", ModelError))
    if array.shape != shape:
        raise ModelError(f"{what}: expected shape {shape}, got {array.shape}")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass m, first moment h = m·com and rotational inertia about the frame's origin (kg, kg·m, kg·m²).

    Two more say the same again, without the digits that a difference of large numbers loses (of a body far
    from its frame's origin, or thin along an axis): `second_moment`, Σ = ∫ r rᵀ dm about the origin, and
    `at_com`, the rotational inertia about the center of mass (both kg·m²). Left out, they follow from the
    first three.

    >>> rod = Inertia.from_com(2.0, [0, 0, 0.5], np.diag([0.1, 0.1, 0.0]))
    >>> rod.parameters[:4]
    array([2., 0., 0., 1.])
    """

    mass: float
    first_moment: Array
    rotational: Array
    second_moment: Array = None  # type: ignore[assignment]
    at_com: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        object.__setattr__(self, "first_moment", frozen_array(self.first_moment, (3,), "first moment"))
        object.__setattr__(self, "rotational", frozen_array(self.rotational, (3, 3), "rotational inertia"))
        Σ = _second_moment(self.rotational) if self.second_moment is None else self.second_moment
        object.__setattr__(self, "second_moment", frozen_array(Σ, (3, 3), "second moment"))
        c = self.com
        at_com = (
            self.rotational - self.mass * _rotational(np.outer(c, c)) if self.at_com is None else self.at_com
        )
        object.__setattr__(self, "at_com", frozen_array(at_com, (3, 3), "rotational inertia"))

    @staticmethod
    def zero() -> Inertia:
        """Zero mass and inertia."""
        return Inertia.from_parameters(np.zeros(10))

    @staticmethod
    def from_com(mass: float, com: ArrayLike, inertia: ArrayLike) -> Inertia:
        """From the center of mass (m) and the rotational inertia about it (kg·m²), both in one frame."""
        m = float(frozen_array(mass, (), "mass"))
        c = frozen_array(com, (3,), "center of mass")
        at_com = frozen_array(inertia, (3, 3), "rotational inertia")
        if not all(np.all(np.isfinite(part)) for part in (m, c, at_com)):
            raise ModelError(f"an inertia needs finite numbers, got {mass!r}, {com!r}, {inertia!r}")
        if np.abs(at_com - at_com.T).max() > 1e-9 * np.abs(at_com).max():
            raise ModelError(f"rotational inertia: expected a symmetric matrix, got {at_com.tolist()}")
        # Parallel axes: Σ_origin = Σ_com + m c cᵀ, I_origin = I_com + m (c·c 1 - c cᵀ)
        steiner = m * np.outer(c, c)
        return Inertia(m, m * c, at_com + _rotational(steiner), _second_moment(at_com) + steiner, at_com)

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
        return Inertia(float(P[3, 3]), P[:3, 3], _rotational(P[:3, :3]), P[:3, :3])

    @property
    def pseudo(self) -> Array:
        """The pseudo-inertia ∫ (r, 1)(r, 1)ᵀ dm = [[Σ, h], [hᵀ, m]], 4 × 4, with Σ = ½ tr(I) 1 - I."""
        upper = np.column_stack([self.second_moment, self.first_moment])
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

    def transformed(self, rotation: Array, translation: Array) -> Inertia:
        """The same body seen from a, given R_ab and p_ab of the frame b that it is expressed in."""
        if np.array_equal(rotation, np.eye(3)) and not np.any(translation):
            return self
        if self.mass != 0.0:
            turned = rotation @ self.at_com @ rotation.T
            return Inertia.from_com(self.mass, rotation @ self.com + translation, (turned + turned.T) / 2)
        # Linear in (h, I): parameters that no body has, but differences of bodies do.
        h, p = rotation @ self.first_moment, translation
        moved = np.outer(p, h) + np.outer(h, p)
        return Inertia(
            0.0,
            h,
            rotation @ self.rotational @ rotation.T + _rotational(moved),
            rotation @ self.second_moment @ rotation.T + moved,
        )

    def __add__(self, other: Inertia) -> Inertia:
        m, h = self.mass + other.mass, self.first_moment + other.first_moment
        at_com = None
        if self.mass > 0 and other.mass > 0:
            apart = self.com - other.com
            reduced = self.mass * other.mass / m
            at_com = self.at_com + other.at_com + reduced * _rotational(np.outer(apart, apart))
        return Inertia(
            m,
            h,
            self.rotational + other.rotational,
            self.second_moment + other.second_moment,
            at_com,  # type: ignore[arg-type]
        )

    def doubts(self) -> list[str]:
        """Reasons why no rigid body can have these numbers; empty when one can."""
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
    return reduce(Inertia.__add__, inertias) if inertias else Inertia.zero()


def _rotational(Σ: Array) -> Array:
    """I = tr(Σ) 1 - Σ, its diagonal as sums of two: zeros and small moments stay exact."""
    I = -Σ
    np.fill_diagonal(I, [Σ[1, 1] + Σ[2, 2], Σ[0, 0] + Σ[2, 2], Σ[0, 0] + Σ[1, 1]])
    return I


def _second_moment(I: Array) -> Array:
    """Σ = ½ tr(I) 1 - I."""
    Σ, (x, y, z) = -I, I.diagonal()
    np.fill_diagonal(Σ, [(y + z - x) / 2, (x + z - y) / 2, (x + y - z) / 2])
    return Σ
