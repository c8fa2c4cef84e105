"""Equations of motion of a simulated robot, and the functions that a simulation computes with.

The acceleration and the projection of states are defined here alone: quaternions to unit length, and a
constrained robot on its constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca

from helicoid._typing import Expression
from helicoid.compiler import Expressions, Function, Input, Output
from helicoid.dynamics.kinematics.configuration import integrate, unit
from helicoid.dynamics.linear import factor, solve
from helicoid.dynamics.tree import rate_matrix
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.equations.integrators import STEPS, State
from helicoid.simulation.equations.stiction import stiction_step, stiction_terms

FIXED = (*STEPS, "stiction")
"""The methods of `step_function`."""

_REGULAR = 1e-9  # of A Aᵀ's mean diagonal: redundant constraints make it singular
_STICTION_INTERVAL = 1e-6  # s, over which the acceleration with dry friction is a difference quotient
_STABILISATION = 20.0  # 1/s (Baumgarte), where a state is not brought back after every step


def acceleration(robot: Robot, method: str = "rk4", **options: Any) -> Function:
    """`(q, v, tau, ...) -> a`, of a constrained robot `-> a, lambda_`: the equations of motion.

    Args:
        method: "stiction" has its own equations, all others share theirs.
        options: as `robot.forward_dynamics.with_options` takes them. Inputs after `tau` are `theta` of a
            parametric robot and `f_ext_<link>` for each link that `f_ext` names.
    """
    if method == "stiction":
        return _stiction_acceleration(robot, **options)
    function = robot.constrained_forward_dynamics if robot.constraints else robot.forward_dynamics
    return function.with_options(**options)


def _stiction_acceleration(robot: Robot, **options: Any) -> Function:
    if robot.constraints:
        raise InputError("method 'stiction' knows no constraints: take another, or a robot without them")
    terms = stiction_terms(robot, **options)
    inputs = _with_theta(terms)

    def expressions() -> Expressions:
        q, v, *forces = symbols = _symbols(inputs)
        v_next = stiction_step(robot.model, terms(q, v, *forces), q, v, ca.SX(_STICTION_INTERVAL))[1]
        return symbols, [(v_next - v) / _STICTION_INTERVAL]

    return _once(robot, "stiction_acceleration", terms, inputs, [Output("a", (robot.nv,))], expressions)


def settled(robot: Robot, q: Expression, v: Expression, theta: Expression) -> State:
    """The state projected on the constraints: φ(q) = 0 by a Gauss-Newton step, A(q) v = 0 by projection.

    A time step leaves φ tiny, so that one step δ = -Aᵀ (A Aᵀ)⁻¹ φ is enough.
    """
    if not robot.constraints:
        return q, v
    A = robot.constraint_jacobian(q)
    G = A @ A.T
    G += _REGULAR * ca.trace(G) / G.shape[0] * ca.SX.eye(G.shape[0])
    q = integrate(robot.model, q, -A.T @ solve(factor(G), robot.constraint_position(q)))
    return q, robot.project_velocity(q, v, theta)


def settling_function(robot: Robot) -> Function:
    """`(q, v, theta) -> q_next, v_next`: unit quaternions, then `settled`."""
    inputs = [Input("q", (robot.nq,)), Input("v", (robot.nv,))]
    inputs.append(Input("theta", (len(robot.theta),)))

    def expressions() -> Expressions:
        q, v, theta = symbols = _symbols(inputs)
        return symbols, list(settled(robot, unit(robot.model, q), v, theta))

    return _once(robot, "settle", None, inputs, _next_state(robot), expressions)


def step_function(robot: Robot, method: str = "rk4", ramp: bool = False, **options: Any) -> Function:
    """`(q, v, tau, theta, ..., dt) -> q_next, v_next`: one step of a method of `FIXED`, forces held.

    With `ramp`, inputs end with `tau_rate`: the torque s seconds into the step is tau + s tau_rate (a
    first-order hold), for methods of `STEPS`.

    >>> import helicoid as hc
    >>> step_function(hc.load("double_pendulum"), "semi_implicit_euler")
    Function semi_implicit_euler_step(q[2], v[2], tau[2], theta[0], dt) -> q_next[2], v_next[2]
    """
    motion = acceleration(robot, method, **options)
    inputs = [*_with_theta(motion), Input("dt", ()), *([Input("tau_rate", (robot.nv,))] if ramp else [])]

    def expressions() -> Expressions:
        symbols = _symbols(inputs)
        q, v, *forces, dt = symbols[:-1] if ramp else symbols
        rate = symbols[-1] if ramp else ca.SX.zeros(robot.nv)
        if method == "stiction":
            terms = stiction_terms(robot, **options)
            return symbols, list(stiction_step(robot.model, terms(q, v, *forces), q, v, dt))

        def a(x: Expression, y: Expression, s: Expression) -> Expression:
            return _first(motion(x, y, forces[0] + s * rate if ramp else forces[0], *forces[1:]))

        return symbols, list(settled(robot, *STEPS[method](robot.model, a, q, v, dt), forces[1]))

    return _once(
        robot,
        f"{method}_ramp_step" if ramp else f"{method}_step",
        motion,
        inputs,
        _next_state(robot),
        expressions,
    )


def repeated(robot: Robot, step: Function, times: int) -> Function:
    """`times` calls of a step in a row as one function, its inputs held."""
    n = len(step.outputs)
    if times == 1:
        return step

    def expressions() -> Expressions:
        symbols = [ca.SX.sym(item.name, *(*item.shape, 1, 1)[:2]) for item in step.inputs]
        states: Any = symbols[:n]
        for _ in range(times):
            states = step(*states, *symbols[n:])
        return symbols, list(states)

    name = f"{step.name}_{times}"
    return robot.memo((name, step), lambda: Function(name, step.inputs, step.outputs, expressions))


def rate_function(robot: Robot, **options: Any) -> Function:
    """`(x, tau, theta, ...) -> x_dot` of the state x = (q, v), for adaptive solvers."""
    if robot.constraints:
        options = {**options, "stabilisation": _STABILISATION}
    motion = acceleration(robot, **options)
    size = robot.nq + robot.nv
    inputs = [Input("x", (size,)), *_with_theta(motion)[2:]]

    def expressions() -> Expressions:
        x, *forces = symbols = _symbols(inputs)
        q, v = x[: robot.nq], x[robot.nq :]
        return symbols, [ca.vertcat(rate_matrix(robot.model, q) @ v, _first(motion(q, v, *forces)))]

    return _once(robot, "state_rate", motion, inputs, [Output("x_dot", (size,))], expressions)


def _next_state(robot: Robot) -> list[Output]:
    return [Output("q_next", (robot.nq,)), Output("v_next", (robot.nv,))]


def _with_theta(function: Function) -> list[Input]:
    """Its inputs (q, v, tau, theta, ...); theta is empty where the robot is not parametric."""
    inputs = list(function.inputs)
    given = any(item.name == "theta" for item in inputs)
    return inputs if given else [*inputs[:3], Input("theta", (0,)), *inputs[3:]]


def _symbols(inputs: list[Input]) -> list[Expression]:
    return [ca.SX.sym(item.name, *item.shape) for item in inputs]


def _first(result: Expression) -> Expression:
    return result[0] if isinstance(result, tuple) else result


def _once(
    robot: Robot,
    name: str,
    motion: Function | None,
    inputs: list[Input],
    outputs: list[Output],
    expressions: Callable[[], Expressions],
) -> Function:
    """The function of that name for these equations, cached."""
    return robot.memo((name, motion), lambda: Function(name, inputs, outputs, expressions))
