"""Robots with controls and actuator states of their own, such as vehicles: equations and time step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeGuard

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler import Expressions, Function, Input, Output
from helicoid.dynamics.kinematics.configuration import unit
from helicoid.dynamics.tree import rate_matrix
from helicoid.robot import Robot

_STABILISATION = 20.0  # 1/s (Baumgarte): states are not projected on the constraints


class ActuatedSystem(Protocol):
    """A robot that controls u drive through actuator states z, such as the speeds of rotors.

    M(q) v̇ + h(q, v) = f(q, v, z, u) and ż = g(q, v, z, u, w), with white noise w of unit intensity.
    """

    @property
    def robot(self) -> Robot: ...

    @property
    def controls(self) -> tuple[str, ...]:
        """Names of u."""

    @property
    def control_limits(self) -> tuple[Array, Array]:
        """Lower and upper limits, at which u saturates."""

    @property
    def states(self) -> tuple[str, ...]:
        """Names of z."""

    @property
    def n_noise(self) -> int:
        """Size of w."""

    def start(self) -> Array:
        """Default initial value of z."""

    def equations(
        self, q: Expression, v: Expression, z: Expression, u: Expression, w: Expression
    ) -> tuple[Expression, Expression]:
        """The generalised force f (nv) and ż, as expressions."""


def is_actuated_system(given: Any) -> TypeGuard[ActuatedSystem]:
    """Whether an object has the interface of an `ActuatedSystem`."""
    return callable(getattr(given, "equations", None)) and isinstance(getattr(given, "robot", None), Robot)


def clipped(system: ActuatedSystem, u: Expression) -> Expression:
    """u within its limits; infinite limits add no operations."""
    lower, upper = system.control_limits
    rows = []
    for k in range(u.shape[0]):
        row = u[k]
        row = ca.fmax(row, lower[k]) if np.isfinite(lower[k]) else row
        rows.append(ca.fmin(row, upper[k]) if np.isfinite(upper[k]) else row)
    return ca.vertcat(ca.SX(0, 1), *rows)


def rk4_step(
    system: ActuatedSystem,
    state: tuple[Expression, Expression, Expression],
    u: Expression,
    w: Expression,
    theta: Expression,
    h: Expression,
    disturbance: Expression | float = 0.0,
) -> tuple[Expression, Expression, Expression]:
    """(q, v, z) a step h (s) later, by the classic Runge-Kutta method; u, w and θ are held.

    `disturbance` is an acceleration (nv) in addition to that of the equations of motion.
    """
    robot = system.robot
    accelerate = dynamics(robot)

    def rates(q: Expression, v: Expression, z: Expression) -> tuple[Expression, Expression, Expression]:
        force, z_dot = system.equations(q, v, z, u, w)
        return rate_matrix(robot.model, q) @ v, accelerate(q, v, force, theta) + disturbance, z_dot

    k1 = rates(*state)
    k2 = rates(*(x + h / 2 * k for x, k in zip(state, k1, strict=True)))
    k3 = rates(*(x + h / 2 * k for x, k in zip(state, k2, strict=True)))
    k4 = rates(*(x + h * k for x, k in zip(state, k3, strict=True)))
    q, v, z = (x + h / 6 * (a + 2 * (b + c) + d) for x, a, b, c, d in zip(state, k1, k2, k3, k4, strict=True))
    return unit(robot.model, q), v, z


def dynamics(robot: Robot) -> Any:
    """`(q, v, force, theta) -> a`: forward dynamics of the robot, friction and constraints included."""
    if robot.constraints:
        function = robot.constrained_forward_dynamics.with_options(
            friction=True, stabilisation=_STABILISATION
        )
    else:
        function = robot.forward_dynamics.with_options(friction=True)
    parametric = bool(robot.theta.groups)

    def accelerate(q: Any, v: Any, force: Any, theta: Any) -> Any:
        result = function(q, v, force, theta) if parametric else function(q, v, force)
        return result[0] if robot.constraints else result

    return accelerate


def force_function(system: ActuatedSystem) -> Function:
    """`(q, v, [states], [u]) -> tau`: the generalised force (nv) of all actuators and of the air."""
    inputs = _present([*_state_inputs(system), Input("u", (len(system.controls),))])

    def expressions() -> Expressions:
        x = _symbols(inputs)
        q, v, z, u = x["q"], x["v"], x.get("states", ca.SX(0, 1)), x.get("u", ca.SX(0, 1))
        force, _ = system.equations(q, v, z, u, ca.SX.zeros(system.n_noise))
        return list(x.values()), [force]

    outputs = [Output("tau", (system.robot.nv,))]
    return system.robot.memo(("force", system), lambda: Function("force", inputs, outputs, expressions))


def actuated_step_function(system: ActuatedSystem) -> Function:
    """`(q, v, [states], u, [noise], [theta], dt) -> q_next, v_next, [states_next]`, by RK4."""
    states = _present(_state_inputs(system))
    constant = [Input("noise", (system.n_noise,)), Input("theta", (len(system.robot.theta),))]
    inputs = [*states, Input("u", (len(system.controls),)), *_present(constant), Input("dt", ())]

    def expressions() -> Expressions:
        x = _symbols(inputs)
        noise, theta, z = (x.get(name, ca.SX(0, 1)) for name in ("noise", "theta", "states"))
        following = rk4_step(system, (x["q"], x["v"], z), clipped(system, x["u"]), noise, theta, x["dt"])
        return list(x.values()), list(following[: len(states)])

    outputs = [Output(f"{item.name}_next", item.shape) for item in states]
    return system.robot.memo(("step", system), lambda: Function("rk4_step", inputs, outputs, expressions))


def _state_inputs(system: ActuatedSystem) -> list[Input]:
    robot = system.robot
    return [Input("q", (robot.nq,)), Input("v", (robot.nv,)), Input("states", (len(system.states),))]


def _present(inputs: Sequence[Input]) -> list[Input]:
    return [item for item in inputs if item.shape != (0,)]


def _symbols(inputs: Sequence[Input]) -> Mapping[str, Expression]:
    return {item.name: ca.SX.sym(item.name, *(*item.shape, 1, 1)[:2]) for item in inputs}
