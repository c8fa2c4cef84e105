"""Joints whose motion is a single sine: springs and inertia are ambiguous there, and periods redundant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.logs.preparation import Samples
from helicoid.robot import Robot

_MAX_RESIDUAL = 0.01  # of the variance of v: residual of the best sine
_COARSE_GRID, _FINE_GRID = np.linspace(0.8, 1.25, 31), np.linspace(0.985, 1.015, 7)  # times a guess of ω
_MAX_SAMPLES = 1000
_MIN_MOTION = 1e-6  # standard deviation of q and v
_MIN_FRACTION_FOR_MAJORITY = 0.5  # of the joints that move


class SineMotion(NamedTuple):
    """A joint that moved along a single sine: its place in q and v, the mean position, ω (rad/s)."""

    q: int
    v: int
    mean: float
    omega: float

    def spring_ambiguity(self, q: Array, a: Array) -> Array:
        """Torque error (N,) where a spring of 1 N·m/rad was taken for inertia: k (q - mean) + k/ω² a."""
        return np.asarray(q[:, self.q] - self.mean + a[:, self.v] / self.omega**2)


class SineMotions(NamedTuple):
    """Joints whose motion is a single sine, so that acceleration is a multiple of position, by name.

    `majority`: these are most of the joints that move. Periods are then redundant, and nothing but noise in
    the acceleration separates a spring from inertia.
    """

    joints: dict[str, SineMotion]
    majority: bool


def single_frequency_joints(robot: Robot, held: Sequence[Samples]) -> SineMotions:
    """Joints of one coordinate that moved along a single sine; none without samples."""
    found: dict[str, SineMotion | None] = {}
    for body in robot.model.bodies if held else ():
        if body.joint.mimic is None and body.joint.type.nq == 1 and body.joint.parent:
            place = body.q.start, body.v.start
            q, v = (
                np.concatenate([x[:, k] for x in own]) for own, k in zip(_states(held), place, strict=True)
            )
            if q.std() > _MIN_MOTION and v.std() > _MIN_MOTION:
                left, omega = _sine(held, body.v.start, float(v.std() / q.std()))
                alone = left < _MAX_RESIDUAL * v.var() * len(v)
                found[body.joint.name] = SineMotion(*place, float(q.mean()), omega) if alone else None
    joints = {name: sine for name, sine in found.items() if sine is not None}
    return SineMotions(joints, len(joints) > _MIN_FRACTION_FOR_MAJORITY * len(found))


def _states(held: Sequence[Samples]) -> tuple[list[Array], list[Array]]:
    return [samples.q for samples in held], [samples.v for samples in held]


def _sine(held: Sequence[Samples], v: int, guess: float) -> tuple[float, float]:
    """The sum of squares of a joint's velocities that the best sine leaves, and its ω near a guess."""
    least, best = np.inf, guess
    for grid in (_COARSE_GRID, _FINE_GRID):
        tried = best * grid
        left = np.sum([_left(samples, v, tried) for samples in held], axis=0)
        least, best = float(left.min()), float(tried[np.argmin(left)])
    return least, best


def _left(samples: Samples, v: int, omegas: Array) -> Array:
    """The sum of squares of a joint's velocities that a sine and an offset leave, for each ω."""
    step = max(1, len(samples) // _MAX_SAMPLES)
    own = samples.v[::step, v]
    phase = np.outer(omegas, np.arange(len(own)) * step / samples.rate)
    waves = np.stack([np.ones_like(phase), np.sin(phase), np.cos(phase)], axis=1)
    parts = np.linalg.pinv(waves @ waves.transpose(0, 2, 1), hermitian=True) @ (waves @ own)[:, :, None]
    return step * np.sum((own - np.sum(parts * waves, axis=1)) ** 2, axis=1)
