"""Joints that moved with one frequency: what they tell once is all that they tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.logs.preparation import Samples
from helicoid.robot import Robot

_SAME = 0.01  # of the variance of v: what a sine leaves of a motion with one frequency
_COARSE, _FINE = np.linspace(0.8, 1.25, 31), np.linspace(0.985, 1.015, 7)  # about a guess of ω
_SOME = 1000  # samples
_STILL = 1e-6
_MOSTLY = 0.5  # of the joints that move


class Swing(NamedTuple):
    """A joint that moved with one frequency: its place in q and v, the middle of its swing, ω (rad/s)."""

    q: int
    v: int
    middle: float
    omega: float

    def confusion(self, q: Array, a: Array) -> Array:
        """The torque (N,) of a spring of 1 N·m/rad that was taken for inertia: k (q - middle) + k/ω² a."""
        return np.asarray(q[:, self.q] - self.middle + a[:, self.v] / self.omega**2)


class Swings(NamedTuple):
    """The joints whose motion is one sine, their acceleration a multiple of their position, by name.

    `mostly` is whether these are most of the joints that move. Then each period says what the one before has
    said, and noise in the acceleration is all that tells a spring from inertia.
    """

    joints: dict[str, Swing]
    mostly: bool


def swings(robot: Robot, held: Sequence[Samples]) -> Swings:
    """Which joints of those with one coordinate moved with one frequency; none where nobody has samples."""
    found: dict[str, Swing | None] = {}
    for body in robot.model.bodies if held else ():
        if body.joint.mimic is None and body.joint.type.nq == 1 and body.joint.parent:
            place = body.q.start, body.v.start
            q, v = (
                np.concatenate([x[:, k] for x in own]) for own, k in zip(_states(held), place, strict=True)
            )
            if q.std() > _STILL and v.std() > _STILL:
                left, omega = _sine(held, body.v.start, float(v.std() / q.std()))
                alone = left < _SAME * v.var() * len(v)
                found[body.joint.name] = Swing(*place, float(q.mean()), omega) if alone else None
    joints = {name: swing for name, swing in found.items() if swing is not None}
    return Swings(joints, len(joints) > _MOSTLY * len(found))


def _states(held: Sequence[Samples]) -> tuple[list[Array], list[Array]]:
    return [samples.q for samples in held], [samples.v for samples in held]


def _sine(held: Sequence[Samples], v: int, guess: float) -> tuple[float, float]:
    """The sum of squares of a joint's velocities that the best sine leaves, and its ω near a guess."""
    least, best = np.inf, guess
    for grid in (_COARSE, _FINE):
        tried = best * grid
        left = np.sum([_left(samples, v, tried) for samples in held], axis=0)
        least, best = float(left.min()), float(tried[np.argmin(left)])
    return least, best


def _left(samples: Samples, v: int, omegas: Array) -> Array:
    """The sum of squares of a joint's velocities that a sine and an offset leave, for each ω."""
    step = max(1, len(samples) // _SOME)
    own = samples.v[::step, v]
    phase = np.outer(omegas, np.arange(len(own)) * step / samples.rate)
    waves = np.stack([np.ones_like(phase), np.sin(phase), np.cos(phase)], axis=1)
    parts = np.linalg.pinv(waves @ waves.transpose(0, 2, 1), hermitian=True) @ (waves @ own)[:, :, None]
    return step * np.sum((own - np.sum(parts * waves, axis=1)) ** 2, axis=1)
