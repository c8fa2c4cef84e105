"""What a robot must say to be simulated with controls, states and noise of its own, and its time step."""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.dynamics.configuration import unit
from helicoid.dynamics.tree import rate_matrix
from helicoid.robot import Robot


class Machine(Protocol):
    """A robot that controls u drive through states z of its own, such as the speeds of rotors.

    M(q) v̇ + h(q, v) = f(q, v, z, u) and ż = g(q, v, z, u, w), with white noise w of unit intensity.
    """

    @property
    def robot(self) -> Robot: ...

    @property
    def controls(self) -> tuple[str, ...]:
        """Names of u."""

    @property
    def control_limits(self) -> tuple[Array, Array]:
        """Least and most of u, beyond which it is cut."""

    @property
    def states(self) -> tuple[str, ...]:
        """Names of z."""

    @property
    def n_noise(self) -> int: ...

    def start(self) -> Array:
        """z to start with, unless one is given."""

    def equations(
        self, q: Expression, v: Expression, z: Expression, u: Expression, w: Expression
    ) -> tuple[Expression, Expression]:
        """The generalised force f (nv) and ż, as expressions."""


def is_machine(given: Any) -> TypeGuard[Machine]:
    """Whether something has what a `Machine` has."""
    return callable(getattr(given, "equations", None)) and isinstance(getattr(given, "robot", None), Robot)


def clipped(machine: Machine, u: Expression) -> Expression:
    """u within its limits; those that are infinite cost nothing."""
    lower, upper = machine.control_limits
    rows = []
    for k in range(u.shape[0]):
        row = u[k]
        row = ca.fmax(row, lower[k]) if np.isfinite(lower[k]) else row
        rows.append(ca.fmin(row, upper[k]) if np.isfinite(upper[k]) else row)
    return ca.vertcat(ca.SX(0, 1), *rows)


def rk4_step(
    machine: Machine,
    state: tuple[Expression, Expression, Expression],
    u: Expression,
    w: Expression,
    theta: Expression,
    h: Expression,
    more: Expression | float = 0.0,
) -> tuple[Expression, Expression, Expression]:
    """(q, v, z) a step h (s) later, by Runge and Kutta's classic method; u, w and θ are held.

    `more` is an acceleration (nv) beyond that of the machine's equations.
    """
    robot = machine.robot
    accelerate = dynamics(robot)

    def rates(q: Expression, v: Expression, z: Expression) -> tuple[Expression, Expression, Expression]:
        force, z_dot = machine.equations(q, v, z, u, w)
        return rate_matrix(robot.model, q) @ v, accelerate(q, v, force, theta) + more, z_dot

    k1 = rates(*state)
    k2 = rates(*(x + h / 2 * k for x, k in zip(state, k1, strict=True)))
    k3 = rates(*(x + h / 2 * k for x, k in zip(state, k2, strict=True)))
    k4 = rates(*(x + h * k for x, k in zip(state, k3, strict=True)))
    q, v, z = (x + h / 6 * (a + 2 * (b + c) + d) for x, a, b, c, d in zip(state, k1, k2, k3, k4, strict=True))
    return unit(robot.model, q), v, z


def dynamics(robot: Robot) -> Any:
    """`(q, v, force, theta) -> a` of a machine's robot, joints' friction included."""
    function = robot.forward_dynamics.with_options(friction=True)
    parametric = bool(robot.theta.groups)

    def accelerate(q: Any, v: Any, force: Any, theta: Any) -> Any:
        return function(q, v, force, theta) if parametric else function(q, v, force)

    return accelerate
