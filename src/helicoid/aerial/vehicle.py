"""Flying vehicles: a robot on a floating base with aerodynamic forces, actuators and their states."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.air import Air, Wind
from helicoid.aerial.analysis.envelope import Envelope, find_envelope
from helicoid.aerial.analysis.trim import Trim, find_trim, find_trims
from helicoid.aerial.checks import check_positive
from helicoid.compiler import Function
from helicoid.deprecation import renamed_arguments
from helicoid.errors import DoubtfulModelWarning, InputError
from helicoid.geometry import quaternion
from helicoid.model.inertia import Inertia
from helicoid.model.model import Model
from helicoid.model.parts import Link
from helicoid.robot import Robot
from helicoid.simulation.equations.actuated import force_function

_Self = TypeVar("_Self", bound="Vehicle")
BODY = "body"
"""Name of the single link of a vehicle that is given by mass and inertia."""


class Airflow(NamedTuple):
    """Motion of a point of a vehicle through the air, as expressions.

    Attributes:
        velocity: of the point relative to the air (3), in link axes (m/s).
        rate: angular velocity of the link (3), in link axes (rad/s).
        height: of the vehicle above the ground (m).
    """

    velocity: Expression
    rate: Expression
    height: Expression


class Vehicle(ABC):
    """Base of flying vehicles; see `Multirotor` and `FixedWing`.

    Controls u and actuator states z have names. `hc.simulate(vehicle, ...)` and `hc.mpc.Problem(vehicle,
    ...)` take a vehicle in place of a robot; `vehicle.robot` is the robot, on a floating base with z up.
    """

    glides: bool = False
    """Whether it has wings and no propulsion: the climb rate of its trim then follows from the speed."""
    flies_forward: bool
    """Whether lift needs airspeed: the vehicle then trims without sideslip, else with its nose on course."""

    def __init__(self, robot: Robot, air: Air | None, wind: Wind | None) -> None:
        if not isinstance(robot, Robot) or not robot.model.floating:
            raise InputError(
                f"a vehicle is a Robot with a floating base: hc.load(..., base='floating'); got {robot!r}"
            )
        if air is not None and not isinstance(air, Air):
            raise InputError(f"air is hc.aerial.Air(...) or None; got {air!r}")
        if wind is not None and not isinstance(wind, Wind):
            raise InputError(f"wind is hc.aerial.Wind(...) or None; got {wind!r}")
        self.robot = robot
        self.air = Air() if air is None else air
        self.wind = Wind() if wind is None else wind

    # To be given by each kind of vehicle --------------------------------------------------------------------

    @property
    @abstractmethod
    def own_controls(self) -> Mapping[str, tuple[float, float]]:
        """Bounds of the vehicle's controls by name; joint torques are appended to them."""

    @property
    @abstractmethod
    def own_states(self) -> Mapping[str, float]:
        """Initial values of the actuator states by name; states of gusts are appended to them."""

    @abstractmethod
    def _air_forces(
        self, q: Expression, v: Expression, z: Expression, u: Expression
    ) -> tuple[Mapping[str, Expression], Expression]:
        """Wrenches (n, f) on links, in their frames, and ż of the actuator states."""

    @abstractmethod
    def _guess(self, speed: float) -> Array:
        """Initial guess of the controls of a trim."""

    # Interface of simulation and MPC ----------------------------------------------------------------------

    @property
    def controls(self) -> tuple[str, ...]:
        """Names of the controls: those of the vehicle, then torques of the robot's actuated joints."""
        return (*self.own_controls, *self._actuated_joints)

    @property
    def _actuated_joints(self) -> list[str]:
        names = self.robot.model.velocity_names
        return [names[k] for k in self.robot.actuated]

    @property
    def control_limits(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the controls."""
        effort = self.robot.limits.effort[list(self.robot.actuated)]
        own = np.array(list(self.own_controls.values()), dtype=np.float64).reshape(-1, 2)
        return np.concatenate([own[:, 0], -effort]), np.concatenate([own[:, 1], effort])

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states beside q and v: those of the actuators, then those of gusts."""
        return (*self.own_states, *self.wind.states)

    @property
    def n_noise(self) -> int:
        """Number of white-noise inputs of the gusts."""
        return self.wind.n_noise

    def start(self) -> Array:
        """Default initial states of a simulation; gusts are zero."""
        return np.array([*self.own_states.values(), *(0.0 for _ in self.wind.states)])

    def equations(
        self, q: Expression, v: Expression, z: Expression, u: Expression, w: Expression
    ) -> tuple[Expression, Expression]:
        """Generalised force (nv) of air, rotors and joint torques, and ż, as expressions."""
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
    ) -> Airflow:
        """Airflow at a point of a link, with wind and gusts."""
        R = quaternion.to_matrix(q[3:7])
        wind = self.wind.in_body(R, z[len(self.own_states) :], q[2])
        if link == self.robot.model.root:
            twist = v[:6]
        else:
            twist = self.robot.velocity(link, "body")(q, v)
            wind = self.robot.pose(link)(q)[:3, :3].T @ (R @ wind)
        p = ca.SX(np.asarray(point, np.float64))
        velocity = twist[3:] + ca.cross(twist[:3], p) if np.any(np.asarray(point)) else twist[3:]
        return Airflow(velocity - wind, twist[:3], q[2])

    @property
    def force(self) -> Function:
        """`(q, v, states, u) -> tau`: generalised force (nv) of the air and all actuators."""
        return force_function(self)

    # Steady flight ----------------------------------------------------------------------------------------

    @renamed_arguments(climb="climb_rate")
    def trim(
        self,
        speed: float = 0.0,
        climb_rate: float | None = None,
        turn_rate: float = 0.0,
        q: ArrayLike | None = None,
    ) -> Trim:
        """Trim: attitude and controls of steady flight, by Newton's method.

        Args:
            speed: airspeed (m/s).
            climb_rate: vertical speed, positive upwards (m/s); by default level flight, and of a glider the
                descent that the speed needs.
            turn_rate: of the heading, positive to the right (rad/s).
            q: configuration, of which height and joints count; by default neutral.

        Where there is none within the limits, `success` is False: the trim is the nearest one, `residual` is
        its largest acceleration, and `message` says why.
        """
        return find_trim(self, speed, climb_rate, turn_rate, q)

    @renamed_arguments(climb="climb_rate")
    def trims(
        self, speed: ArrayLike, climb_rate: ArrayLike | None = None, turn_rate: ArrayLike = 0.0
    ) -> list[Trim]:
        """Trims of many flight conditions at once; arrays are broadcast."""
        return find_trims(self, speed, climb_rate, turn_rate)

    @renamed_arguments(climb="climb_rate")
    def envelope(self, speed: ArrayLike, climb_rate: ArrayLike, turn_rate: float = 0.0) -> Envelope:
        """Flight envelope over airspeeds and climb rates (m/s), and what limits it; `plot` draws it.

        >>> import numpy as np
        >>> import helicoid as hc
        >>> aircraft = hc.aerial.load("aerosonde")
        >>> envelope = aircraft.envelope(np.linspace(10, 40, 7), np.linspace(-4, 4, 5))
        >>> print(envelope.limit[2].tolist())  # level flight
        ['stall', '', '', '', '', 'power', 'power']
        """
        return find_envelope(self, speed, climb_rate, turn_rate)

    def _limit_reasons(self, trim: Trim) -> list[str]:
        """Limits of this kind of vehicle that a trim violates, such as a stall, in words."""
        return []

    # Modified copies --------------------------------------------------------------------------------------

    def _replaced(self: _Self, **changed: Any) -> _Self:
        other = object.__new__(type(self))
        other.__dict__.update({**self.__dict__, **changed})
        return other

    def with_wind(self: _Self, wind: Wind | None) -> _Self:
        """The same vehicle in another wind; None is still air."""
        if wind is not None and not isinstance(wind, Wind):
            raise InputError(f"wind is hc.aerial.Wind(...) or None; got {wind!r}")
        return self._replaced(wind=Wind() if wind is None else wind)

    def with_air(self: _Self, air: Air) -> _Self:
        """The same vehicle in other air."""
        if not isinstance(air, Air):
            raise InputError(f"air is hc.aerial.Air(...); got {air!r}")
        return self._replaced(air=air)

    def with_robot(self: _Self, robot: Robot) -> _Self:
        """The same rotors, wings and motors on another robot, such as one with a payload."""
        if not isinstance(robot, Robot) or not robot.model.floating:
            raise InputError(f"a vehicle is a Robot with a floating base; got {robot!r}")
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
    """Robot of one body on a floating base: mass (kg), inertia about its centre of mass (kg·m²), z up."""
    check_positive(f"{name}: its mass", mass, "kg")
    J = inertia_matrix(name, inertia)
    moments = np.linalg.eigvalsh(J)
    if not np.allclose(J, J.T, rtol=0.0, atol=1e-9 * np.abs(J).max()) or moments[0] <= 0:
        raise InputError(f"{name}: its inertia is symmetric and positive definite (kg·m²); got {inertia!r}")
    body = Inertia.from_com(float(mass), com, J)
    for doubt in body.doubts():
        warnings.warn(f"{name}: no body has this inertia: {doubt}", DoubtfulModelWarning, stacklevel=4)
    link = Link(BODY, body)
    return Robot(Model(name, (link,), (), floating=True))


def inertia_matrix(name: str, inertia: ArrayLike) -> Array:
    """Inertia (3 × 3) from three principal moments or a matrix (kg·m²)."""
    try:
        J = np.asarray(inertia, dtype=np.float64)
    except (TypeError, ValueError):
        J = np.zeros(0)
    if J.shape not in ((3,), (3, 3)) or not np.isfinite(J).all():
        raise InputError(f"{name}: its inertia is three moments or a 3 × 3 matrix (kg·m²); got {inertia!r}")
    return np.diag(J) if J.shape == (3,) else J
