"""Specific force and angular acceleration of a multirotor from its commands, for many parameters.

Rotor speeds x follow the commands c after a delay δ with a first-order lag towards

    x* = (x₀ + x₁ (c - c₀) / c₁) (U / U₀)^κ

and give the thrust b x² - k x v_n and the torque d x², or those described, scaled; c is the centre of mass,
v the airspeed:

    m f = Σ T n - h Σ x v_h - ½ρ |v| A v
    J α = Σ (p - c) × F - Σ σ (d x² + I ẋ) n - ω × Σ σ I x n - c × D - ω × J ω

(Mahony, Kumar and Corke 2012). Readings are turned by a misalignment, with an offset of the accelerometer.
Where poses are measured, too, the specific force that follows from them tells both without the model, which
keeps the wind out of them, as long as the axes of the attitude are those of the body, or tilted by the angles
of `attitude_tilt`. Forces of the wind are slow noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array
from helicoid.aerial.identification.fitting import STEP, Part
from helicoid.aerial.identification.multirotor.parameters import Layout
from helicoid.aerial.identification.noise import SlowNoise, slow_noise
from helicoid.aerial.identification.sampling import Stretch, held_average, slope
from helicoid.geometry import so3

_LAG_BLEND = 0.02  # of the largest speed, as in the vehicle's own motors
_BLOCK = 1.0  # s, over which gusts are correlated
_MOVES_SPEEDS = ("speed_at_mean", "speed_slope", "voltage_exponent", "lag", "lag_ratio", "delay")


@dataclass(frozen=True, eq=False)
class Speeds:
    """Speeds of the rotors and their derivatives, (M, rotors); `driven` are those by the commands."""

    x: Array
    rate: Array
    driven: Array


def speeds(layout: Layout, data: Sequence[Stretch], points: Array) -> list[list[Speeds]]:
    """Rotor speeds of all stretches at several points (P, parameters), all in one recursion.

    Measured speeds, where there are any, enter the equations as they are.
    """
    found: list[list[Speeds]] = [[] for _ in points]
    for stretch in data:
        targets = np.stack([_target(layout, stretch, point) for point in points])
        up, down = (np.array(lag)[:, None] for lag in zip(*map(layout.lags, points), strict=True))
        x, rate = _lagged(targets, up, down, stretch.dt, _LAG_BLEND * layout.max_speed)
        for k, one in enumerate(found):
            if stretch.speed is None:
                one.append(Speeds(x[k], rate[k], x[k]))
            else:
                one.append(Speeds(stretch.speed, np.gradient(stretch.speed, stretch.dt, axis=0), x[k]))
    return found


def _target(layout: Layout, stretch: Stretch, point: Array) -> Array:
    """Steady speed of the delayed command, averaged over each period, (M, rotors)."""
    delay = layout.of(point, "delay")
    command = held_average(stretch.command, stretch.t - delay, stretch.dt)
    x = layout.speed_of(point, command)
    if stretch.voltage is not None and layout.has("voltage_exponent"):
        ratio = np.maximum(stretch.voltage / layout.voltage, 0.1)
        x = x * (ratio ** layout.of(point, "voltage_exponent"))[:, None]
    return np.maximum(x, 0.0)


def _lagged(targets: Array, up: Array, down: Array, dt: float, width: float) -> tuple[Array, Array]:
    """First-order lag of targets (P, M, rotors), from the first of them; speeds at the times, and slopes."""
    targets = np.ascontiguousarray(targets.swapaxes(0, 1))
    x, found = targets[0].copy(), np.empty_like(targets)
    mean, half = -dt * (1 / up + 1 / down) / 2, -dt * (1 / up - 1 / down) / 2
    for k in range(len(targets)):
        found[k] = x
        error = targets[k] - x
        x = x + error * -np.expm1(mean + half * error / np.sqrt(error * error + width * width))
    rate = np.gradient(found, dt, axis=0)
    return found.swapaxes(0, 1), rate.swapaxes(0, 1)


def predicted(layout: Layout, stretch: Stretch, at: Speeds, point: Array) -> Array:
    """The measured channels of a stretch, smoothed alike, (M, channels)."""
    return stretch.filtered(_unfiltered(layout, stretch, at, point))


def _unfiltered(layout: Layout, stretch: Stretch, at: Speeds, point: Array) -> Array:
    """Specific force and angular acceleration in the axes of the sensor, (M, 6), then the other channels.

    These are the specific force that follows from poses, and speeds that follow the commands.
    """
    v = layout.vehicle(point)
    mount = so3.exp(np.array([layout.of(point, f"misalignment_{a}") for a in "xyz"]))
    tilt = so3.exp(np.array([layout.of(point, f"attitude_tilt_{a}") for a in "xy"] + [0.0]))
    if not stretch.inertial:
        mount = tilt @ mount
    omega = (stretch.gyro - layout.gyro_bias) @ mount.T  # in the body
    x, rate = at.x, at.rate
    arms = layout.positions - v.com
    air = None if stretch.velocity is None else stretch.velocity @ tilt.T
    hub = np.cross(omega[:, None, :], layout.positions) + (0.0 if air is None else air[:, None, :])
    axial = np.einsum("kri,ri->kr", hub, layout.axes) if air is not None else np.zeros_like(x)
    thrust, torque = layout.loads(v, x, axial)
    force = thrust @ layout.axes
    moment = thrust @ np.cross(arms, layout.axes)
    if air is not None:
        plane = hub - axial[:, :, None] * layout.axes  # airspeed of the hubs along their discs
        pull = -(v.hub_drag * x)[:, :, None] * plane
        drag = -0.5 * layout.density * np.linalg.norm(air, axis=1)[:, None] * v.drag_area * air
        force = force + pull.sum(axis=1) + drag
        moment = moment + np.cross(arms, pull).sum(axis=1) - np.cross(v.com, drag)
        moment = moment - np.einsum("kri,kr->ki", plane, layout.rolling * x)
    spin = layout.turns[:, None] * layout.axes
    moment = moment - (torque + v.rotor_inertia * rate) @ spin
    momentum = (v.rotor_inertia * x) @ spin
    momentum = momentum + omega @ v.J
    moment = moment - np.cross(omega, momentum)
    alpha = moment @ np.linalg.inv(v.J)
    f = force / layout.mass
    if stretch.present[0]:
        r = layout.sensor - v.com
        f = f + np.cross(alpha, r) + np.cross(omega, np.cross(omega, r))
    bias = np.array([layout.of(point, f"accelerometer_bias_{a}") for a in "xyz"])
    found = [f @ mount + bias, alpha @ mount]
    if stretch.pose_force is not None:
        r = layout.sensor
        turning = np.cross(slope(omega, stretch), r) + np.cross(omega, np.cross(omega, r)) if r.any() else 0.0
        found.append((stretch.pose_force @ tilt.T + turning) @ mount + bias)
    if stretch.speed is not None:
        found.append(at.driven)
    return np.hstack(found)


@dataclass(frozen=True, eq=False)
class Residuals:
    """The least squares problem of stretches; the smoother makes neighbours alike, a window counts once."""

    layout: Layout
    data: Sequence[Stretch]

    @property
    def prior(self) -> Array:
        return self.layout.prior

    @property
    def spread(self) -> Array:
        return self.layout.spread

    @property
    def share(self) -> float:
        return 1.0 / self.data[0].window

    @property
    def block(self) -> int:
        return max(1, round(_BLOCK / self.data[0].dt))

    def slow_noise(self, left: Sequence[Array]) -> SlowNoise | None:
        """Forces and moments of the wind, which the model lacks."""
        first = self.data[0]
        return slow_noise(left, [s.heading for s in self.data], first.window, first.dt)

    def residuals(self, point: Array) -> list[Array]:
        """Measured less predicted, (M, channels) of each stretch, without the margins of the smoother."""
        (own,) = speeds(self.layout, self.data, point[None])
        pairs = zip(self.data, own, strict=True)
        return [s.inner(s.measured - predicted(self.layout, s, x, point)) for s, x in pairs]

    def linearised(self, point: Array) -> list[Part]:
        layout, columns = self.layout, np.arange(len(point))
        steps = STEP * layout.spread
        moving = [k for k, name in enumerate(layout.names) if name in _MOVES_SPEEDS]
        points = np.stack([point, *(point + steps[k] * np.eye(len(point))[k] for k in moving)])
        driven = speeds(layout, self.data, points)
        found = []
        for i, stretch in enumerate(self.data):
            base = _unfiltered(layout, stretch, driven[0][i], point)
            changes = np.empty((*base.shape, len(point)))
            for k in range(len(point)):
                other = point + steps[k] * np.eye(len(point))[k]
                x = driven[1 + moving.index(k)][i] if k in moving else driven[0][i]
                changes[..., k] = (_unfiltered(layout, stretch, x, other) - base) / steps[k]
            J = stretch.filtered(changes)[stretch.window : -stretch.window] * stretch.present[:, None]
            found.append(Part(stretch.inner(stretch.measured - stretch.filtered(base)), J, columns))
        return found
