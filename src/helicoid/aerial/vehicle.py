"""What flies: a robot on a floating base, with controls and states of its own and what the air does to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.air import Air, Wind
from helicoid.aerial.envelope import Envelope, find_envelope
from helicoid.aerial.trim import Trim, find_trim, find_trims
from helicoid.compiler import Function
from helicoid.errors import InputError
from helicoid.geometry import quaternion
from helicoid.model.inertia import Inertia
from helicoid.model.model import Model
from helicoid.model.parts import Link
from helicoid.robot import Robot
from helicoid.simulation.equations.actuated import force_function

_Self = TypeVar("_Self", bound="Vehicle")
BODY = "body"
"""The name of the only link of a vehicle that is a mass and an inertia."""


class Flow(NamedTuple):
    """The air at a point of a vehicle, as expressions.

    Attributes:
        velocity: of the point through the air (3), along the link's axes (m/s).
        rate: angular velocity of the link (3), its axes (rad/s).
        height: of the vehicle above the ground (m).
    """

    velocity: Expression
    rate: Expression
    height: Expression


class Vehicle(ABC):
    """Base of what flies; see `Multirotor` and `FixedWing`.

    Controls u and own states z have names. `hc.simulate(vehicle, ...)` and `hc.mpc.Problem(vehicle, ...)`
    take it in place of a robot; `vehicle.robot` is the robot, on a floating base with z up.
    """

    flies_forward: bool
    """Whether it needs air from ahead: it then trims without sideslip, and else with its nose on course."""

    def __init__(self, robot: Robot, air: Air | None, wind: Wind | None) -> None:
        if not isinstance(robot, Robot) or not robot.model.floating:
            raise InputError(
                f"what flies is a Robot with a floating base: hc.load(..., base='floating'); got {robot!r}"
            )
        if air is not None and not isinstance(air, Air):
            raise InputError(f"air is hc.aerial.Air(...) or None; got {air!r}")
        if wind is not None and not isinstance(wind, Wind):
            raise InputError(f"wind is hc.aerial.Wind(...) or None; got {wind!r}")
        self.robot = robot
        self.air = Air() if air is None else air
        self.wind = Wind() if wind is None else wind

    # What kinds of vehicles say -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def own_controls(self) -> Mapping[str, tuple[float, float]]:
        """The vehicle's controls: least and most, by name. Torques of joints come behind them."""

    @property
    @abstractmethod
    def own_states(self) -> Mapping[str, float]:
        """The vehicle's states and what they start with, by name. Those of gusts come behind them."""

    @abstractmethod
    def _air_forces(
        self, q: Expression, v: Expression, z: Expression, u: Expression
    ) -> tuple[Mapping[str, Expression], Expression]:
        """Wrenches (n, f) on links, in their frames, and ż of the vehicle's own states."""

    @abstractmethod
    def _guess(self, speed: float) -> Array:
        """Controls to begin the search for a trim with."""

    # A machine of simulation and MPC ----------------------------------------------------------------------

    @property
    def controls(self) -> tuple[str, ...]:
        """Names of the controls: the vehicle's own, then torques of the robot's motors."""
        return (*self.own_controls, *self._motors)

    @property
    def _motors(self) -> list[str]:
        names = self.robot.model.velocity_names
        return [names[k] for k in self.robot.actuated]

    @property
    def control_limits(self) -> tuple[Array, Array]:
        """Least and most of the controls."""
        effort = self.robot.limits.effort[list(self.robot.actuated)]
        own = np.array(list(self.own_controls.values()), dtype=np.float64).reshape(-1, 2)
        return np.concatenate([own[:, 0], -effort]), np.concatenate([own[:, 1], effort])

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states beside q and v: the vehicle's own, then those of gusts."""
        return (*self.own_states, *self.wind.states)

    @property
    def n_noise(self) -> int:
        """Number of white noises that drive gusts."""
        return self.wind.n_noise

    def start(self) -> Array:
        """The states that a simulation starts with unless others are given; gusts begin with none."""
        return np.array([*self.own_states.values(), *(0.0 for _ in self.wind.states)])

    def equations(
        self, q: Expression, v: Expression, z: Expression, u: Expression, w: Expression
    ) -> tuple[Expression, Expression]:
        """The generalised force (nv) of air, rotors and motors, and ż, as expressions."""
        n, m = len(self.own_states), len(self.own_controls)
        wrenches, z_dot = self._air_forces(q, v, z, u[:m])
        S = self.robot.selection_matrix
        force = ca.SX(S.T) @ u[m:] if S.shape[0] else ca.SX.zeros(self.robot.nv)
        for link, wrench in wrenches.items():
            force = force + self._jacobian(q, link).T @ wrench
        if self.wind.gusts is not None:
            flow = self.flow(q, v, z, self.robot.model.root)
            speed = ca.sqrt(ca.sumsqr(flow.velocity) + 1e-6)
            z_dot = ca.vertcat(z_dot, self.wind.gusts.rate(z[n:], w, speed, flow.height))
        return force, z_dot

    def _jacobian(self, q: Expression, link: str) -> Expression:
        if link == self.robot.model.root:
            return ca.horzcat(ca.SX.eye(6), ca.SX.zeros(6, self.robot.nv - 6))
        return self.robot.jacobian(link, "body")(q)

    def flow(
        self, q: Expression, v: Expression, z: Expression, link: str, point: ArrayLike = (0.0, 0.0, 0.0)
    ) -> Flow:
        """The air at a point of a link, which wind and gusts move."""
        R = quaternion.to_matrix(q[3:7])
        wind = self.wind.in_body(R, z[len(self.own_states) :], q[2])
        if link == self.robot.model.root:
            twist = v[:6]
        else:
            twist = self.robot.velocity(link, "body")(q, v)
            wind = self.robot.pose(link)(q)[:3, :3].T @ (R @ wind)
        p = ca.SX(np.asarray(point, np.float64))
        moving = twist[3:] + ca.cross(twist[:3], p) if np.any(np.asarray(point)) else twist[3:]
        return Flow(moving - wind, twist[:3], q[2])

    @property
    def force(self) -> Function:
        """`(q, v, states, u) -> tau`: the generalised force (nv) of everything that drives the vehicle."""
        return force_function(self)

    # Steady flight ----------------------------------------------------------------------------------------

    def trim(
        self,
        speed: float = 0.0,
        climb: float = 0.0,
        turn_rate: float = 0.0,
        q: ArrayLike | None = None,
    ) -> Trim:
        """Steady flight: attitude and controls for which nothing accelerates, by Newton's method.

        Args:
            speed: through the air (m/s).
            climb: upwards (m/s).
            turn_rate: of the heading, positive to the right (rad/s).
            q: positions of joints, if there are any, and the height; the neutral ones unless given.

        Where there is none within the limits, `ok` is False: the trim is the nearest, `residual` says how far
        from steady it is, and `reason` why.
        """
        return find_trim(self, speed, climb, turn_rate, q)

    def trims(self, speed: ArrayLike, climb: ArrayLike = 0.0, turn_rate: ArrayLike = 0.0) -> list[Trim]:
        """Trims of many flights at once: arrays are broadcast, and all are solved side by side."""
        return find_trims(self, speed, climb, turn_rate)

    def envelope(self, speed: ArrayLike, climb: ArrayLike, turn_rate: float = 0.0) -> Envelope:
        """Which steady flights there are over speeds and climbs (m/s), and what limits them; `plot` shows it.

        >>> import numpy as np
        >>> import helicoid as hc
        >>> aircraft = hc.aerial.load("aerosonde")
        >>> envelope = aircraft.envelope(np.linspace(10, 40, 7), np.linspace(-4, 4, 5))
        >>> print(envelope.limit[2].tolist())  # level flight
        ['stall', '', '', '', '', 'power', 'power']
        """
        return find_envelope(self, speed, climb, turn_rate)

    def _limit_reasons(self, trim: Trim) -> list[str]:
        """Why a trim that is none may be none, of what this kind of vehicle knows."""
        return []

    # Other vehicles of this one ---------------------------------------------------------------------------

    def _replaced(self: _Self, **changed: Any) -> _Self:
        other = object.__new__(type(self))
        other.__dict__.update({**self.__dict__, **changed})
        return other

    def with_wind(self: _Self, wind: Wind | None) -> _Self:
        """The same vehicle in another wind; None is none."""
        if wind is not None and not isinstance(wind, Wind):
            raise InputError(f"wind is hc.aerial.Wind(...) or None; got {wind!r}")
        return self._replaced(wind=Wind() if wind is None else wind)

    def with_air(self: _Self, air: Air) -> _Self:
        """The same vehicle in other air."""
        if not isinstance(air, Air):
            raise InputError(f"air is hc.aerial.Air(...); got {air!r}")
        return self._replaced(air=air)

    def with_robot(self: _Self, robot: Robot) -> _Self:
        """The same rotors, wings and motors on another robot, as one with a payload, or a parametric one."""
        if not isinstance(robot, Robot) or not robot.model.floating:
            raise InputError(f"what flies is a Robot with a floating base; got {robot!r}")
        for name in self._links():
            robot.model.frame(name)
        return self._replaced(robot=robot)

    def _links(self) -> list[str]:
        return []

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.robot.name!r}, {self.robot.mass:g} kg, {', '.join(self.controls)})"
        )


def body_robot(name: str, mass: float, inertia: ArrayLike, com: ArrayLike = (0.0, 0.0, 0.0)) -> Robot:
    """A robot that is one body on a floating base: mass (kg), inertia about its center (kg·m²), z up."""
    moments = np.asarray(inertia, dtype=np.float64)
    moments = np.diag(moments) if moments.shape == (3,) else moments
    if not (isinstance(mass, (int, float)) and 0 < mass < np.inf):
        raise InputError(f"{name}: its mass is positive (kg); got {mass!r}")
    if moments.shape != (3, 3) or not np.isfinite(moments).all() or np.any(np.linalg.eigvalsh(moments) <= 0):
        raise InputError(f"{name}: its inertia is three positive moments or a 3 × 3 matrix of a body (kg·m²)")
    link = Link(BODY, Inertia.from_com(float(mass), com, moments))
    return Robot(Model(name, (link,), (), floating=True))
