"""Recordings of motions, the largest tolerated tracking error, and the torque that holds a load."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from helicoid._typing import Array
from helicoid.errors import HelicoidError
from helicoid.identification import Log
from helicoid.robot import Robot

HELD_TIME = 0.1  # s, over which the torque that holds the robot is averaged

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

    @property
    def period(self) -> float:
        """Time between two samples (s); infinite where there are fewer."""
        return float(np.median(np.diff(self.t))) if len(self) > 1 else np.inf

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


def held_torque(robot: Robot, recording: Recording) -> Array:
    """Torque (nv) beside a robot's gravity at the end of a recording: an unknown load, and friction.

    It is within half of the effort limits; zero where there are too few samples.
    """
    m = max(round(HELD_TIME / recording.period), 2)
    if len(recording) < m:
        return np.zeros(robot.nv)
    zero, limits = np.zeros(robot.nv), robot.limits
    known = robot.inverse_dynamics(recording.q[-m:].mean(axis=0), zero, zero)
    # What drives a joint that moves is no load: the faster it is, the less is held.
    moving = np.abs(recording.v[-m:]).max(axis=0) / (_HELD_VELOCITY * limits.velocity)
    torque = np.clip(1 - moving, 0, 1) * (recording.command[-m:].mean(axis=0) - known)
    return np.asarray(np.clip(torque, -_MAX_HELD * limits.effort, _MAX_HELD * limits.effort))
