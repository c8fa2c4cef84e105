"""Motions of a commissioning: planning, and the first motion with the way back to its start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning import checks
from helicoid.commissioning.controllers import (
    FIRST_RATIO,
    SAFE_FREQUENCY,
    assumed_armature,
    first_law,
    joint_inertia,
)
from helicoid.commissioning.plant import CheckedPlant
from helicoid.commissioning.recording import Recording, deviation_limit, held_torque, record
from helicoid.commissioning.status import CommissioningStatus, CommissioningStopped
from helicoid.errors import HelicoidError, InputError
from helicoid.identification.excitation.bounds import find_bounds
from helicoid.identification.excitation.excitation import Excitation, excitation
from helicoid.robot import Robot
from helicoid.robot.collision.scene import Scene

MAX_SPEED = 3.0  # rad/s, m/s: of descriptions that state absurd velocity limits
MAX_RATIO_OF_ACCELERATION = 5.0  # 1/s: largest acceleration over largest velocity
_PLANNING_TIME = 300.0  # s: iterations end the optimisation, except on a computer that is busy
_DITHER = 0.05  # of the effort limit
_RIPPLE = 0.08  # of the velocity limit, that the random torque may cause
_SHARES_OF_SPEED = 1.0, 0.5, 0.25  # smaller motions where gravity allows no large ones

_REST = 0.5  # s before the motion
_RATIO_STEP, _MAX_RATIO = 5.0, 1e4  # of assumed armature over described inertia
_WAY_BACK_SPEED = 0.1  # of the velocity limits
_WAY_BACK_ACCELERATION = 0.5  # 1/s, of the velocity limits
_SETTLING = 1.0  # s at rest, at the end of the way back
_NOT_BACK = "{}; the arm could not be brought back to its start: {}"
_SHARE_OF_DEVIATION = 1 / 3  # of the largest tolerated tracking error, that may be left at the start


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


class FirstMotion:
    """A motion with the description alone, recorded on the plant.

    A joint that its friction, its rotor or a load holds back gets more gain in the next attempt.
    """

    def __init__(self, robot: Robot, plant: CheckedPlant, motion: Excitation, seed: int) -> None:
        self.robot, self.plant, self.motion, self.seed = robot, plant, motion, seed
        self._inertia = joint_inertia(robot, motion.q)
        self._ratio = np.full(robot.nv, FIRST_RATIO)
        self._held = np.zeros(robot.nv)

    def recorded(self, tell: Callable[[float], None]) -> Recording:
        """The recording of the attempt that succeeded.

        Raises:
            CommissioningStopped: none did, for a reason that more gain does not mend, or the arm could not be
                brought back.
        """
        while True:
            try:
                return self._attempt(tell)
            except CommissioningStopped as stopped:
                if not self._gain_raised(stopped):
                    raise
                self._bring_back(stopped)

    def _armature(self) -> Array:
        return assumed_armature(self.robot, self._inertia, self._ratio)

    def _attempt(self, tell: Callable[[float], None]) -> Recording:
        period, armature = self.plant.period, self._armature()
        law = first_law(self.robot, armature, period)
        rows = sampled(self.motion, period, _REST)
        amplitude = dither_amplitude(self.robot, self._inertia + armature, period)
        w = random_torques(self.robot, amplitude, len(rows[0]), self.seed)
        w[: round(_REST / period)] = 0.0
        recording = record(self.robot, self.plant, law, rows, w, tell, self._held)
        checks.check_moved(self.robot, recording)
        return recording

    def _gain_raised(self, stopped: CommissioningStopped) -> bool:
        """Raise the gain of the joints that lagged behind; False where that is no remedy."""
        lagging = checks.lagging_joints(self.robot, stopped.recording)
        if not np.any(lagging) or np.any(self._ratio[lagging] > _MAX_RATIO):
            return False
        self._ratio[lagging] *= _RATIO_STEP
        return True

    def _bring_back(self, stopped: CommissioningStopped) -> None:
        """Move slowly back to the start, along the motion as it came."""
        period, duration = self.plant.period, self.motion.series.duration
        along = max(len(stopped.recording) * period - _REST, 0.0)
        along = 0.0 if along > duration - 2 * period else along  # a whole motion has ended at its start
        attempt = stopped
        while True:
            held = np.zeros(self.robot.nv) if attempt.held is None else attempt.held
            rows, left = way_back(self.robot, self.motion, along, self.plant.measure().q, period)
            law = first_law(self.robot, self._armature(), period)
            try:
                recording = record(self.robot, self.plant, law, rows, bias=held)
                break
            except CommissioningStopped as again:
                if not self._gain_raised(again):
                    raise CommissioningStopped(
                        again.status, _NOT_BACK.format(stopped, again), again.recording
                    ) from again
                attempt, along = again, float(left[min(len(again.recording), len(left) - 1)])
        self._held = held_torque(law.robot, recording)
        error = np.abs(recording.q[-1] - self.motion.q[0])
        k = int(np.argmax(error / deviation_limit(self.robot)))
        if error[k] > _SHARE_OF_DEVIATION * deviation_limit(self.robot)[k]:
            off = f"{self.robot.model.velocity_names[k]!r} is {error[k]:.3g} off where it came to rest"
            raise CommissioningStopped(stopped.status, _NOT_BACK.format(stopped, off), recording)


def way_back(
    robot: Robot, motion: Excitation, along: float, here: Array, period: float
) -> tuple[tuple[Array, Array, Array], Array]:
    """q, v, a (N, n) from rest at `here` to rest at the start of a motion, and times (N,) along the motion.

    From `along` seconds after its beginning the motion is run backwards, while the distance of `here` from
    it fades out: where the arm has been, the way is clear.
    """
    q_there = motion.at(along)[0][0]

    def at(x: Array, T: float) -> tuple[Array, Array, Array, Array]:
        """Along x = t / T, with 1 - h of the way left, h = 10 x³ - 15 x⁴ + 6 x⁵."""
        left = (1 - x**3 * (10 - 15 * x + 6 * x**2))[:, None]
        rate = (-30 * x**2 * (1 - x) ** 2 / T)[:, None]
        change = (-60 * x * (1 - x) * (1 - 2 * x) / T**2)[:, None]
        p, dp, ddp = motion.at(along * left[:, 0])
        offset = here - q_there
        q = p + left * offset
        v = (along * dp + offset) * rate
        a = along**2 * ddp * rate**2 + (along * dp + offset) * change
        return q, v, a, along * left[:, 0]

    limit = np.minimum(robot.limits.velocity, MAX_SPEED)
    _, v, a, _ = at(np.linspace(0.0, 1.0, 1001), 1.0)
    fastest = float((np.abs(v) / limit).max()) / _WAY_BACK_SPEED
    T = max(fastest, float(np.sqrt((np.abs(a) / limit).max() / _WAY_BACK_ACCELERATION)), 0.5)
    n = round((T + _SETTLING) / period)
    q, v, a, left = at(np.minimum(period * np.arange(n) / T, 1.0), T)
    return (q, v, a), left
