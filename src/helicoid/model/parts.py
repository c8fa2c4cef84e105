"""The parts of a robot as a description states them: links, joints, shapes, limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import ModelError
from helicoid.model.inertia import Inertia, frozen_array
from helicoid.model.joint_type import JointType


class Limits(NamedTuple):
    """Ranges of coordinates (nq) and bounds of velocity and effort (nv); infinite where unlimited."""

    lower: Array
    upper: Array
    velocity: Array
    effort: Array


class RateLimits(NamedTuple):
    """Bounds (nv) of acceleration, of deceleration and of jerk; infinite where unlimited."""

    acceleration: Array
    deceleration: Array
    jerk: Array


@dataclass(frozen=True, eq=False)
class Placement:
    """A constant pose: R_ab and p_ab of a frame b seen from a."""

    rotation: Array = field(default_factory=lambda: np.eye(3))
    translation: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        rotation = np.array(self.rotation, dtype=np.float64)
        # Products of sin and cos of multiples of π/2 miss 0 and ±1 by rounding: exact values
        # vanish from symbolic expressions.
        nearest = np.round(rotation)
        rotation = np.where(np.abs(rotation - nearest) < 1e-15, nearest, rotation) + 0.0
        object.__setattr__(self, "rotation", frozen_array(rotation, (3, 3), "rotation"))
        object.__setattr__(self, "translation", frozen_array(self.translation, (3,), "translation"))

    def __matmul__(self, other: Placement) -> Placement:
        translation = self.translation + self.rotation @ other.translation
        return Placement(self.rotation @ other.rotation, translation)

    @property
    def inverse(self) -> Placement:
        """R_ba and p_ba."""
        return Placement(self.rotation.T, -self.rotation.T @ self.translation)


@dataclass(frozen=True, eq=False)
class Geometry:
    """Visual or collision shape. `kind` is a key of `model.shapes.PRIMITIVES` or "mesh".

    `size`: box edges (x, y, z); cylinder and capsule (radius, length); sphere (radius,); ellipsoid semi-axes
    (x, y, z); mesh scale (m).
    `filename` is the mesh as the description names it; `folder` is that description's folder.
    """

    kind: str
    size: tuple[float, ...]
    placement: Placement = field(default_factory=Placement)
    filename: str = ""
    folder: str = ""
    color: tuple[float, float, float, float] | None = None


class GravityCompensation(NamedTuple):
    """A mass (kg) whose weight is carried, at a point of the link (m)."""

    mass: float
    point: Array


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body with a frame; `inertia` is about that frame's origin, None when not stated."""

    name: str
    inertia: Inertia | None = None
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()
    gravity_compensation: GravityCompensation | None = None


@dataclass(frozen=True)
class Mimic:
    """q = multiplier · q_source + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


# Numbers per velocity of a joint: its fields, and attributes of <dynamics> in a URDF.
PER_VELOCITY = ("damping", "friction", "armature", "static_friction", "stribeck_velocity", "stiffness")


@dataclass(frozen=True, eq=False)
class Joint:
    """The joint between `parent` and `child`. `placement` is the joint's frame seen from the parent link.

    Per velocity coordinate: `damping` (N·m·s/rad), `friction` (Coulomb, N·m), `armature` (kg·m²),
    `static_friction` (N·m, what it takes to break loose; 0 where it is the Coulomb friction),
    `stribeck_velocity` (rad/s, over which friction falls from static to Coulomb; 0: at once) and `stiffness`
    (N·m/rad) of a spring in equilibrium at the coordinates `rest` (nq; the joint's zero when not given).
    `friction_terms` has further terms of friction by their names in `dynamics.friction`, per velocity too.
    `actuator_range` is where the sum of the forces of actuators with controls is kept (N·m), of a joint of
    one coordinate; None is only the effort limit.
    """

    name: str
    type: JointType
    parent: str
    child: str
    placement: Placement = field(default_factory=Placement)
    limits: Limits | None = None
    damping: Array = field(default_factory=lambda: np.zeros(1))
    friction: Array = field(default_factory=lambda: np.zeros(1))
    armature: Array = field(default_factory=lambda: np.zeros(1))
    mimic: Mimic | None = None
    static_friction: Array = field(default_factory=lambda: np.zeros(1))
    stribeck_velocity: Array = field(default_factory=lambda: np.zeros(1))
    stiffness: Array = field(default_factory=lambda: np.zeros(1))
    rest: Array = field(default_factory=lambda: np.zeros(0))
    friction_terms: Mapping[str, Array] = field(default_factory=dict)
    rate_limits: RateLimits | None = None
    actuator_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        nv = self.type.nv
        for name in PER_VELOCITY:
            object.__setattr__(self, name, self._per_velocity(name, getattr(self, name)))
        terms = {name: self._per_velocity(name, given) for name, given in self.friction_terms.items()}
        object.__setattr__(self, "friction_terms", {name: own for name, own in terms.items() if own.any()})
        if self.limits is not None:
            sizes = (self.type.nq, self.type.nq, nv, nv)
            what = f"limits of joint {self.name!r}"
            checked = (frozen_array(x, (n,), what) for x, n in zip(self.limits, sizes, strict=True))
            object.__setattr__(self, "limits", Limits(*checked))
        if self.rate_limits is not None:
            what = f"limits of joint {self.name!r}"
            rates = RateLimits(*(frozen_array(x, (nv,), what) for x in self.rate_limits))
            stated = any(np.isfinite(x).any() for x in rates)
            object.__setattr__(self, "rate_limits", rates if stated else None)
        if self.mimic is not None and not self.type.nq == nv == 1:
            raise ModelError(f"joint {self.name!r}: only joints of one coordinate can mimic another")
        object.__setattr__(self, "rest", _rest(self))
        _check_friction(self)

    def _per_velocity(self, name: str, given: Array) -> Array:
        nv = self.type.nv
        values = np.broadcast_to(given, (nv,)) if np.size(given) == 1 else given
        return frozen_array(values, (nv,), f"{name} of joint {self.name!r}")

    @property
    def range(self) -> Limits:
        """The limits, infinite where none are stated."""
        if self.limits is not None:
            return self.limits
        q, v = np.full(self.type.nq, np.inf), np.full(self.type.nv, np.inf)
        return Limits(-q, q, v, v)

    @property
    def rates(self) -> RateLimits:
        """The limits of acceleration, deceleration and jerk, infinite where none are stated."""
        unlimited = np.full(self.type.nv, np.inf)
        return RateLimits(unlimited, unlimited, unlimited) if self.rate_limits is None else self.rate_limits


def _rest(joint: Joint) -> Array:
    if np.size(joint.rest) == 0:
        return frozen_array(joint.type.neutral(), (joint.type.nq,), "rest")
    rest = frozen_array(np.atleast_1d(joint.rest), (joint.type.nq,), f"rest of joint {joint.name!r}")
    if not np.allclose(joint.type.nearest(rest), rest, rtol=0, atol=1e-6):
        raise ModelError(
            f"joint {joint.name!r}: its rest cannot be {rest}: coordinates are finite, quaternions unit"
        )
    return rest


def _check_friction(joint: Joint) -> None:
    breaking, sliding = joint.static_friction, joint.friction
    if np.any((breaking != 0) & (breaking < sliding)):
        raise ModelError(
            f"joint {joint.name!r}: its static friction {breaking} is below its Coulomb friction {sliding}; "
            "give what it takes to break loose, or 0 for as much as to keep sliding"
        )
    if np.any((joint.stribeck_velocity != 0) & (breaking == 0)):
        raise ModelError(f"joint {joint.name!r}: a Stribeck velocity needs a static friction to fall from")
