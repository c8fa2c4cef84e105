"""Sensor models: noise, bias, delay, quantisation, missing samples, sampling rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.trajectory import Trajectory
from helicoid.simulation.trajectory.resampling import between, resampled_states

CHANNELS = ("q", "v", "tau")
Effect = Mapping[str, ArrayLike]

_EFFECTS = ("noise", "bias", "delay", "quantisation", "missing")
_ALIKE = ("delay", "missing")  # in the same unit for every channel


@dataclass(frozen=True, eq=False)
class Measurement:
    """Measured samples: times `t` (N,), `q` (N, nq), `v` and `tau` (N, nv); NaN where missing.

    Of a single sample, as `Plant.measure` returns it, t is a number and the others are vectors.
    """

    t: Array | np.float64
    q: Array
    v: Array
    tau: Array

    @property
    def complete(self) -> Measurement:
        """The samples in which nothing is missing."""
        parts = [getattr(self, one.name) for one in fields(self)]
        good = ~np.any(np.isnan(np.column_stack(parts)), axis=1)
        return Measurement(*(part[good] for part in parts))

    def __len__(self) -> int:
        return int(np.size(self.t))

    def __repr__(self) -> str:
        t = np.ravel(self.t)
        span = f"{t[0]:g} to {t[-1]:g} s" if len(t) else "none"
        return f"Measurement({len(t)} samples, {span}, q[{self.q.shape[-1]}] v[{self.v.shape[-1]}])"


@dataclass(frozen=True, eq=False)
class Sensors:
    """Sensors of coordinates q, velocities v and torques τ; called with a trajectory, they measure it.

    Each effect is given by channel, as a number or one for each velocity: `noise={"q": 1e-4, "tau": 0.1}`.
    Their order is that of a real sensor: the motion is seen `delay` s late (what came before the start is its
    first state), `rate` times a second; `bias` is added, and normal `noise` of this standard deviation; the
    result is rounded to multiples of `quantisation`; a sample is `missing` with this probability, and then
    NaN. Everything happens in the tangent space of q, so that quaternions stay unit.

    Args:
        noise: standard deviations (rad, rad/s, N·m ...).
        bias: constant errors.
        delay: seconds; one number for each channel, or one for all.
        quantisation: smallest steps; 0 is none.
        missing: probabilities that a sample of a channel is lost; one number for each, or one for all.
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
        if self.rate is not None and not 0 < self.rate < np.inf:
            raise InputError(f"rate is positive (Hz), or None for that of the trajectory; got {self.rate!r}")
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
        seen = {}
        for channel in CHANNELS:
            late = np.maximum(t - self._of("delay", channel, 1), trajectory.t[0])
            seen[channel] = read(channel, _at(robot, trajectory, channel, late))
        return Measurement(t, **seen)

    def reader(self, robot: Robot) -> Reader:
        """Sensors for one sample after the other: `reader(channel, values)`, without the `delay`.

        Samples that are read one by one meet the same errors as the same samples read at once.
        """
        return Reader(self, robot)

    def _of(self, effect: str, channel: str, n: int) -> Array:
        """An effect on a channel: n numbers, zeros if it has none."""
        value = self._effects[effect].get(channel, np.zeros(1))
        if len(value) not in (1, n):
            raise InputError(
                f"{effect}[{channel!r}] is one number or one for each of {n} velocities; it has {len(value)}"
            )
        return np.broadcast_to(value, (n,))


class Reader:
    """Measurements of true values (N, n) of a channel, one call after the other."""

    def __init__(self, sensors: Sensors, robot: Robot) -> None:
        self._robot = robot
        self._effects = {
            channel: tuple(
                sensors._of(effect, channel, 1 if effect == "missing" else robot.nv)
                for effect in ("bias", "noise", "quantisation", "missing")
            )
            for channel in CHANNELS
        }
        self._streams = {
            channel: tuple(np.random.default_rng([sensors.seed, k, effect]) for effect in range(2))
            for k, channel in enumerate(CHANNELS)
        }

    def __call__(self, channel: str, values: Array) -> Array:
        bias, noise, step, missing = self._effects[channel]
        errors, losses = self._streams[channel]
        error = bias + errors.normal(size=(len(values), self._robot.nv)) * noise
        if channel == "q":
            values = _on_manifold(self._robot, values, error, step)
        else:
            values = _rounded(values + error, step)
        lost = losses.random(len(values)) < missing
        return np.where(lost[:, None], np.nan, values)


def _by_channel(name: str, given: Any) -> dict[str, Array]:
    """{channel: numbers}; a plain number is for every channel where that makes sense."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) and name not in _ALIKE:
        hint = "such as {'q': 1e-4, 'tau': 0.1}"
        raise InputError(f"{name} has units, so that it is given by channel, {hint}; got {given!r}")
    by_channel = given if isinstance(given, Mapping) else dict.fromkeys(CHANNELS, given)
    for channel in by_channel:
        if channel not in CHANNELS:
            raise InputError(f"{name} names {channel!r}; the channels are {', '.join(CHANNELS)}")
    arrays = {channel: np.atleast_1d(np.asarray(x, dtype=np.float64)) for channel, x in by_channel.items()}
    if not all(np.all(np.isfinite(x)) and x.ndim == 1 for x in arrays.values()):
        raise InputError(f"{name} takes finite numbers or vectors of them, got {given!r}")
    return arrays


def _times(t: Array, rate: float) -> Array:
    """From the first time on at that rate; a last sample is not lost to rounding."""
    return t[0] + np.arange(int((t[-1] - t[0]) * rate * (1 + 1e-12)) + 1) / rate


def _at(robot: Robot, trajectory: Trajectory, channel: str, times: Array) -> Array:
    left, s = between(trajectory.t, times)
    if channel == "tau":
        return trajectory.tau[left]
    states = resampled_states(robot, trajectory.t, trajectory.q, trajectory.v, left, s)
    return states[CHANNELS.index(channel)]


def _rounded(values: Array, step: Array) -> Array:
    return np.where(step > 0, np.round(values / np.where(step > 0, step, 1.0)) * step, values)


def _on_manifold(robot: Robot, q: Array, error: Array, step: Array) -> Array:
    moved = np.asarray(robot.integrate(q, error))
    if not np.any(step):
        return moved
    zero = np.broadcast_to(robot.neutral(), q.shape)
    return np.asarray(robot.integrate(zero, _rounded(robot.difference(zero, moved), step)))
