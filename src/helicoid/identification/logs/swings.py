"""Joints that moved with one frequency: what they tell once is all that they tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.logs.filtering import bandwidth, derivative, low_pass
from helicoid.identification.logs.preparation import Samples
from helicoid.robot import Robot

_SAME = -0.99  # correlation of q and a of a motion with one frequency
_STILL = 1e-6
_ABOVE = 2.0  # times the band of a motion: what is above is noise
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
    """The joints whose acceleration is a multiple of their position, by name."""
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
            pairs = [_swing(samples, *place) for samples in held]
            q, a = (np.concatenate([pair[k] for pair in pairs]) for k in range(2))
            if q.std() > _STILL and a.std() > _STILL:
                alone = np.corrcoef(q, a)[0, 1] < _SAME
                omega = float(np.sqrt(a.std() / q.std()))
                found[body.joint.name] = Swing(*place, float(q.mean()), omega) if alone else None
    return found


def _swing(samples: Samples, q: int, v: int) -> tuple[Array, Array]:
    """Position, and acceleration without most of the noise that differentiation makes."""
    own = samples.v[:, [v]]
    band = bandwidth(own, samples.rate) if own.std() > 0 else 0.0
    smooth = low_pass(own, samples.rate, _ABOVE * band if band > 0 else None)
    a = derivative(smooth, samples.rate)[:, 0]
    edge = min(len(a) // 4, round(samples.rate / band) if band > 0 else 0)
    inner = slice(edge, len(a) - edge)
    return samples.q[inner, q], a[inner]
