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


def swings(robot: Robot, stretches: Sequence[Samples]) -> dict[str, Swing]:
    """The joints whose motion is one sine: their acceleration is a multiple of their position, by name."""
    return {name: swing for name, swing in _moving(robot, stretches).items() if swing is not None}


def mostly_swings(robot: Robot, stretches: Sequence[Samples]) -> bool:
    """Whether most of the joints that move do so with one frequency.

    Then each period says what the one before has said, and noise in the acceleration is all that tells a
    spring from inertia.
    """
    found = list(_moving(robot, stretches).values())
    return sum(swing is not None for swing in found) > _MOSTLY * len(found)


def _moving(robot: Robot, stretches: Sequence[Samples]) -> dict[str, Swing | None]:
    """Joints with one coordinate that move; None where they do with more than one frequency.

    None at all where workers have the samples.
    """
    found: dict[str, Swing | None] = {}
    held = [samples for samples in stretches if isinstance(samples, Samples)]
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
    return found


def _states(held: Sequence[Samples]) -> tuple[list[Array], list[Array]]:
    return [samples.q for samples in held], [samples.v for samples in held]


def _sine(held: Sequence[Samples], v: int, guess: float) -> tuple[float, float]:
    """The sum of squares of a joint's velocities that the best sine leaves, and its ω near a guess."""
    best = np.inf, guess
    for grid in (_COARSE, _FINE):
        tried = best[1] * grid
        best = min((sum(_left(samples, v, omega) for samples in held), omega) for omega in tried.tolist())
    return best


def _left(samples: Samples, v: int, omega: float) -> float:
    step = max(1, len(samples) // _SOME)
    phase = omega * np.arange(0, len(samples), step) / samples.rate
    waves = np.column_stack([np.ones_like(phase), np.sin(phase), np.cos(phase)])
    own = samples.v[::step, v]
    return step * float(np.sum((own - waves @ np.linalg.lstsq(waves, own, rcond=None)[0]) ** 2))
