"""Sensor models: encoders, torque sensors, six-axis force/torque sensors and inertial measurement units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array, real_number, shown
from helicoid.dynamics.recursions.joint_wrenches import Carried
from helicoid.errors import InputError
from helicoid.model.model import WORLD
from helicoid.robot import Robot
from helicoid.robot.frames import several_links
from helicoid.robot.function import wrench_names
from helicoid.simulation.trajectory import Trajectory
from helicoid.simulation.trajectory.resampling import between, resampled_states

CHANNELS = ("q", "v", "tau")
Effect = Mapping[str, ArrayLike]

ALL_CHANNELS = (*CHANNELS, "a", "wrench", "imu")

_EFFECTS = ("noise", "bias", "delay", "quantisation", "missing", "bandwidth")
_MAX_SAMPLES = 1e8
_ALIKE = ("delay", "missing", "bandwidth")  # in the same unit for every channel


@dataclass(frozen=True, eq=False)
class Measurement:
    """Measured samples: times `t` (N,), `q` (N, nq), `v` and `tau` (N, nv); NaN where missing.

    Where the sensors have them, `a` (N, nv) are joint accelerations, `wrenches` the readings (n, f) of
    force/torque sensors by link, (N, 6), and `imus` those of inertial measurement units, (N, 6): angular
    velocity (rad/s), then specific force (m/s²). Of a single sample, as `Plant.measure` returns it, t is a
    number and the others are vectors. `hc.Log.from_trajectory` takes it.
    """

    t: Array | np.float64
    q: Array
    v: Array
    tau: Array
    a: Array | None = None
    wrenches: Mapping[str, Array] = field(default_factory=dict)
    imus: Mapping[str, Array] = field(default_factory=dict)

    @property
    def complete(self) -> Measurement:
        """The samples in which nothing is missing."""
        parts = [self.t, self.q, self.v, self.tau, *self.wrenches.values(), *self.imus.values()]
        parts += [] if self.a is None else [self.a]
        good = ~np.any(np.isnan(np.column_stack(parts)), axis=1)
        wrenches, imus = ({link: x[good] for link, x in held.items()} for held in (self.wrenches, self.imus))
        a = None if self.a is None else self.a[good]
        q, v, tau = self.q[good], self.v[good], self.tau[good]
        return Measurement(np.asarray(self.t)[good], q, v, tau, a, wrenches, imus)

    def __len__(self) -> int:
        return int(np.size(self.t))

    def __repr__(self) -> str:
        t = np.ravel(self.t)
        span = f"{t[0]:g} to {t[-1]:g} s" if len(t) else "none"
        return f"Measurement({len(t)} samples, {span}, q[{self.q.shape[-1]}] v[{self.v.shape[-1]}])"


@dataclass(frozen=True, eq=False)
class Sensors:
    """Sensors of coordinates q, velocities v and torques τ; called with a trajectory, they measure it.

    Further channels are "a", joint accelerations; "wrench", six-axis force/torque sensors at the links that
    `wrenches` names (`robot.sensor_wrench`); "imu", inertial measurement units at the links that `imus`
    names: angular velocity and specific force in the link's axes. A sensor that is mounted with an offset and
    a rotation is a frame of `robot.with_frame`.

    Each effect is given by channel, as a number or one for each element: `noise={"q": 1e-4, "tau": 0.1}`.
    Their order is that of a real sensor: the quantity passes a low-pass of `bandwidth` and is seen `delay` s
    late (what came before the start is its first state), `rate` times a second; `bias` is added, and normal
    `noise` of this standard deviation; the result is rounded to multiples of `quantisation`; a sample is
    `missing` with this probability, and then NaN. Everything happens in the tangent space of q, so that
    quaternions stay unit.

    Args:
        noise: standard deviations (rad, rad/s, N·m ...).
        bias: constant errors.
        delay: seconds; one number for each channel, or one for all.
        quantisation: smallest steps; 0 is none.
        missing: probabilities that a sample of a channel is lost; one number for each, or one for all.
        bandwidth: cut-off frequencies (Hz) of a low-pass of first order; all channels but q; 0 is none.
        accelerations: whether joint accelerations are measured.
        wrenches: links with a force/torque sensor.
        carried: what these carry, "body" or "link" as `robot.sensor_wrench` takes it.
        imus: links with an inertial measurement unit.
        rate: samples a second (Hz); None takes those of the trajectory.
        seed: the same seed gives the same errors. Channels and effects draw from streams of their own.

    >>> import helicoid as hc
    >>> motion = hc.simulate(hc.load("double_pendulum"), [1.0, 0.0], duration=0.1)
    >>> rough = dict(noise={"tau": 0.1}, quantisation={"q": 2e-3}, missing={"v": 0.5})
    >>> sensors = hc.Sensors(**rough, rate=250, seed=1)
    >>> seen = sensors(motion)
    >>> seen.q.shape, len(seen.complete)
    ((26, 2), 15)
    """

    noise: Effect | None = None
    bias: Effect | None = None
    delay: float | Mapping[str, float] = 0.0
    quantisation: Effect | None = None
    missing: float | Mapping[str, float] = 0.0
    rate: float | None = None
    seed: int = 0
    bandwidth: Mapping[str, float] | None = None
    accelerations: bool = False
    wrenches: Sequence[str] = ()
    imus: Sequence[str] = ()
    carried: Carried = "body"
    _effects: dict[str, dict[str, Array]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        effects = {name: _by_channel(name, getattr(self, name)) for name in _EFFECTS}
        for name, channels in effects.items():
            for value in channels.values():
                if name != "bias" and np.any(value < 0):
                    raise InputError(f"{name} must not be negative, got {getattr(self, name)!r}")
                if name in _ALIKE and value.shape != (1,):
                    raise InputError(f"{name} is one number for each channel, got {getattr(self, name)!r}")
                if name == "missing" and value[0] > 1:
                    raise InputError(f"missing is a probability, at most 1; got {self.missing!r}")
        if "q" in effects["bandwidth"]:
            raise InputError("bandwidth is for v, tau, a, wrench and imu: positions have none")
        for name in ("wrenches", "imus"):
            several_links(name, getattr(self, name))
        if self.rate is not None:
            real_number(
                self.rate, "rate is positive (Hz), or None for that of the trajectory", 0.0, above=True
            )
        if not isinstance(self.accelerations, (bool, np.bool_)):
            raise InputError(f"accelerations is True or False; got {shown(self.accelerations)}")
        if not isinstance(self.seed, (int, np.integer)) or self.seed < 0:
            raise InputError(f"seed is a whole number, 0 or more; got {shown(self.seed)}")
        object.__setattr__(self, "_effects", effects)

    def __call__(self, trajectory: Trajectory) -> Measurement:
        """Measure a trajectory (one, not a batch)."""
        if not isinstance(trajectory, Trajectory):
            raise InputError(f"sensors measure a motion, such as hc.simulate gives; got {trajectory!r}")
        robot = trajectory.robot
        if robot is None or trajectory.q.ndim != 2:
            raise InputError("sensors measure one motion of a known robot; of a batch take trajectory[i]")
        t = trajectory.t if self.rate is None else _times(trajectory.t, self.rate)
        read = self.reader(robot)

        def seen(channel: str, link: str = "") -> Array:
            late = np.maximum(t - self._of("delay", channel, 1), trajectory.t[0])
            cutoff = float(self._of("bandwidth", channel, 1)[0])
            return read(channel, _at(robot, trajectory, channel, late, (link, self.carried), cutoff), link)

        a = seen("a") if self.accelerations else None
        wrenches = {link: seen("wrench", link) for link in self.wrenches}
        imus = {link: seen("imu", link) for link in self.imus}
        return Measurement(t, seen("q"), seen("v"), seen("tau"), a, wrenches, imus)

    def reader(self, robot: Robot) -> Reader:
        """Sensors for one sample after the other: `reader(channel, values)`, without the `delay`.

        Samples that are read one by one meet the same errors as the same samples read at once.
        """
        return Reader(self, robot)

    def _of(self, effect: str, channel: str, n: int) -> Array:
        """An effect on a channel: n numbers, zeros if it has none."""
        value = self._effects[effect].get(channel, np.zeros(1))
        if len(value) not in (1, n):
            what = "elements" if channel in ("wrench", "imu") else "velocities"
            raise InputError(
                f"{effect}[{channel!r}] is one number or one for each of {n} {what}; it has {len(value)}"
            )
        return np.broadcast_to(value, (n,))


class Reader:
    """Measurements of true values (N, n) of a channel, one call after the other."""

    def __init__(self, sensors: Sensors, robot: Robot) -> None:
        self._robot, self._sensors = robot, sensors
        self._streams: dict[tuple[str, str], tuple[np.random.Generator, ...]] = {}
        for channel in CHANNELS:
            for effect in ("bias", "noise", "quantisation"):
                sensors._of(effect, channel, robot.nv)

    def __call__(self, channel: str, values: Array, link: str = "") -> Array:
        n = values.shape[1] if channel in ("wrench", "imu") else self._robot.nv
        of = self._sensors._of
        bias, noise, step = (of(effect, channel, n) for effect in ("bias", "noise", "quantisation"))
        errors, losses = self._stream(channel, link)
        error = bias + errors.normal(size=(len(values), n)) * noise
        if channel == "q":
            values = _on_manifold(self._robot, values, error, step)
        else:
            values = _rounded(values + error, step)
        lost = losses.random(len(values)) < of("missing", channel, 1)
        return np.where(lost[:, None], np.nan, values)

    def _stream(self, channel: str, link: str) -> tuple[np.random.Generator, ...]:
        """Random numbers of a channel, of each sensor its own: of the errors, and of lost samples."""
        if (channel, link) not in self._streams:
            key = [self._sensors.seed, ALL_CHANNELS.index(channel)]
            own = list(link.encode())
            made = tuple(np.random.default_rng([*key, effect, *own]) for effect in range(2))
            self._streams[channel, link] = made
        return self._streams[channel, link]


def _by_channel(name: str, given: Any) -> dict[str, Array]:
    """{channel: numbers}; a plain number is for every channel where that makes sense."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) and name not in _ALIKE:
        hint = "such as {'q': 1e-4, 'tau': 0.1}"
        raise InputError(f"{name} has units, so that it is given by channel, {hint}; got {shown(given)}")
    by_channel = given if isinstance(given, Mapping) else dict.fromkeys(ALL_CHANNELS, given)
    for channel in by_channel:
        if channel not in ALL_CHANNELS:
            raise InputError(f"{name} names {channel!r}; the channels are {', '.join(ALL_CHANNELS)}")
    rule = f"{name} takes finite numbers or vectors of them"
    arrays = {channel: np.atleast_1d(float_array(x, rule)) for channel, x in by_channel.items()}
    if not all(np.all(np.isfinite(x)) and x.ndim == 1 for x in arrays.values()):
        raise InputError(f"{rule}; got {shown(given)}")
    return arrays


def _times(t: Array, rate: float) -> Array:
    """From the first time on at that rate; a last sample is not lost to rounding."""
    count = (t[-1] - t[0]) * rate * (1 + 1e-12) + 1
    if count > _MAX_SAMPLES:
        raise InputError(f"rate {rate:g} Hz would give {count:.2g} samples of a motion of {t[-1] - t[0]:g} s")
    return t[0] + np.arange(int(count)) / rate


def _at(
    robot: Robot, motion: Trajectory, channel: str, times: Array, place: tuple[str, Carried], cutoff: float
) -> Array:
    left, s = between(motion.t, times)
    if channel in ("q", "v") and not cutoff:
        states = resampled_states(robot, motion.t, motion.q, motion.v, left, s)
        return states[CHANNELS.index(channel)]
    values = _true(robot, motion, channel, *place)
    if cutoff:
        values = _low_passed(values, motion.t, cutoff)
    if channel == "tau":
        return values[left]
    right = np.minimum(left + 1, len(values) - 1)
    return values[left] + s[:, None] * (values[right] - values[left])


def _true(robot: Robot, trajectory: Trajectory, channel: str, link: str, carried: Carried) -> Array:
    """A quantity at the samples of the trajectory."""
    if channel in ("v", "tau", "a"):
        return np.asarray(getattr(trajectory, channel))
    q, v, a = trajectory.q, trajectory.v, trajectory.a
    motion = trajectory.motion
    down = robot.model.gravity
    gravity = np.array(down if motion is None else motion.options.get("gravity", down))
    if channel == "imu":
        R = np.asarray(robot.pose(link)(q))[:, :3, :3]
        felt = np.asarray(robot.acceleration(link, "world_aligned")(q, v, a))[:, 3:] - gravity
        rate = np.asarray(robot.velocity(link, "body")(q, v))[:, :3]
        return np.column_stack([rate, np.einsum("kij,ki->kj", R, felt)])
    theta = () if motion is None or not len(robot.theta) else (motion.inputs["theta"],)
    wrench = robot.sensor_wrench(link, carried)(q, v, a, *theta, gravity=tuple(gravity))
    return np.asarray(wrench) - _external(robot, trajectory, link)


def _external(robot: Robot, trajectory: Trajectory, link: str) -> Array:
    """The part of a sensor's wrench (N, 6) that external wrenches beyond it carry."""
    motion, q = trajectory.motion, trajectory.q
    if motion is None:
        return np.zeros((len(q), 6))
    names = wrench_names(motion.options.get("f_ext", ()))
    given = {name: np.broadcast_to(motion.inputs[key], (len(q), 6)) for name, key in names.items()}
    return external_at_sensor(robot, link, q, given, motion.options.get("expressed_in", "body"))


def external_at_sensor(
    robot: Robot, sensor: str, q: Array, wrenches: Mapping[str, Array], expressed_in: str = "body"
) -> Array:
    """External wrenches (N, 6) by link, as far as they act beyond a sensor, about its origin in its axes."""
    found = np.zeros((len(q), 6))
    for name, w in wrenches.items():
        if not _is_beyond(robot, sensor, name):
            continue
        there, here = np.asarray(robot.pose(name)(q)), np.asarray(robot.pose(sensor)(q))
        n, f = w[:, :3], w[:, 3:]
        if expressed_in == "body":
            n, f = (np.einsum("kij,kj->ki", there[:, :3, :3], x) for x in (n, f))
        n = n + np.cross(there[:, :3, 3] - here[:, :3, 3], f)
        found += np.column_stack([np.einsum("kij,ki->kj", here[:, :3, :3], x) for x in (n, f)])
    return found


def _is_beyond(robot: Robot, sensor: str, link: str) -> bool:
    """Whether a link is carried through the sensor: it or its body is the sensor's, or comes after it."""
    model = robot.model
    body, own = model.frame(link).body, model.frame(sensor).body
    while body not in (own, WORLD):
        body = model.bodies[body].parent
    return body == own


def _low_passed(values: Array, t: Array, cutoff: float) -> Array:
    """A low-pass of first order (Hz) that starts in equilibrium."""
    found = np.array(values)
    for k, h in enumerate(np.diff(t), 1):
        found[k] = found[k - 1] + (1 - np.exp(-2 * np.pi * cutoff * h)) * (values[k] - found[k - 1])
    return found


def _rounded(values: Array, step: Array) -> Array:
    return np.where(step > 0, np.round(values / np.where(step > 0, step, 1.0)) * step, values)


def _on_manifold(robot: Robot, q: Array, error: Array, step: Array) -> Array:
    moved = np.asarray(robot.integrate(q, error))
    if not np.any(step):
        return moved
    zero = np.broadcast_to(robot.neutral(), q.shape)
    return np.asarray(robot.integrate(zero, _rounded(robot.difference(zero, moved), step)))
