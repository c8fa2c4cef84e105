"""Contacts of a robot with its environment: points, and flat soles.

A contact has axes of its own, z along the normal, in which its force f (N), or its wrench (n, f) (N·m, N),
is a variable. Friction allows what rows C f ≤ 0 say, a pyramid inside of the cone of Coulomb.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.arrays import real_array, shown
from helicoid.dynamics.kinematics import frames
from helicoid.errors import InputError
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class Contact(ABC):
    """Contact: the frame of a link, a coefficient of friction, and a name."""

    frame: str
    friction: float = 0.7
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.frame)
        check_friction(f"friction of {self.name!r}", self.friction)

    size: int = 3
    """Number of contact forces."""
    cone_rows: int = 4
    """Number of rows of the linearised friction cone."""

    def check(self, robot: Robot) -> None:
        """Refuse a frame that the robot does not have."""
        try:
            robot.model.frame(self.frame)
        except Exception as error:
            raise InputError(f"contact {self.name!r}: {error}") from None

    @abstractmethod
    def axes(self, robot: Robot, q: Expression, turn: Expression) -> Expression:
        """The contact's axes in the world, 3 × 3; `turn` is what its normal asks for."""

    @abstractmethod
    def jacobian(self, robot: Robot, q: Expression, turn: Expression) -> Expression:
        """Contact Jacobian J(q), size × nv, in the contact's axes."""

    @abstractmethod
    def cone(self, friction: Expression) -> Expression:
        """C, cone_rows × size, with C f ≤ 0."""


@dataclass(frozen=True, eq=False)
class PointContact(Contact):
    """A unilateral point contact without slip: a force of 3 numbers, |f_xy| ≤ μ f_z.

    Args:
        frame: the name of a link: a foot.
        friction: μ; `sides` of a pyramid inside of the cone, 4 or more.
        point: where on the link, in the link's axes (m).
        radius: of a ball around that point, which rolls (m).
        normal: of the ground, in the world.

    >>> import helicoid as hc
    >>> hc.control.PointContact("FL_foot", friction=0.6, radius=0.02).size
    3
    """

    point: ArrayLike = (0.0, 0.0, 0.0)
    radius: float = 0.0
    normal: ArrayLike = (0.0, 0.0, 1.0)
    sides: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "point", _three(f"point of {self.name!r}", self.point))
        if not (isinstance(self.sides, int) and 3 <= self.sides <= 64):
            raise InputError(f"sides of {self.name!r} is a whole number from 3 to 64; got {self.sides!r}")
        if not 0 <= self.radius < np.inf:
            raise InputError(f"radius of {self.name!r} is a length (m), 0 or more; got {self.radius!r}")
        check_normal(f"normal of {self.name!r}", self.normal)
        object.__setattr__(self, "cone_rows", self.sides)

    def axes(self, robot: Robot, q: Expression, turn: Expression) -> Expression:
        return turn

    def jacobian(self, robot: Robot, q: Expression, turn: Expression) -> Expression:
        J = frames.jacobian(robot.model, q, self.frame, "world_aligned")
        R, _ = frames.frame_pose(robot.model, q, self.frame)
        arm = R @ ca.SX(np.asarray(self.point)) - self.radius * turn[:, 2]
        return turn.T @ (J[3:, :] - ca.skew(arm) @ J[:3, :])

    def cone(self, friction: Expression) -> Expression:
        # An inscribed polygon: its corners are on the cone, its sides at μ cos(π/sides).
        angles = np.pi * (2 * np.arange(self.sides) + (self.sides == 4)) / self.sides
        angles = angles - np.pi / 4 if self.sides == 4 else angles
        rows = [ca.horzcat(_clean(np.cos(φ)), _clean(np.sin(φ)), 0) for φ in angles]
        inner = friction * float(np.cos(np.pi / self.sides))
        return ca.vertcat(*rows) - ca.horzcat(ca.SX.zeros(self.sides, 2), inner * ca.SX.ones(self.sides))


@dataclass(frozen=True, eq=False)
class SurfaceContact(Contact):
    """A flat sole that neither slips nor tilts: a wrench (n, f) of 6 numbers about its center.

    Allowed is what four forces at its corners can give, each within a pyramid inside of the cone of friction
    (Caron, Pham and Nakamura 2015): the force keeps friction, the center of pressure stays in the sole, and
    so does what turns it about its normal.

    Args:
        frame: the name of a link whose x and y axes span the sole, z away from the ground.
        friction: μ.
        size_xy: length along x and width along y of the sole (m).
        center: of the sole, in the axes of the frame (m).

    >>> import helicoid as hc
    >>> hc.control.SurfaceContact("left_sole_link", size_xy=(0.2, 0.12)).size
    6
    """

    size_xy: ArrayLike = (0.0, 0.0)
    center: ArrayLike = (0.0, 0.0, 0.0)
    size: int = 6
    cone_rows: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            size = np.asarray(self.size_xy, dtype=np.float64)
        except (TypeError, ValueError):
            size = np.zeros(0)
        if size.shape != (2,) or not np.all((size > 0) & np.isfinite(size)):
            raise InputError(
                f"size_xy of {self.name!r} is the sole's length and width (m), above 0; got {self.size_xy!r}"
            )
        object.__setattr__(self, "size_xy", (float(size[0]), float(size[1])))
        object.__setattr__(self, "center", _three(f"center of {self.name!r}", self.center))

    def axes(self, robot: Robot, q: Expression, turn: Expression) -> Expression:
        return frames.frame_pose(robot.model, q, self.frame)[0]

    def jacobian(self, robot: Robot, q: Expression, turn: Expression) -> Expression:
        J = frames.jacobian(robot.model, q, self.frame, "body")
        arm = ca.SX(np.asarray(self.center))
        return ca.vertcat(J[:3, :], J[3:, :] - ca.skew(arm) @ J[:3, :])

    def cone(self, friction: Expression) -> Expression:
        μ, (length, width) = friction / np.sqrt(2), np.asarray(self.size_xy)
        X, Y = length / 2, width / 2
        rows = []
        for sign in (1, -1):  # (n_x, n_y, n_z, f_x, f_y, f_z)
            rows += [(0, 0, 0, sign, 0, -μ), (0, 0, 0, 0, sign, -μ)]
            rows += [(sign, 0, 0, 0, 0, -Y), (0, sign, 0, 0, 0, -X)]
        for s in (1, -1):
            for t in (1, -1):
                # n_z ≥ -μ (X + Y) f_z + |Y f_x - μ n_x| + |X f_y - μ n_y|, and the same turned over
                rows.append((-s * μ, -t * μ, -1, s * Y, t * X, -μ * (X + Y)))
                rows.append((s * μ, t * μ, 1, s * Y, t * X, -μ * (X + Y)))
        return ca.vertcat(*(ca.horzcat(*row) for row in rows))


def turn_to(normal: Array) -> Array:
    """A rotation whose z axis is the normal and which is 1 where that is the world's z."""
    z = normal / np.linalg.norm(normal)
    x = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def check_friction(name: str, value: ArrayLike) -> Array:
    """A coefficient of friction.

    Raises:
        InputError: it is no positive number.
    """
    array = real_array(name, value)
    if array.shape != () or not 0 < float(array) < 1e6:
        raise InputError(f"{name} is a coefficient of friction, above 0; got {shown(value)}")
    return array


def check_normal(name: str, value: ArrayLike) -> Array:
    """The nine numbers of a rotation whose z axis is a normal; refused where that is no direction."""
    z = np.array(_three(name, value))
    largest = np.abs(z).max()
    if not largest > 1e-9:
        raise InputError(f"{name} is a direction in the world, not zero; got {value!r}")
    return turn_to(z / largest).ravel()  # scaled first: squares of large numbers overflow


def named(contacts: object, robot: Robot) -> tuple[Contact, ...]:
    """Contacts as a user gives them, checked; a name alone is a point."""
    given = [contacts] if isinstance(contacts, str | Contact) else list(contacts)  # type: ignore[call-overload]
    made = tuple(PointContact(one) if isinstance(one, str) else one for one in given)
    for one in made:
        if not isinstance(one, Contact):
            raise InputError(
                "contacts are names of links, hc.control.PointContact or hc.control.SurfaceContact; "
                f"got {one!r}"
            )
        one.check(robot)
    names = [one.name for one in made]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InputError(f"two contacts are called {', '.join(sorted(twice))}: give each a name of its own")
    return made


def world_forces(contacts: tuple[Contact, ...], forces: Array) -> Mapping[str, Array]:
    """All forces one below the other, by the names of their contacts."""
    ends = np.cumsum([0, *(one.size for one in contacts)])
    return {one.name: forces[a:b].copy() for one, a, b in zip(contacts, ends[:-1], ends[1:], strict=True)}


def _three(name: str, value: ArrayLike) -> tuple[float, float, float]:
    array = real_array(name, value)
    if array.shape != (3,) or not np.all(np.isfinite(array)):
        raise InputError(f"{name} is 3 finite numbers; got {shown(value)}")
    return float(array[0]), float(array[1]), float(array[2])


def _clean(value: float) -> float:
    return 0.0 if abs(value) < 1e-15 else value
