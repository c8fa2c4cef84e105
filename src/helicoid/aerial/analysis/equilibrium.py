"""Equations of steady flight and the dynamics about it, as compiled functions of a vehicle.

The unknowns y are roll, pitch and the angle between nose and course (φ, θ, η, z down), the controls u and
the states z of the actuators. The velocity is given, and the rates are those of the turn, (p, q, r) =
Rᵀ (0, 0, ψ̇). All accelerations, ż, and the sideslip of an aircraft or η of a rotorcraft must vanish. In a
glide, the flight-path angle γ is a further unknown, the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.aerial.frames import FLIP
from helicoid.compiler import Expressions, Function, Input, Output
from helicoid.geometry import quaternion
from helicoid.simulation.equations.actuated import dynamics

if TYPE_CHECKING:
    from helicoid.aerial.vehicle import Vehicle


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Equations of steady flight of a vehicle, built once.

    Attributes:
        vehicle: the vehicle in still air.
        residual: `(y, flight, posture) -> r, J`: r is zero in steady flight, J = dr/dy.
        state: `(y, flight, posture) -> q, v, alpha, beta`.
        controls, states: names of controls and of the actuators' states.
        lower, upper: limits of controls.
        initial_states: initial guess of the actuators' states.
        glide: whether the flight-path angle is an unknown.
    """

    vehicle: Vehicle
    residual: Function
    state: Function
    controls: tuple[str, ...]
    states: tuple[str, ...]
    lower: Array
    upper: Array
    initial_states: Array
    glide: bool = False

    @property
    def n_controls(self) -> int:
        """Number of controls."""
        return len(self.lower)

    @staticmethod
    def of(vehicle: Vehicle, glide: bool = False) -> Equilibrium:
        """Equations of a vehicle, in still air; in a glide the flight-path angle is an unknown."""
        key = ("equilibrium", vehicle, glide)
        return vehicle.robot.memo(key, lambda: _build(vehicle.with_wind(None), glide))


def _build(vehicle: Vehicle, glide: bool) -> Equilibrium:
    states = np.array([*vehicle.own_states.values()])
    size = 3 + len(vehicle.controls) + len(states) + glide
    inputs = [Input("y", (size,)), Input("flight", (3,)), Input("posture", (vehicle.robot.nq - 2,))]
    return Equilibrium(
        vehicle,
        _residual(vehicle, inputs, glide),
        _state(vehicle, inputs, glide),
        vehicle.controls,
        tuple(vehicle.own_states),
        *vehicle.control_limits,
        states,
        glide,
    )


def _conditions(y: Expression, flight: Expression, glide: bool) -> Expression:
    """Speed, climb rate and turn rate; in a glide the climb rate follows from the flight-path angle."""
    return ca.vertcat(flight[0], flight[0] * ca.sin(y[-1]), flight[2]) if glide else flight


def _pose(y: Expression, flight: Expression, posture: Expression, nv: int) -> tuple[Expression, Expression]:
    """q and v (z up) of the unknowns y, the flight condition, and q[2:] (height, attitude, joints)."""
    c, s = ca.cos(y[:3] / 2), ca.sin(y[:3] / 2)
    about = [ca.vertcat(c[k], *(s[k] * ca.SX(FLIP[:, k])).nz) for k in range(3)]
    attitude = quaternion.multiply(quaternion.multiply(about[2], about[1]), about[0])
    R = quaternion.to_matrix(attitude)
    speed, climb_rate, rate = flight[0], flight[1], flight[2]
    velocity = R.T @ ca.vertcat(ca.sqrt(ca.fmax(speed**2 - climb_rate**2, 0)), 0, climb_rate)
    q = ca.vertcat(0, 0, posture[0], attitude, posture[5:])
    return q, ca.vertcat(R.T @ ca.vertcat(0, 0, -rate), velocity, ca.SX.zeros(nv - 6))


def _residual(vehicle: Vehicle, inputs: list[Input], glide: bool) -> Function:
    robot = vehicle.robot

    def expressions() -> Expressions:
        y, flight, posture = symbols = [ca.SX.sym(x.name, *x.shape) for x in inputs]
        q, v = _pose(y, _conditions(y, flight, glide), posture, robot.nv)
        n = 3 + len(vehicle.controls)
        z = y[n : n + len(vehicle.own_states)]
        force, z_dot = vehicle.equations(q, v, z, y[3:n], ca.SX(0, 1))
        a = dynamics(robot)(q, v, force, ca.SX(robot.theta.values))
        sideslip = v[4] / ca.fmax(flight[0], 1.0) if vehicle.flies_forward else y[2]
        r = ca.vertcat(a, z_dot, sideslip)
        return symbols, [r, ca.jacobian(r, y)]

    size = robot.nv + len(vehicle.own_states) + 1
    return Function(
        "trim", inputs, [Output("r", (size,)), Output("J", (size, *inputs[0].shape))], expressions
    )


def _state(vehicle: Vehicle, inputs: list[Input], glide: bool) -> Function:
    robot = vehicle.robot

    def expressions() -> Expressions:
        y, flight, posture = symbols = [ca.SX.sym(x.name, *x.shape) for x in inputs]
        q, v = _pose(y, _conditions(y, flight, glide), posture, robot.nv)
        u, v_, w = v[3], -v[4], -v[5]  # z down
        alpha = ca.if_else(flight[0] > 0, ca.atan2(w, u), 0)
        beta = ca.atan2(v_, ca.sqrt(u**2 + w**2))
        return symbols, [q, v, alpha, beta]

    outputs = [Output("q", (robot.nq,)), Output("v", (robot.nv,)), Output("alpha", ()), Output("beta", ())]
    return Function("trim_state", inputs, outputs, expressions)


def state_space_dynamics(vehicle: Vehicle) -> Function:
    """`(x, u, height) -> x_dot` with x = velocity, rates, roll, pitch (z down), actuators' states, joints."""
    robot = vehicle.robot
    nz, nj = len(vehicle.own_states), robot.nq - 7
    size = 8 + nz + nj + robot.nv - 6
    inputs = [Input("x", (size,)), Input("u", (len(vehicle.controls),)), Input("height", ())]

    def expressions() -> Expressions:
        x, u, height = symbols = [ca.SX.sym(item.name, *item.shape) for item in inputs]
        F = ca.SX(FLIP)
        roll, pitch, z = x[6], x[7], x[8 : 8 + nz]
        y = ca.vertcat(roll, pitch, 0)
        posture = ca.vertcat(height, ca.SX.zeros(4), x[8 + nz : 8 + nz + nj])
        q, _ = _pose(y, ca.SX.zeros(3), posture, robot.nv)
        v = ca.vertcat(F @ x[3:6], F @ x[:3], x[8 + nz + nj :])
        force, z_dot = vehicle.equations(q, v, z, u, ca.SX(0, 1))
        a = dynamics(robot)(q, v, force, ca.SX(robot.theta.values))
        p_, q_, r_ = x[3], x[4], x[5]
        turn = q_ * ca.sin(roll) + r_ * ca.cos(roll)
        angles_dot = ca.vertcat(p_ + ca.tan(pitch) * turn, q_ * ca.cos(roll) - r_ * ca.sin(roll))
        return symbols, [ca.vertcat(F @ a[3:6], F @ a[:3], angles_dot, z_dot, v[6:], a[6:])]

    outputs = [Output("x_dot", (size,))]
    return robot.memo(("state space", vehicle), lambda: Function("state_space", inputs, outputs, expressions))
