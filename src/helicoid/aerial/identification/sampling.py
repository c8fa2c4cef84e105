"""Even samples of a flight: averages over each period, stretches without gaps, smoothing, motion capture.

Prediction and measurement pass the same filter, so that it shifts neither: a Savitzky-Golay smoother
(Savitzky and Golay 1964), and its derivative for angular accelerations.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.signal import savgol_filter

from helicoid._typing import Array
from helicoid.aerial.frames import GRAVITY, to_z_down
from helicoid.aerial.identification.flight_log import Channel, FlightLog
from helicoid.errors import InputError

_MAX_RATE, _MIN_RATE = 125.0, 50.0  # Hz of the even samples
_WINDOW_IMU, _WINDOW_POSE = 0.06, 0.15  # s, of the smoother: with inertial sensors, and from poses alone
_WINDOW_COMPARED = 0.3  # s, of the smoother of specific forces by poses, beside those of an accelerometer
_MAX_GAP = 8  # periods without a sample beyond which a flight is split
_MIN_STRETCH = 1.0  # s
_MAX_POSE_DELAY = 0.12  # s, searched
_TURN = 0.2  # s, over which turns of poses and of the gyroscope are compared


@dataclass(frozen=True, eq=False)
class Stretch:
    """Even samples of a part of a flight, (M, ...), in the axes of the inertial sensor.

    `command` is the channel itself, delays being unknown; `measured` holds specific force and angular
    acceleration (M, 6); with poses and an accelerometer then its reading again, to be compared with
    `pose_force`, the specific force of the root that follows from poses, both smoothed more; then rotor
    speeds if they are measured, smoothed; `present` which are known. `velocity` is that of the root in the
    body, `R` the attitude, `air` the velocity through the air in the body, None where unknown; `rates` and
    `force` are angular velocities and specific forces that no smoother has passed; `inertial` whether an
    accelerometer measured these.
    """

    t: Array
    command: Channel
    voltage: Array | None
    speed: Array | None
    gyro: Array
    measured: Array
    present: Array
    velocity: Array | None
    R: Array | None
    window: int
    flight: int
    attitude: Array | None
    rates: Array
    force: Array
    air: Array | None
    height: Array | None
    pose_force: Array | None
    inertial: bool

    @property
    def dt(self) -> float:
        """Period (s)."""
        return float(self.t[1] - self.t[0])

    def inner(self, rows: Array) -> Array:
        """Rows of measured channels without the margins that the smoother shortens."""
        return rows[self.window : -self.window] * self.present

    def part(self, rows: slice) -> Stretch:
        """Some of the samples."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        cut: dict[str, Any] = {
            k: x[rows] for k, x in own.items() if isinstance(x, np.ndarray) and k != "present"
        }
        return replace(self, **cut)

    @property
    def heading(self) -> Array | None:
        """Yaw angle at the `inner` rows."""
        if self.R is None:
            return None
        return np.arctan2(self.R[:, 1, 0], self.R[:, 0, 0])[self.window : -self.window]

    def filtered(self, rows: Array) -> Array:
        """Channels (M, channels, ...) through the filters that `measured` has passed."""
        found = np.array(rows)
        found[:, :3] = smooth(rows[:, :3], self.window, not self.inertial)
        found[:, 3:6] = self.smoothed_acceleration(rows[:, 3:6])
        speeds = slice(6 if self.pose_force is None else 9, None)
        if rows[:, speeds].size:
            found[:, speeds] = smooth(rows[:, speeds], self.window)
        return found

    def smoothed(self, force: Array) -> Array:
        """Specific force through the smoother."""
        return smooth(force, self.window, not self.inertial)

    def smoothed_acceleration(self, acceleration: Array) -> Array:
        """Angular acceleration through the differentiator of angular velocities."""
        return slope(np.cumsum(acceleration, axis=0) * self.dt - 0.5 * self.dt * acceleration, self)


def smooth(x: Array, window: int, twice: bool = False) -> Array:
    """Smoothed even samples; second differences of positions need two passes: their noise is quick."""
    found = savgol_filter(x, window, 2, axis=0)
    return savgol_filter(found, window, 2, axis=0) if twice else found


def _odd(width: float, dt: float) -> int:
    """Samples of a window of a width (s), odd."""
    return 2 * max(round(width / dt / 2), 2) + 1


def slope(x: Array, at: Stretch | tuple[float, int]) -> Array:
    """Smoothed derivative of even samples."""
    dt, window = (at.dt, at.window) if isinstance(at, Stretch) else at
    return savgol_filter(x, window, 2, deriv=1, delta=dt, axis=0)


def averaged(channel: Channel, t: Array, width: float | Array) -> Array:
    """Averages over `width` (s, one or of each) about each time, of straight lines between samples."""
    integral = np.zeros_like(channel.values)
    steps = 0.5 * (channel.values[1:] + channel.values[:-1]) * np.diff(channel.t)[:, None]
    integral[1:] = np.cumsum(steps, axis=0)

    def at(times: Array) -> Array:
        k = np.clip(np.searchsorted(channel.t, times, side="right") - 1, 0, len(channel.t) - 2)
        h = np.clip(times - channel.t[k], 0.0, channel.t[k + 1] - channel.t[k])[:, None]
        rise = (channel.values[k + 1] - channel.values[k]) / (channel.t[k + 1] - channel.t[k])[:, None]
        return integral[k] + h * (channel.values[k] + 0.5 * h * rise)

    low, high = np.maximum(t - width / 2, channel.t[0]), np.minimum(t + width / 2, channel.t[-1])
    return (at(high) - at(low)) / (high - low)[:, None]


def held_average(channel: Channel, t: Array, dt: float) -> Array:
    """Averages from each time to `dt` later of a command that is held until the next one."""
    integral = np.zeros_like(channel.values)
    integral[1:] = np.cumsum(channel.values[:-1] * np.diff(channel.t)[:, None], axis=0)

    def at(times: Array) -> Array:
        k = np.clip(np.searchsorted(channel.t, times, side="right") - 1, 0, len(channel.t) - 1)
        return integral[k] + (times - channel.t[k])[:, None] * channel.values[k]

    return (at(t + dt) - at(t)) / dt


@dataclass(frozen=True, eq=False)
class PoseClock:
    """Delay (s) of poses against the gyroscope, and the offset of the gyroscope (rad/s)."""

    delay: float
    gyro_bias: Array


def rates_of(attitude: Channel) -> Channel:
    """Angular velocities in the body (rad/s) between quaternions, at the times between them."""
    Q = attitude.values / np.linalg.norm(attitude.values, axis=1, keepdims=True)
    (w0, *_), a, b = Q[:-1].T, Q[:-1, 1:], Q[1:, 1:]
    w1 = Q[1:, 0]
    cosine = w0 * w1 + np.sum(a * b, axis=1)
    vector = w0[:, None] * b - w1[:, None] * a - np.cross(a, b)  # of the product of a's conjugate and b
    vector *= np.where(cosine < 0, -1.0, 1.0)[:, None]
    sine = np.linalg.norm(vector, axis=1)
    factor = np.where(sine > 1e-9, 2 * np.arctan2(sine, np.abs(cosine)) / np.maximum(sine, 1e-12), 2.0)
    step = factor[:, None] * vector
    return Channel(0.5 * (attitude.t[1:] + attitude.t[:-1]), step / np.diff(attitude.t)[:, None])


def pose_clock(log: FlightLog) -> PoseClock:
    """Delay by which rotations of the poses fit those of the gyroscope best; 0 without both."""
    if "gyro" not in log.channels or "attitude" not in log.channels:
        return PoseClock(0.0, np.zeros(3))
    gyro, attitude = log.channels["gyro"], log.channels["attitude"]
    turns = rates_of(attitude).values * np.diff(attitude.t)[:, None]
    turned = np.vstack([np.zeros(3), np.cumsum(turns, axis=0)])
    m = max(1, round(_TURN * attitude.rate))
    start, end = attitude.t[:-m], attitude.t[m:]
    width, reach = end - start, _MAX_POSE_DELAY
    own = (start > gyro.t[0] + reach) & (end < gyro.t[-1] - reach) & (width < 2 * np.median(width))
    if not own.any() or np.ptp(start[own]) < _MIN_STRETCH:
        return PoseClock(0.0, np.zeros(3))
    rates = (turned[m:] - turned[:-m])[own] / width[own, None]
    middle, width = 0.5 * (start + end)[own], width[own]

    # A misalignment m of the gyroscope reads r × m more, which looks like a delay.
    A = np.concatenate([np.stack([np.cross(rates, e) for e in np.eye(3)], axis=2), _each_axis(len(rates))], 2)
    Q, triangle = np.linalg.qr(A.reshape(-1, 6))

    def left(delay: float) -> Array:
        # At the poses' own times: averages between them have less noise, and the cost would ripple.
        found = averaged(gyro, middle - delay, width) - rates
        return found - (A[..., :3] @ np.linalg.solve(triangle, Q.T @ found.ravel())[:3])

    def off(delay: float) -> float:
        return float(np.sum((left(delay) - left(delay).mean(axis=0)) ** 2))

    delays = np.arange(-_MAX_POSE_DELAY, _MAX_POSE_DELAY + 1e-9, 0.004)
    costs = np.array([off(d) for d in delays])
    k = int(np.clip(np.argmin(costs), 1, len(delays) - 2))
    bend = costs[k - 1] - 2 * costs[k] + costs[k + 1]
    delay = float(delays[k] + 0.5 * 0.004 * (costs[k - 1] - costs[k + 1]) / bend) if bend > 0 else 0.0
    return PoseClock(delay, np.median(left(delay), axis=0))


def _each_axis(count: int) -> Array:
    """Columns of an offset (count, 3, 3)."""
    return np.broadcast_to(np.eye(3), (count, 3, 3))


def stretches(
    log: FlightLog,
    flight: int = -1,
    max_rate: float = _MAX_RATE,
    width: float | None = None,
    compared: bool = True,
) -> tuple[list[Stretch], PoseClock]:
    """Even stretches of a flight, numbered -1 if it is not one of those that are fitted.

    `width` is that of the smoother (s); `compared` appends the accelerometer for comparison with poses.

    Raises:
        InputError: no second of it has all channels.
    """
    clock = pose_clock(log)
    channels = {
        name: Channel(c.t - clock.delay, c.values) if name in ("attitude", "position", "velocity") else c
        for name, c in log.channels.items()
    }
    inertial = "gyro" in channels
    main = channels["gyro" if inertial else "attitude"]
    rate = float(np.clip(main.rate, _MIN_RATE, max_rate))
    dt = 1.0 / rate
    width = (_WINDOW_IMU if inertial else _WINDOW_POSE) if width is None else width
    window = _odd(width, dt)
    found = [
        _stretch(t, channels, dt, window, flight, compared)
        for t in _grids(channels, dt)
        if (len(t) - 1) * dt >= _MIN_STRETCH
    ]
    if not found:
        raise InputError(f"{log.source}: no second of this flight has samples of all its channels")
    return found, clock


def _grids(channels: dict[str, Channel], dt: float) -> list[Array]:
    """Even times within gaps of all channels; commands may be as slow as they are."""
    gaps: list[tuple[float, float]] = []
    for name, c in channels.items():
        if name == "voltage":
            continue
        wide = np.flatnonzero(np.diff(c.t) > max(_MAX_GAP * dt, _MAX_GAP / c.rate))
        gaps += [(float(c.t[k]), float(c.t[k + 1])) for k in wide]
    start = max(float(c.t[0]) for c in channels.values()) + 0.1
    end = min(float(c.t[-1]) for c in channels.values()) - 0.1
    parts, at = [], start
    for low, high in sorted(gaps):
        if high > at and low < end:
            parts.append((at, low))
            at = max(at, high)
    parts.append((at, end))
    return [np.arange(low, high, dt) for low, high in parts if high - low > 2 * dt]


def _stretch(
    t: Array, channels: dict[str, Channel], dt: float, window: int, flight: int, compared: bool
) -> Stretch:
    attitude = R = velocity = None
    if "attitude" in channels:
        attitude = _even_attitudes(channels["attitude"], t, dt)
        R = _rotations(attitude)
    positions = averaged(channels["position"], t, dt) if "position" in channels else None
    if R is not None:
        world: Array | None = None
        if "velocity" in channels:
            world = averaged(channels["velocity"], t, dt)
        elif positions is not None:
            world = slope(positions, (dt, _odd(2 * _WINDOW_IMU, dt)))
        if world is not None:
            velocity = np.einsum("kji,kj->ki", R, world)
    rates = channels["gyro"] if "gyro" in channels else rates_of(channels["attitude"])
    gyro = averaged(rates, t, dt)
    measured, present = np.zeros((len(t), 6)), np.zeros(6, dtype=bool)
    measured[:, 3:], present[3:] = slope(gyro, (dt, window)), True
    inertial = "accelerometer" in channels
    force = averaged(channels["accelerometer"], t, dt) if inertial else None
    by_pose = None if positions is None or R is None else _force_of_poses(positions, R, dt)
    force = by_pose if force is None else force
    if force is not None:
        measured[:, :3], present[:3] = smooth(force, window, not inertial), True
    by_pose = by_pose if inertial and compared else None
    if by_pose is not None and force is not None:
        wide = _odd(_WINDOW_COMPARED, dt)
        by_pose = smooth(by_pose, wide, True)
        measured = np.hstack([measured, smooth(force, wide, True)])
        present = np.concatenate([present, np.ones(3, dtype=bool)])
    voltage = averaged(channels["voltage"], t, 0.1)[:, 0] if "voltage" in channels else None
    speed = averaged(channels["speed"], t, dt) if "speed" in channels else None
    if speed is not None:
        measured = np.hstack([measured, smooth(speed, window)])
        present = np.concatenate([present, np.ones(speed.shape[1], dtype=bool)])
    smooth_gyro = smooth(gyro, window)
    air = _through_the_air(averaged(channels["air_data"], t, dt)) if "air_data" in channels else None
    height = None if positions is None else positions[:, 2]
    return Stretch(
        t, channels["command"], voltage, speed, smooth_gyro, measured, present, velocity, R, window, flight,
        attitude, gyro, np.zeros((len(t), 3)) if force is None else force, air, height, by_pose,
        inertial,
    )  # fmt: skip


def _force_of_poses(positions: Array, R: Array, dt: float) -> Array:
    """Specific force in the body (M, 3), by second differences of positions."""
    a = np.zeros_like(positions)
    a[1:-1] = (positions[2:] - 2 * positions[1:-1] + positions[:-2]) / dt**2
    a[[0, -1]] = a[[1, -2]]
    return np.einsum("kji,kj->ki", R, a + GRAVITY * np.eye(3)[2])


def _through_the_air(air_data: Array) -> Array:
    """Velocity through the air in the body (M, 3) of airspeed, angle of attack and sideslip."""
    V, alpha, beta = air_data.T
    down = np.stack([np.cos(alpha) * np.cos(beta), np.sin(beta), np.sin(alpha) * np.cos(beta)], axis=1)
    return to_z_down(V[:, None] * down)


def _even_attitudes(attitude: Channel, t: Array, dt: float) -> Array:
    """Quaternions (M, 4) at even times: normalised averages, without jumps of the sign."""
    Q = attitude.values / np.linalg.norm(attitude.values, axis=1, keepdims=True)
    signs = np.cumprod(np.concatenate([[1.0], np.where(np.sum(Q[1:] * Q[:-1], axis=1) < 0, -1.0, 1.0)]))
    even = averaged(Channel(attitude.t, Q * signs[:, None]), t, dt)
    return even / np.linalg.norm(even, axis=1, keepdims=True)


def _rotations(Q: Array) -> Array:
    """Rotation matrices (M, 3, 3) of unit quaternions."""
    w, x, y, z = Q.T
    rows = [
        [1 - 2 * (y**2 + z**2), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x**2 + z**2), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x**2 + y**2)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)
