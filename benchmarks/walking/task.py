"""Ten metres, a turn and a stop, with a wrong mass, little friction and a push, on two plants."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from benchmarks.mpc_trot import QUADRUPEDS, standing
from benchmarks.walking.on_plants import DT, Fell, Plant, on_plant
from helicoid._typing import Array
from helicoid.walking import Gait, Walker

PUSH = 50.0  # N
DISTANCE, LONGEST = 10.0, 40.0  # m, s


def walker(name: str, **options: float) -> Walker:
    """One of the quadrupeds of `benchmarks.mpc_trot` that trots; it counts on less friction than there is."""
    robot, q = standing(name)
    a, b, c, d = QUADRUPEDS[name].feet
    settings: dict[str, float] = {"friction": 0.5, "dt": DT, **options}
    return Walker(robot, q, Gait(((a, b), (c, d))), foot_radius=QUADRUPEDS[name].radius, **settings)  # type: ignore[arg-type]


@dataclass
class Episode:
    """Random episode of a robot, by a seed; `__call__` is its controller.

    Args:
        noise: standard deviations of what is measured: angles and positions (rad, m), velocities ten times
            as much (rad/s, m/s).
    """

    dog: Walker
    seed: int
    noise: float = 0.0
    distance: float = 0.0
    tilt: float = 0.0
    turned: float = np.inf
    speed: float = np.inf
    fine: list[bool] = field(default_factory=list)
    plans: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.mass = float(rng.choice([0.95, 1.05]))
        angle, self.pushed = rng.uniform(0, 2 * np.pi), rng.uniform(2.0, 18.0)
        self.force = PUSH * np.array([np.cos(angle), np.sin(angle), 0.0])
        self._rng, self._q0 = rng, self.dog.posture
        self.dog.reset()

    def push(self, t: float) -> Array:
        """The force on the trunk (N, world)."""
        return self.force if self.pushed <= t < self.pushed + 0.1 else np.zeros(3)

    def measured(self, q: Array, v: Array) -> tuple[Array, Array]:
        """A state as sensors give it."""
        if not self.noise:
            return q, v
        n = len(v)
        there = self.dog.robot.integrate(q, self.noise * self._rng.normal(size=n))
        return there, v + 10 * self.noise * self._rng.normal(size=n)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Torques; raises `Fell`, or StopIteration where all is done."""
        dog, k = self.dog, round(t / DT)
        self.distance = (
            max(self.distance, float(np.hypot(*q[:2]))) if np.isinf(self.turned) else self.distance
        )
        self.tilt = max(self.tilt, 2 * float(np.hypot(q[4], q[5])))
        self.speed = float(np.abs(v).max())
        if abs(q[2] - self._q0[2]) > 0.1 or self.tilt > 0.5:
            raise Fell(f"fell at {t:.2f} s")
        if k == 250:
            dog.go(forward=0.5)
        if self.distance > DISTANCE and np.isinf(self.turned):
            self.turned = t
            dog.go(forward=0.3, turn=0.5)
        if self.turned + 2.0 <= t < self.turned + 2.0 + DT:
            dog.stop()
        if t > self.turned + 4.0:
            raise StopIteration
        before, began = dog.plans, time.thread_time()
        tau = dog.step(*self.measured(q, v))
        self.steps.append(time.thread_time() - began)
        if dog.plans > before:
            self.plans.append(dog.plan_seconds)
        self.fine.append(dog.ok)
        return tau

    @property
    def success(self) -> bool:
        """Ten metres, a turn, and it stands."""
        return self.distance > DISTANCE and np.isfinite(self.turned) and self.speed < 0.2


def run(episode: Episode, plant: Plant) -> str:
    """Let it walk; returns how it ended: "walked", "fell at ... s", "late", "moves on"."""
    ended = on_plant(episode, plant, LONGEST)
    return ("walked" if episode.success else "moves on") if ended == "done" else ended
