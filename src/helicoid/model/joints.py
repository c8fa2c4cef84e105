"""Joint types: one class each. No other file of Helicoid knows which types exist.

`JointType` says what a type answers; notation: q its coordinates, v its velocity, `R, p` the child's pose
seen from the predecessor, S its motion subspace, Γ the map q̇ = Γ(q) v.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array, Expression
from helicoid.errors import ModelError
from helicoid.geometry import quaternion, se3, so3
from helicoid.model.inertia import frozen_array
from helicoid.model.joint_type import UNLIMITED, JointType


def unit(axis: ArrayLike) -> Array:
    """The unit vector along `axis`; exact zeros and ones stay exact."""
    vector = np.array(axis, dtype=np.float64)
    if vector.shape != (3,) or not np.all(np.isfinite(vector)):
        raise ModelError(f"a joint axis needs three finite numbers, got {axis!r}")
    length = float(np.linalg.norm(vector))
    if length < 1e-12:
        raise ModelError("a joint axis must not be zero")
    return frozen_array(vector / length, (3,), "axis")


def rotation_about(axis: Array, angle: Expression) -> Expression:
    """Rodrigues' formula, written so that an axis along x, y or z leaves exact zeros and ones."""
    along = np.outer(axis, axis)
    return ca.SX(along) + ca.cos(angle) * (np.eye(3) - along) + ca.sin(angle) * so3.hat(axis)


def _column(angular: Expression, linear: Expression) -> Expression:
    return ca.vertcat(ca.SX(angular), ca.SX(linear))


@dataclass(frozen=True, eq=False)
class Fixed(JointType):
    """No motion."""

    kind = "fixed"
    nq = nv = 0

    def pose(self, q: Expression) -> tuple[Expression, Expression]:
        return ca.SX.eye(3), ca.SX.zeros(3)

    def subspace(self, q: Expression) -> Expression:
        return ca.SX.zeros(6, 0)

    def reversed(self) -> Fixed:
        return self


@dataclass(frozen=True, eq=False)
class _OneAxis(JointType):
    axis: Array = field(default_factory=lambda: unit((1, 0, 0)))
    nq = nv = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))


@dataclass(frozen=True, eq=False)
class Revolute(_OneAxis):
    """Rotation by q about `axis`."""

    kind = "revolute"
    needs_limits = True

    @property
    def widths(self) -> Array:
        return np.full(1, np.pi)

    def pose(self, q: Expression) -> tuple[Expression, Expression]:
        return rotation_about(self.axis, q), ca.SX.zeros(3)

    def subspace(self, q: Expression) -> Expression:
        return _column(self.axis, np.zeros(3))

    def reversed(self) -> Revolute:
        return type(self)(-self.axis)


@dataclass(frozen=True, eq=False)
class Continuous(Revolute):
    """A revolute joint without limits."""

    kind = "continuous"
    needs_limits = False
    endless = True


@dataclass(frozen=True, eq=False)
class Prismatic(_OneAxis):
    """Translation by q along `axis`."""

    kind = "prismatic"
    needs_limits = True

    def pose(self, q: Expression) -> tuple[Expression, Expression]:
        return ca.SX.eye(3), q * ca.SX(self.axis)

    def subspace(self, q: Expression) -> Expression:
        return _column(np.zeros(3), self.axis)

    def reversed(self) -> Prismatic:
        return Prismatic(-self.axis)


@dataclass(frozen=True, eq=False)
class Helical(_OneAxis):
    """A screw: rotation by q about `axis` while moving pitch·q along it (pitch in m/rad)."""

    pitch: float = 0.0
    kind = "helical"

    @property
    def widths(self) -> Array:
        return np.full(1, np.pi)

    def pose(self, q: Expression) -> tuple[Expression, Expression]:
        return rotation_about(self.axis, q), self.pitch * q * ca.SX(self.axis)

    def subspace(self, q: Expression) -> Expression:
        return _column(self.axis, self.pitch * self.axis)

    def reversed(self) -> Helical:
        return Helical(-self.axis, self.pitch)


@dataclass(frozen=True, eq=False)
class Universal(JointType):
    """Rotation by q[0] about `axis`, then by q[1] about `axis2` of the turned frame."""

    axis: Array = field(default_factory=lambda: unit((1, 0, 0)))
    axis2: Array = field(default_factory=lambda: unit((0, 1, 0)))
    kind = "universal"
    nq = nv = 2
    labels = ("first angle", "second angle")

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))
        object.__setattr__(self, "axis2", unit(self.axis2))
        if np.linalg.norm(np.cross(self.axis, self.axis2)) < 1e-9:
            raise ModelError("the two axes of a universal joint must not be parallel")

    @property
    def widths(self) -> Array:
        return np.full(2, np.pi)

    def pose(self, q: Expression) -> tuple[Expression, Expression]:
        turned = rotation_about(self.axis, q[0]) @ rotation_about(self.axis2, q[1])
        return turned, ca.SX.zeros(3)

    def _first_axis(self, q: Expression) -> Expression:
        return rotation_about(self.axis2, q[1]).T @ self.axis

    def subspace(self, q: Expression) -> Expression:
        first = _column(self._first_axis(q), np.zeros(3))
        return ca.horzcat(first, _column(self.axis2, np.zeros(3)))

    def subspace_rate(self, q: Expression, v: Expression) -> Expression:
        return _column(ca.cross(self._first_axis(q), ca.SX(self.axis2)) * (v[0] * v[1]), np.zeros(3))

    def elementary(self) -> tuple[JointType, ...]:
        return Revolute(self.axis), Revolute(self.axis2)

    def reversed(self) -> Universal:
        return Universal(-self.axis2, -self.axis)

    def reversed_coordinates(self, q: Array) -> Array:
        return q[::-1]

    def reversed_order(self, values: Array) -> Array:
        return values[::-1]


@dataclass(frozen=True, eq=False)
class Planar(JointType):
    """Motion in the plane normal to `axis`: coordinates (x, y, angle), velocity their rates.

    The plane's x and y are those of the predecessor frame turned by the smallest rotation that takes
    its z to `axis`.
    """

    axis: Array = field(default_factory=lambda: unit((0, 0, 1)))
    kind = "planar"
    nq = nv = 3
    labels = ("x", "y", "angle")

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))

    @property
    def widths(self) -> Array:
        return np.array([UNLIMITED, UNLIMITED, np.pi])

    @property
    def plane(self) -> Array:
        """3 × 2: the plane's x and y directions."""
        n = self.axis
        if n[2] < -1 + 1e-12:
            return np.array([[1.0, 0.0], [0.0, -1.0], [0.0, 0.0]])
        w = so3.hat(np.cross([0.0, 0.0, 1.0], n))
        turned = np.eye(3) + w + w @ w / (1.0 + n[2])
        return np.asarray(turned[:, :2], dtype=np.float64)

    def pose(self, q: Expression) -> tuple[Expression, Expression]:
        return rotation_about(self.axis, q[2]), ca.SX(self.plane) @ q[:2]

    def subspace(self, q: Expression) -> Expression:
        in_child = rotation_about(self.axis, q[2]).T @ self.plane
        sliding = ca.vertcat(ca.SX.zeros(3, 2), in_child)
        return ca.horzcat(sliding, _column(self.axis, np.zeros(3)))

    def subspace_rate(self, q: Expression, v: Expression) -> Expression:
        sliding = rotation_about(self.axis, q[2]).T @ (self.plane @ v[:2])
        return _column(np.zeros(3), ca.cross(sliding, ca.SX(self.axis)) * v[2])

    def elementary(self) -> tuple[JointType, ...]:
        x, y = self.plane.T
        return Prismatic(x), Prismatic(y), Revolute(self.axis)

    def reversed(self) -> Planar:
        return self

    def reversed_coordinates(self, q: Array) -> Array:
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([-c * q[0] - s * q[1], s * q[0] - c * q[1], -q[2]])


@dataclass(frozen=True, eq=False)
class Spherical(JointType):
    """A ball: coordinates a unit quaternion (w, x, y, z), velocity ω in the child frame."""

    kind = "spherical"
    nq = 4
    nv = 3
    labels = ("w", "x", "y", "z")
    quaternion = slice(0, 4)

    def pose(self, q: Expression) -> tuple[Expression, Expression]:
        return quaternion.to_matrix(q), ca.SX.zeros(3)

    def subspace(self, q: Expression) -> Expression:
        return ca.vertcat(ca.SX.eye(3), ca.SX.zeros(3, 3))

    def rate_matrix(self, q: Expression) -> Expression:
        return quaternion.rate_matrix(q, expressed_in="body")

    def integrate(self, q: Expression, dv: Expression) -> Expression:
        return quaternion.normalize(quaternion.multiply(q, quaternion.exp(dv)))

    def difference(self, q0: Expression, q1: Expression) -> Expression:
        return quaternion.log(quaternion.multiply(quaternion.conjugate(q0), q1))

    def neutral(self) -> Array:
        return np.array([1.0, 0.0, 0.0, 0.0])

    def random(
        self, rng: np.random.Generator, lower: Array, upper: Array, lead: tuple[int, ...] = ()
    ) -> Array:
        q = rng.normal(size=(*lead, 4))
        return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))

    def reversed(self) -> Spherical:
        return self

    def reversed_coordinates(self, q: Array) -> Array:
        return q * np.array([1.0, -1.0, -1.0, -1.0])


@dataclass(frozen=True, eq=False)
class Floating(JointType):
    """Free motion: position then unit quaternion, velocity the body twist (ω, v) in the child frame."""

    kind = "floating"
    nq = 7
    nv = 6
    labels = ("x", "y", "z", "qw", "qx", "qy", "qz")
    quaternion = slice(3, 7)
    can_be_driven = False

    def pose(self, q: Expression) -> tuple[Expression, Expression]:
        return quaternion.to_matrix(q[3:]), q[:3]

    def subspace(self, q: Expression) -> Expression:
        return ca.SX.eye(6)

    def rate_matrix(self, q: Expression) -> Expression:
        moving = ca.horzcat(ca.SX.zeros(3, 3), quaternion.to_matrix(q[3:]))
        turning = ca.horzcat(quaternion.rate_matrix(q[3:], expressed_in="body"), ca.SX.zeros(4, 3))
        return ca.vertcat(moving, turning)

    def _matrix(self, q: Expression) -> Expression:
        return se3.pose(*self.pose(q))

    def integrate(self, q: Expression, dv: Expression) -> Expression:
        step = se3.exp(dv)
        position = q[:3] + quaternion.to_matrix(q[3:]) @ step[:3, 3]
        turned = quaternion.normalize(quaternion.multiply(q[3:], quaternion.exp(dv[:3])))
        return ca.vertcat(position, turned)

    def difference(self, q0: Expression, q1: Expression) -> Expression:
        return se3.log(se3.inverse(self._matrix(q0)) @ self._matrix(q1))

    def neutral(self) -> Array:
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def tangent_range(self, q: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        low, high = super().tangent_range(q, lower, upper)
        low[3:], high[3:] = 0.0, 0.0  # an unlimited position is not varied
        return low, high

    def reaches_all(self) -> NDArray[np.bool_]:
        return np.arange(self.nq) >= 3

    def random(
        self, rng: np.random.Generator, lower: Array, upper: Array, lead: tuple[int, ...] = ()
    ) -> Array:
        position = super().random(rng, lower, upper, lead)[..., :3]
        return np.concatenate([position, Spherical().random(rng, lower[3:], upper[3:], lead)], axis=-1)

    def reversed(self) -> Floating:
        return self

    def reversed_coordinates(self, q: Array) -> Array:
        position = -np.asarray(quaternion.to_matrix(q[3:])).T @ q[:3]
        return np.concatenate([position, Spherical().reversed_coordinates(q[3:])])


TYPES: dict[str, type[JointType]] = {
    cls.kind: cls
    for cls in (Fixed, Revolute, Continuous, Prismatic, Helical, Universal, Planar, Spherical, Floating)
}

ALIASES = {"screw": "helical", "ball": "spherical"}
"""Synonyms of kinds in descriptions."""
