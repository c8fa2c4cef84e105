"""Motions of the plant under a control law, watched sample by sample, and their recordings."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning.plant import CheckedPlant
from helicoid.commissioning.status import CommissioningStatus, CommissioningStopped
from helicoid.errors import HelicoidError
from helicoid.identification import Log
from helicoid.robot import Robot

_LOOK_AHEAD = 0.1  # s: by which a growing tracking error is extrapolated
_MAX_VELOCITY_ERROR = 0.5  # of the velocity limit
_BRAKING_DURATIONS = 0.5, 2.0  # s: of holding after a stop, at least, and at most until it is at rest
_REST_VELOCITY = 0.02  # of the velocity limit
_HELD = 0.1  # s, over which the torque that holds the robot is averaged
_HELD_VELOCITY = 0.1  # of the velocity limit, from which on nothing is held
_MAX_HELD = 0.5  # of the effort limit
_DEVIATION_BOUNDS = 0.05, 0.5  # rad, m: of the largest tracking error, a tenth of the range


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples of a motion: times, measured q, v and tau, commands, added dither, and the reference."""

    t: Array
    q: Array
    v: Array
    tau: Array
    command: Array
    dither: Array
    q_ref: Array
    v_ref: Array

    def __len__(self) -> int:
        return len(self.t)

    def log(self, source: str) -> Log:
        """The log to identify from: measured torques, or the commands where torques are not measured."""
        torque = self.tau if np.all(np.isfinite(self.tau)) else self.command
        return Log.from_arrays(self.t, self.q, self.v, tau=torque, source=source)

    def error(self) -> Array:
        """Tracking error q - q_ref, (N, n)."""
        return self.q - self.q_ref

    def save(self, path: Path) -> None:
        """Write it as .npz, which `Log.from_npz` reads too."""
        try:
            np.savez_compressed(path, **{one.name: getattr(self, one.name) for one in fields(self)})
        except OSError as error:
            raise HelicoidError(f"{path}: cannot be written: {error}") from error

    @staticmethod
    def load(path: Path) -> Recording | None:
        """The recording in a file; None where there is none."""
        try:
            with np.load(path, allow_pickle=False) as archive:
                return Recording(*(archive[one.name] for one in fields(Recording)))
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            return None


def deviation_limit(robot: Robot) -> Array:
    """Largest tolerated tracking error (nv): a tenth of the joint's range, within bounds."""
    span = robot.limits.upper - robot.limits.lower
    return np.asarray(np.clip(0.1 * np.where(np.isfinite(span), span, np.inf), *_DEVIATION_BOUNDS))


class LimitMonitor:
    """Stops a motion before a limit: position, velocity, and the deviation from its reference."""

    def __init__(self, robot: Robot, start: Array) -> None:
        limits, self._names = robot.limits, robot.model.velocity_names
        self._velocity, self._deviation = limits.velocity, deviation_limit(robot)
        # A joint that sagged beyond a limit has to move there, to come back.
        slack = self._deviation / 2
        self._lower = np.where(start < limits.lower, start - slack, limits.lower)
        self._upper = np.where(start > limits.upper, start + slack, limits.upper)

    def check(self, t: float, q: Array, v: Array, q_ref: Array, v_ref: Array) -> None:
        """Compare a sample with the limits.

        Raises:
            CommissioningStopped: one is reached, or will be within a tenth of a second.
        """
        ahead = q + _LOOK_AHEAD * (v - v_ref)
        excess = {
            "leaves its position limits": np.maximum(ahead - self._upper, self._lower - ahead),
            "exceeds its velocity limit": np.abs(v) - self._velocity,
            "is too far from its reference": np.abs(q - q_ref) - self._deviation,
            "is faster than its reference": np.abs(v - v_ref) - _MAX_VELOCITY_ERROR * self._velocity,
        }
        for what, by in excess.items():
            k = int(np.argmax(by))
            if by[k] > 0:
                raise CommissioningStopped(
                    CommissioningStatus.LIMIT_REACHED,
                    f"{self._names[k]!r} {what} at {t:.3f} s (q {q[k]:.4g}, reference {q_ref[k]:.4g}, "
                    f"v {v[k]:.3g})",
                )


def record(
    robot: Robot,
    plant: CheckedPlant,
    law: Any,
    motion: tuple[Array, Array, Array],
    dither: Array | None = None,
    tell: Callable[[float], None] = lambda done: None,
    bias: Array | None = None,
) -> Recording:
    """Move along q, v, a (N, n) under `law.step(q, v, q_ref, v_ref, a_ref)`, and record every sample.

    Torques stay within the effort limits. `bias` (nv) is added throughout: see `held_torque`.

    Raises:
        CommissioningStopped: the plant fails or a limit is reached; the robot was braked, and the
            exception has the recording until then.
    """
    Q, V, A = motion
    n, effort, monitor = len(Q), robot.limits.effort, LimitMonitor(robot, Q[0])
    w = np.zeros((n, robot.nv)) if dither is None else dither
    extra = w if bias is None else w + bias
    measured: list[tuple[Array, Array, Array]] = []
    commands: list[Array] = []

    def recording() -> Recording:
        m = len(commands)
        q, v, tau = (np.array([one[k] for one in measured[:m]]).reshape(m, robot.nv) for k in range(3))
        sent, times = np.array(commands).reshape(m, robot.nv), plant.period * np.arange(m, dtype=np.float64)
        return Recording(times, q, v, tau, sent, w[:m], Q[:m], V[:m])

    law.reset()
    try:
        plant.release()
        for k in range(n):
            sample = plant.measure()
            monitor.check(k * plant.period, sample.q, sample.v, Q[k], V[k])
            tau = np.clip(law.step(sample.q, sample.v, Q[k], V[k], A[k]) + extra[k], -effort, effort)
            if not np.all(np.isfinite(tau)):
                raise CommissioningStopped(
                    CommissioningStatus.DOUBTFUL_CONTROLLER, f"torque not finite: {law.message}"
                )
            plant.apply(tau)
            measured.append((sample.q, sample.v, sample.tau))
            commands.append(tau)
            if k % 500 == 0:
                tell(k / n)
    except CommissioningStopped as stopped:
        until = recording()
        held = _brake(law, plant, held_torque(law.robot, until))
        raise CommissioningStopped(stopped.status, str(stopped), until, held) from stopped
    except BaseException:  # an interrupt by the user: brake as well
        _brake(law, plant, held_torque(law.robot, recording()))
        raise
    plant.hold()
    return recording()


def held_torque(robot: Robot, recording: Recording) -> Array:
    """Torque (nv) beside a robot's gravity at the end of a recording: an unknown load, and friction.

    It is within half of the effort limits; zero where there are too few samples.
    """
    period = float(np.median(np.diff(recording.t))) if len(recording) > 1 else np.inf
    m = max(round(_HELD / period), 2)
    if len(recording) < m:
        return np.zeros(robot.nv)
    zero, limits = np.zeros(robot.nv), robot.limits
    known = robot.inverse_dynamics(recording.q[-m:].mean(axis=0), zero, zero)
    # What drives a joint that moves is no load: the faster it is, the less is held.
    moving = np.abs(recording.v[-m:]).max(axis=0) / (_HELD_VELOCITY * limits.velocity)
    torque = np.clip(1 - moving, 0, 1) * (recording.command[-m:].mean(axis=0) - known)
    return np.asarray(np.clip(torque, -_MAX_HELD * limits.effort, _MAX_HELD * limits.effort))


def _brake(law: Any, plant: CheckedPlant, held: Array) -> Array:
    """Come to rest where the robot is, within its limits, as far as the plant still answers, and hold.

    `held` is the torque beside the law's model until then, from which its integral goes on; the result is
    that at the end.
    """
    limits, period = law.robot.limits, plant.period
    least, most = (round(one / period) for one in _BRAKING_DURATIONS)
    samples: list[tuple[Array, Array, Array]] = []
    with suppress(CommissioningStopped):
        law.reset()
        here = np.clip(plant.measure().q, limits.lower, limits.upper)
        for k in range(most):
            sample = plant.measure()
            tau = np.clip(law.step(sample.q, sample.v, here) + held, -limits.effort, limits.effort)
            plant.apply(tau)
            samples.append((sample.q, sample.v, tau))
            lately = np.array([v for _, v, _ in samples[-max(round(_HELD / period), 1) :]])
            if k + 1 >= least and np.all(np.abs(lately) < _REST_VELOCITY * limits.velocity):
                break
    with suppress(CommissioningStopped):
        plant.hold()
    if not samples:
        return held
    q, v, tau = (np.array(x) for x in zip(*samples, strict=True))
    zero, t = np.zeros_like(q), period * np.arange(len(q), dtype=np.float64)
    return held_torque(law.robot, Recording(t, q, v, tau, tau, zero, zero, zero))
