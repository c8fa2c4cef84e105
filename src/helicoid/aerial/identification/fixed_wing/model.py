"""Motion of an aircraft as compiled functions of its parameters.

With the velocity v through the air, angular velocity ω, attitude R and wrench (n, F) of the air and engine,

    m (v̇ + ω × v - Rᵀ g) = F,        J ω̇ + ω × J ω = n,

and the accelerometer at r reads v̇ + ω × v - Rᵀ g + ω̇ × r + ω × (ω × r).
A constant wind moves the world with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.linalg import solveh_banded

from helicoid._typing import Array, Expression
from helicoid.aerial.identification.fixed_wing.parameters import AircraftLayout
from helicoid.aerial.identification.sampling import Stretch, held_average
from helicoid.compiler import Expressions, Function, Input, Output
from helicoid.geometry import quaternion
from helicoid.simulation.equations.actuated import dynamics, rk4_step

_MIN_INCREMENT, _MAX_INCREMENT = 0.1, 1.0  # s, of gusts from which their variance is estimated
_MAX_NOISE_RATIO = 1e8  # of the variance of noise to that of a step: the mean wind


@dataclass(frozen=True, eq=False)
class Motion:
    """Compiled equations of an aircraft.

    Attributes:
        acceleration: `(x, given, theta) -> y`: specific force at the sensor and angular acceleration (6).
        step: `(x, given, theta, dt) -> x`: state x = (attitude 4, ω 3, v 3) after dt.
    `given` holds height, wind (3, world axes), controls, and the setting of the engine. Velocities are over
    the ground that the wind is over.
    """

    acceleration: Function
    step: Function

    @staticmethod
    def of(layout: AircraftLayout) -> Motion:
        """Equations with the aerodynamic parameters of a layout as input."""
        key = ("identification", layout.described, tuple(layout.aerodynamic), tuple(layout.sensor))
        return layout.described.robot.memo(key, lambda: _build(layout))


def _build(layout: AircraftLayout) -> Motion:
    aircraft = layout.described
    robot, m = aircraft.robot, len(aircraft.own_controls)
    x = Input("x", (10,))
    given = Input("given", (4 + m + len(aircraft.own_states),))
    theta = Input("theta", (len(layout.aerodynamic),))

    def state(s: Expression, g: Expression) -> tuple[Expression, Expression, Expression]:
        return ca.vertcat(0, 0, g[0], s[:4]), s[4:], g[4 + m :]

    def acceleration() -> Expressions:
        s, g, p = symbols = [ca.SX.sym(item.name, item.shape[0]) for item in (x, given, theta)]
        q, v, z = state(s, g)
        force, _ = layout.parametric(p, g[1:4]).equations(q, v, z, g[4 : 4 + m], ca.SX(0, 1))
        a = dynamics(robot)(q, v, force, ca.SX(robot.theta.values))
        w, r = v[:3], ca.SX(layout.sensor)
        down = quaternion.to_matrix(q[3:7]).T @ ca.SX(np.asarray(robot.model.gravity, np.float64))
        f = a[3:] + ca.cross(w, v[3:]) - down + ca.cross(a[:3], r) + ca.cross(w, ca.cross(w, r))
        return symbols, [ca.vertcat(f, a[:3])]

    def step() -> Expressions:
        s, g, p = symbols = [ca.SX.sym(item.name, item.shape[0]) for item in (x, given, theta)]
        dt = ca.SX.sym("dt")
        q, v, z = state(s, g)
        own, u, fixed = layout.parametric(p, g[1:4]), g[4 : 4 + m], ca.SX(robot.theta.values)
        q, v, _ = rk4_step(own, (q, v, z), u, ca.SX(0, 1), fixed, dt)
        return [*symbols, dt], [ca.vertcat(q[3:7], v)]

    return Motion(
        Function("aircraft_acceleration", [x, given, theta], [Output("y", (6,))], acceleration),
        Function("aircraft_step", [x, given, theta, Input("dt", ())], [Output("x_next", (10,))], step),
    )


def airspeeds(layout: AircraftLayout, stretch: Stretch, wind: Array, point: Array) -> Array:
    """Velocity through the air in the body, (M, 3): that over the ground less the wind, or of air data."""
    if stretch.velocity is None:
        assert stretch.air is not None
        return stretch.air
    assert stretch.R is not None
    own = wind if stretch.air is not None else np.broadcast_to(layout.wind(point, stretch.flight), wind.shape)
    return stretch.velocity - np.einsum("kji,kj->ki", stretch.R, own)


def measured_wind(stretch: Stretch) -> Array:
    """Wind with gusts in world axes, (M, 3), where both velocities are measured; else zero.

    It is smoothed as a random walk with white noise, whose variances follow from its increments.
    """
    if stretch.air is None or stretch.velocity is None:
        return np.zeros((len(stretch.t), 3))
    assert stretch.R is not None
    wind = np.einsum("kij,kj->ki", stretch.R, stretch.velocity - stretch.air)
    return np.stack([_random_walk(x, stretch.dt) for x in wind.T], axis=1)


def _random_walk(x: Array, dt: float) -> Array:
    """Most probable random walk of samples with white noise: minimum of |x - s|² + (r/q) |Δs|².

    E (x(t + k) - x(t))² = 2 r + q k gives the variances q of steps and r of noise.
    """
    lags = np.unique(np.linspace(_MIN_INCREMENT / dt, _MAX_INCREMENT / dt, 10).astype(int))
    lags = lags[(lags > 0) & (lags < len(x) // 2)]
    if len(lags) < 2:
        return np.full(len(x), x.mean())
    q, r2 = np.polyfit(lags, [np.mean((x[k:] - x[:-k]) ** 2) for k in lags], 1)
    ratio = np.clip(0.5 * r2 / max(q, 1e-300), 0.0, _MAX_NOISE_RATIO)
    bands = np.zeros((2, len(x)))
    bands[0, 1:], bands[1] = -ratio, 1.0 + ratio * np.r_[1.0, np.full(len(x) - 2, 2.0), 1.0]
    return np.asarray(solveh_banded(bands, x))


def given(stretch: Stretch, wind: Array, delay: float, lag: float, ahead: bool) -> Array:
    """Height, wind, controls and engine at the times, or `ahead` until the next, (M, columns).

    `lag` is that of an engine (s), 0 without.
    """
    dt = stretch.dt
    u = held_average(stretch.command, stretch.t - delay - (0.0 if ahead else dt / 2), dt)
    height = np.zeros(len(u)) if stretch.height is None else stretch.height
    columns = [height[:, None], np.broadcast_to(wind, (len(u), 3)), u]
    return np.hstack([*columns, _lagged(u[:, 3], dt, lag)[:, None]] if lag else columns)


def _lagged(x: Array, dt: float, lag: float) -> Array:
    """First-order lag of samples, from rest at the first."""
    share, found = -np.expm1(-dt / lag), np.array(x)
    for k in range(1, len(x)):
        found[k] = found[k - 1] + share * (x[k - 1] - found[k - 1])
    return found
