"""Steady flight: attitude and controls for which nothing accelerates, and small motions about it.

Unknown are roll, pitch and the angle between nose and course (φ, θ, η, z down), the controls u and the
vehicle's own states z. The velocity is that of the flight asked for, rates are those of its turn, (p, q, r)
= Rᵀ (0, 0, ψ̇); zero must be all accelerations, ż, and the sideslip of an aircraft or η of a rotorcraft.
Newton's method with exact derivatives, many flights side by side; where it ends outside of the limits, the
nearest point inside by least squares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from helicoid._typing import Array, Expression
from helicoid.aerial.frames import FLIP, angles
from helicoid.aerial.modes import name_modes
from helicoid.compiler.function import Function, Input, Output
from helicoid.compiler.symbolic.definition import Expressions
from helicoid.errors import InputError
from helicoid.geometry import quaternion
from helicoid.simulation.machines.machine import dynamics

if TYPE_CHECKING:
    from helicoid.aerial.vehicle import Vehicle

_ITERATIONS = 60
_SOLVED = 1e-8  # m/s² and rad/s²
_SLACK = 1e-9  # of limits


class Linearisation(NamedTuple):
    """ẋ = A x + B u about a trim: x are velocities (u, v, w), rates (p, q, r), roll, pitch, then own states
    and joints.

    Axes are aeronautics', z down.
    """

    A: Array
    B: Array
    states: tuple[str, ...]
    controls: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Trim:
    """A steady flight, or the nearest to it.

    Attributes:
        speed, climb, turn_rate: what was asked for (m/s, m/s, rad/s).
        roll, pitch: φ and θ (rad), z down; `alpha`, `beta`: angles of attack and sideslip (rad).
        controls, states: by name.
        q, v: the state, heading north at the origin, z up.
        residual: largest acceleration that is left (m/s², rad/s²).
        ok: whether it is steady, within all limits and not stalled.
        reason: why not, in words; empty where it is.
    """

    vehicle: Vehicle = field(repr=False)
    speed: float
    climb: float
    turn_rate: float
    roll: float
    pitch: float
    alpha: float
    beta: float
    controls: Mapping[str, float]
    states: Mapping[str, float]
    q: Array = field(repr=False)
    v: Array = field(repr=False)
    residual: float
    ok: bool
    reason: str = ""

    @property
    def u(self) -> Array:
        """The controls as a vector, in the order of `vehicle.controls`."""
        return np.array(list(self.controls.values()))

    @property
    def z(self) -> Array:
        """The vehicle's states as a vector, those of gusts zero."""
        return np.concatenate([list(self.states.values()), np.zeros(len(self.vehicle.wind.states))])

    def linearise(self) -> Linearisation:
        """A and B of small motions about the trim, by exact derivatives."""
        vehicle = _calm(self.vehicle)
        x = np.concatenate(
            [FLIP @ self.v[3:6], FLIP @ self.v[:3], [self.roll, self.pitch], list(self.states.values())]
        )
        x = np.concatenate([x, self.q[7:], self.v[6:]])
        A, B = _small_motions(vehicle).jacobian("x", "u")(x, self.u, self.q[2])
        names = ("u", "v", "w", "p", "q", "r", "roll", "pitch", *vehicle.own_states)
        names += tuple(f"q.{name}" for name in vehicle.robot.model.coordinate_names[7:])
        names += tuple(f"v.{name}" for name in vehicle.robot.model.velocity_names[6:])
        return Linearisation(A.reshape(len(x), -1), B.reshape(len(x), -1), names, vehicle.controls)

    def modes(self) -> dict[str, complex]:
        """Eigenvalues (1/s) by the names of aeronautics; of a pair, the one with a positive imaginary part.

        "short period" and "phugoid" move in the plane of symmetry, "Dutch roll", "roll" and "spiral" out of
        it.
        """
        return name_modes(self.linearise().A[:8, :8])


def find_trim(vehicle: Vehicle, speed: float, climb: float, turn_rate: float, q: ArrayLike | None) -> Trim:
    """See `Vehicle.trim`."""
    numbers = (speed, climb, turn_rate)
    if not all(isinstance(x, (int, float, np.number)) for x in numbers):
        raise InputError(f"trim takes numbers; for many flights take trims(...); got {numbers!r}")
    return _found(vehicle, np.array([numbers], dtype=np.float64), q)[0]


def find_trims(vehicle: Vehicle, speed: ArrayLike, climb: ArrayLike, turn_rate: ArrayLike) -> list[Trim]:
    """See `Vehicle.trims`."""
    columns = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (speed, climb, turn_rate)))
    return _found(vehicle, np.stack([x.ravel() for x in columns], axis=1), None)


def _found(vehicle: Vehicle, flights: Array, q: ArrayLike | None) -> list[Trim]:
    speed, climb = flights[:, 0], flights[:, 1]
    if (
        not np.isfinite(flights).all()
        or np.any(speed < 0)
        or np.any(np.abs(climb) > np.where(speed == 0, np.inf, speed))
    ):
        raise InputError("trim: numbers are finite, speed is 0 or more and climb at most as large")
    flights = np.where(
        (speed == 0)[:, None], np.stack([np.abs(climb), climb, flights[:, 2]], axis=1), flights
    )
    calm = _calm(vehicle)
    posture = calm.robot.neutral() if q is None else np.asarray(q, np.float64)
    function = _residual(calm)
    y = _start(calm, flights)
    y, r = _newton(function, y, flights, posture[2:])
    return [_trim(vehicle, calm, function, *row, posture) for row in zip(flights, y, r, strict=True)]


def _start(vehicle: Vehicle, flights: Array) -> Array:
    """Roll of a coordinated turn, a little pitch, no sideslip, the vehicle's guess of controls."""
    y = np.zeros((len(flights), 3 + len(vehicle.controls) + len(vehicle.own_states)))
    y[:, 0] = np.arctan(flights[:, 0] * flights[:, 2] / 9.81)
    wings = vehicle.flies_forward
    y[:, 1] = (
        np.where(flights[:, 0] > 0, 0.05 + np.arcsin(flights[:, 1] / np.maximum(flights[:, 0], 1e-9)), 0)
        * wings
    )
    guess = vehicle._guess(float(flights[:, 0].mean()))
    m = 3 + len(vehicle.own_controls)
    y[:, 3:m] = guess
    y[:, 3 + len(vehicle.controls) :] = list(vehicle.own_states.values())
    return y


def _newton(function: Function, y: Array, flights: Array, posture: Array) -> tuple[Array, Array]:
    """Newton's method on every row, steps halved where they do not help; of several steps the least."""
    derivative = function.jacobian("y")
    r = function(y, flights, posture)
    for _ in range(_ITERATIONS):
        size = np.abs(r).max(axis=1)
        going = size > _SOLVED * 1e-3
        if not going.any():
            break
        J = derivative(y[going], flights[going], posture)
        step = -_solved(J, r[going])
        step *= np.minimum(1, 100 / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
        length = np.ones(len(step))
        new_y, new_r = y[going].copy(), r[going].copy()
        open_ = np.ones(len(step), bool)
        for _ in range(8):
            trial = y[going] + length[:, None] * step
            value = function(trial, flights[going], posture)
            better = open_ & (np.abs(value).max(axis=1) < size[going]) & np.isfinite(value).all(axis=1)
            new_y[better], new_r[better] = trial[better], value[better]
            open_ &= ~better
            if not open_.any():
                break
            length[open_] /= 2
        y[going], r[going] = new_y, new_r
        if open_.all():
            break
    return y, r


def _solved(J: Array, r: Array) -> Array:
    """J⁻¹ r of every row, the least where there are several."""
    if J.shape[1] == J.shape[2]:
        try:
            return np.asarray(np.linalg.solve(J, r[..., None])[..., 0], np.float64)
        except np.linalg.LinAlgError:
            pass
    return np.asarray(np.einsum("nij,nj->ni", np.linalg.pinv(J, rcond=1e-10), r), np.float64)


def _trim(
    vehicle: Vehicle, calm: Vehicle, function: Function, flight: Array, y: Array, r: Array, posture: Array
) -> Trim:
    lower, upper = calm.control_limits
    n = len(calm.controls)
    beyond = [
        f"{name} would have to be {u:.4g}, of {low:g} to {high:g} that there are"
        + (": power" if name == "throttle" or name.startswith("rotor") else "")
        for name, u, low, high in zip(calm.controls, y[3 : 3 + n], lower, upper, strict=True)
        if not low - _SLACK <= u <= high + _SLACK
    ]
    solved = np.abs(r).max() < _SOLVED
    wanted = _made(vehicle, calm, flight, y, r, posture)
    if solved and not beyond and not vehicle._limit_reasons(wanted):
        return wanted
    reasons = beyond if solved else []
    if not solved or beyond:
        y, r = _nearest(calm, function, flight, posture)
        wanted = _made(vehicle, calm, flight, y, r, posture)
    at = [
        f"{name} is at its limit of {u:.4g}"
        for name, u, low, high in zip(calm.controls, y[3 : 3 + n], lower, upper, strict=True)
        if min(u - low, high - u) < 1e-6 * (high - low)
    ]
    reasons = [*vehicle._limit_reasons(wanted), *(reasons or at)] or ["no steady flight was found"]
    return _made(vehicle, calm, flight, y, r, posture, "; ".join(reasons))


def _nearest(vehicle: Vehicle, function: Function, flight: Array, posture: Array) -> tuple[Array, Array]:
    """The point within limits whose accelerations are least, from several starts."""
    lower, upper = vehicle.control_limits
    n = len(vehicle.own_states)
    turned = np.array([1.5, 1.5, 1.5])
    low = np.concatenate([-turned, lower, np.full(n, -np.inf)])
    high = np.concatenate([turned, upper, np.full(n, np.inf)])
    derivative = function.jacobian("y")
    best: Any = None
    for pitch in (0.05, 0.2, 0.4):
        y0 = _start(vehicle, flight[None])[0]
        y0[1] = pitch * vehicle.flies_forward
        found = least_squares(
            lambda y: function(y, flight, posture[2:]),
            np.clip(y0, low + 1e-6, high - 1e-6),
            lambda y: derivative(y, flight, posture[2:]),
            (low, high),
            x_scale="jac",
            max_nfev=200,
        )
        best = found if best is None or found.cost < best.cost else best
    return best.x, best.fun


def _made(
    vehicle: Vehicle, calm: Vehicle, flight: Array, y: Array, r: Array, posture: Array, reason: str = ""
) -> Trim:
    n = len(calm.controls)
    q, v = (np.asarray(x) for x in _state(calm)(y, flight, posture[2:]))
    seen = angles(q, v)
    return Trim(
        vehicle,
        float(flight[0]),
        float(flight[1]),
        float(flight[2]),
        float(y[0]),
        float(y[1]),
        float(seen.alpha) if flight[0] > 0 else 0.0,
        float(seen.beta),
        dict(zip(calm.controls, y[3 : 3 + n].tolist(), strict=True)),
        dict(zip(calm.own_states, y[3 + n :].tolist(), strict=True)),
        q,
        v,
        float(np.abs(r).max()),
        not reason,
        reason,
    )


def _calm(vehicle: Vehicle) -> Vehicle:
    """The vehicle without wind; the same object every time, for which functions are compiled once."""
    return vehicle.robot.memo(("calm", vehicle), lambda: vehicle.with_wind(None))


# Functions ----------------------------------------------------------------------------------------------


def _pose(y: Expression, flight: Expression, posture: Expression, nv: int) -> tuple[Expression, Expression]:
    """q and v (z up) of the unknowns y, the flight, and height, attitude's place and joints."""
    c, s = ca.cos(y[:3] / 2), ca.sin(y[:3] / 2)
    about = [ca.vertcat(c[k], *(s[k] * ca.SX(FLIP[:, k])).nz) for k in range(3)]
    turned = quaternion.multiply(quaternion.multiply(about[2], about[1]), about[0])
    R = quaternion.to_matrix(turned)
    speed, climb, rate = flight[0], flight[1], flight[2]
    velocity = R.T @ ca.vertcat(ca.sqrt(ca.fmax(speed**2 - climb**2, 0)), 0, climb)
    q = ca.vertcat(0, 0, posture[0], turned, posture[5:])
    return q, ca.vertcat(R.T @ ca.vertcat(0, 0, -rate), velocity, ca.SX.zeros(nv - 6))


def _inputs(vehicle: Vehicle) -> list[Input]:
    size = 3 + len(vehicle.controls) + len(vehicle.own_states)
    return [Input("y", (size,)), Input("flight", (3,)), Input("posture", (vehicle.robot.nq - 2,))]


def _residual(vehicle: Vehicle) -> Function:
    """`(y, flight, posture) -> r`: accelerations, ż, and sideslip or heading."""
    robot, inputs = vehicle.robot, _inputs(vehicle)

    def expressions() -> Expressions:
        y, flight, posture = symbols = [ca.SX.sym(x.name, *x.shape) for x in inputs]
        q, v = _pose(y, flight, posture, robot.nv)
        n = 3 + len(vehicle.controls)
        force, z_dot = vehicle.equations(q, v, y[n:], y[3:n], ca.SX(0, 1))
        a = dynamics(robot)(q, v, force, ca.SX(robot.theta.values))
        aside = v[4] / ca.fmax(flight[0], 1.0) if vehicle.flies_forward else y[2]
        return symbols, [ca.vertcat(a, z_dot, aside)]

    size = robot.nv + len(vehicle.own_states) + 1
    outputs = [Output("r", (size,))]
    return robot.memo(("trim", vehicle), lambda: Function("trim", inputs, outputs, expressions))


def _state(vehicle: Vehicle) -> Function:
    """`(y, flight, posture) -> q, v`."""
    robot, inputs = vehicle.robot, _inputs(vehicle)

    def expressions() -> Expressions:
        y, flight, posture = symbols = [ca.SX.sym(x.name, *x.shape) for x in inputs]
        return symbols, list(_pose(y, flight, posture, robot.nv))

    outputs = [Output("q", (robot.nq,)), Output("v", (robot.nv,))]
    return robot.memo(("trim state", vehicle), lambda: Function("trim_state", inputs, outputs, expressions))


def _small_motions(vehicle: Vehicle) -> Function:
    """`(x, u, height) -> x_dot`, x being velocity, rates, roll, pitch (z down), own states, joints."""
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
    return robot.memo(
        ("small motions", vehicle), lambda: Function("small_motions", inputs, outputs, expressions)
    )
