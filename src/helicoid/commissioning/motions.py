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
_SEEDS, _SEED_STEP = 3, 100  # of motions on which links meet
_MAX_NAMED = 100  # configurations in which links that meet are looked up
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

    Shapes that the optimisation does not know, which are meshes and visual ones, are checked afterwards by
    convex hulls, which may meet where the links do not: such a motion is planned anew with another seed, and
    taken where all are such.

    Raises:
        CommissioningStopped: there is none.
    """
    failure = ""
    for share in _SHARES_OF_SPEED:
        velocity = share * settings.speed * np.minimum(robot.limits.velocity, MAX_SPEED)
        first = None
        try:
            for again in range(_SEEDS):
                motion = excitation(
                    robot,
                    settings.duration,
                    start=start,
                    velocity=velocity,
                    acceleration=MAX_RATIO_OF_ACCELERATION * velocity,
                    effort=settings.effort * robot.limits.effort,
                    harmonics=settings.harmonics,
                    seed=settings.seed + again * _SEED_STEP,
                    iterations=settings.iterations,
                    time_limit=_PLANNING_TIME,
                    scene=scene,
                    progress=False,
                )
                first = motion if first is None else first
                if not collision_along(robot, motion.q, scene):
                    return motion
        except InputError as error:  # of the start, or the robot: slower motions have it too
            failure = str(error)
            break
        except HelicoidError as error:
            failure = str(error)
        if first is not None:
            return first
    raise CommissioningStopped(CommissioningStatus.NO_EXCITATION, f"no {settings.name} was found: {failure}")


def collision_along(robot: Robot, Q: Array, scene: Scene | None) -> str:
    """Names of two that meet along Q (N, nq) and not at its start; empty where none do, or without shapes."""
    try:
        q = Q[np.asarray(robot.in_collision(Q, scene))]
    except HelicoidError:
        return ""  # `unchecked_collisions` says so
    before = _meeting(robot, Q[0], scene) if len(q) else set()
    for one in q[:: max(len(q) // _MAX_NAMED, 1)]:
        if new := _meeting(robot, one, scene) - before:
            return " and ".join(map(repr, min(new)))
    return ""


def unchecked_collisions(robot: Robot, scene: Scene | None, start: Array) -> list[str]:
    """Sentences on collisions that motions from `start` do not take into account."""
    if not find_bounds(robot, 1.0, None, None, None, None, 0.0, scene)[1]:
        return []
    try:
        meeting = _meeting(robot, start, scene)
    except HelicoidError as error:
        return [f"self-collision was not checked: {error}"]
    notes = [f"{one!r} and {other!r} meet at the start: they were not checked" for one, other in meeting]
    if not any(link.collisions for link in robot.model.links):
        notes.append("the description has no collision shapes: self-collision was checked with visual ones")
    return notes


def _meeting(robot: Robot, q: Array, scene: Scene | None) -> set[tuple[str, str]]:
    return {one.names for one in robot.closest(q, scene, within=0.0)}


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
