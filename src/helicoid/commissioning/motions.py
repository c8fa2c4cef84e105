"""Planning of the motions of a commissioning, and random torques."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning.controllers import SAFE_FREQUENCY
from helicoid.commissioning.plant.way_back import MAX_SPEED
from helicoid.commissioning.status import CommissioningStatus, CommissioningStopped
from helicoid.errors import HelicoidError, InputError
from helicoid.identification.excitation.bounds import find_bounds
from helicoid.identification.excitation.excitation import Excitation, excitation
from helicoid.robot import Robot
from helicoid.robot.collision.scene import Scene

MAX_RATIO_OF_ACCELERATION = 5.0  # 1/s: largest acceleration over largest velocity
_PLANNING_TIME = 300.0  # s: iterations end the optimisation, except on a computer that is busy
_DITHER = 0.05  # of the effort limit
_RIPPLE = 0.08  # of the velocity limit, that the random torque may cause
_SHARES_OF_SPEED = 1.0, 0.5, 0.25  # smaller motions where gravity allows no large ones


@dataclass(frozen=True)
class MotionSettings:
    """Shares of the limits that a motion uses, its duration (s), harmonics, and the random seed."""

    name: str
    speed: float
    effort: float
    duration: float
    harmonics: int
    seed: int
    iterations: int


def planned_motion(robot: Robot, start: Array, settings: MotionSettings, scene: Scene | None) -> Excitation:
    """An excitation trajectory from rest at `start` back to it, clear of the scene and of the robot itself.

    Raises:
        CommissioningStopped: there is none.
    """
    failure = ""
    for share in _SHARES_OF_SPEED:
        velocity = share * settings.speed * np.minimum(robot.limits.velocity, MAX_SPEED)
        try:
            return excitation(
                robot,
                settings.duration,
                start=start,
                velocity=velocity,
                acceleration=MAX_RATIO_OF_ACCELERATION * velocity,
                effort=settings.effort * robot.limits.effort,
                harmonics=settings.harmonics,
                seed=settings.seed,
                iterations=settings.iterations,
                time_limit=_PLANNING_TIME,
                scene=scene,
                progress=False,
            )
        except InputError as error:  # of the start, or the robot: slower motions have it too
            failure = str(error)
            break
        except HelicoidError as error:
            failure = str(error)
    raise CommissioningStopped(CommissioningStatus.NO_EXCITATION, f"no {settings.name} was found: {failure}")


def unchecked_collisions(robot: Robot, scene: Scene | None) -> tuple[str, ...]:
    """Sentences on collisions that motions cannot take into account."""
    return find_bounds(robot, 1.0, None, None, None, None, 0.0, scene)[1]


def sampled(motion: Excitation, period: float, rest: float = 0.0) -> tuple[Array, Array, Array]:
    """q, v, a (N, n) at every period, after `rest` seconds at the start."""
    times = np.arange(round(motion.series.duration / period)) * period
    waiting = np.zeros(round(rest / period))
    q, v, a = motion.at(np.concatenate([waiting, times]))
    v[: len(waiting)] = a[: len(waiting)] = 0.0
    return q, v, a


def dither_amplitude(robot: Robot, inertia: Array, period: float) -> Array:
    """Amplitudes (nv) of the random torques: of the effort, and by the velocity that they cause."""
    limits = robot.limits
    ripple = _RIPPLE * limits.velocity * inertia * np.sqrt(4 * SAFE_FREQUENCY / period)
    return np.asarray(np.minimum(_DITHER * limits.effort, ripple))


def random_torques(robot: Robot, amplitude: Array, n: int, seed: int) -> Array:
    """White binary torques (n, nv) of this amplitude at each joint: pseudo-random binary sequences."""
    rng = np.random.default_rng([seed, 1])
    return np.asarray(amplitude * rng.choice([-1.0, 1.0], size=(n, robot.nv)))
