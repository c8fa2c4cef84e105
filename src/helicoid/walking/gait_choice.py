"""Choice of a gait: the fastest whose loads the motors carry and whose steps the legs can take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.robot.robot import Robot
from helicoid.walking import anatomy
from helicoid.walking.gait import Gait

_TROT_LOAD, _CRAWL_LOAD = 1.5, 1.2  # peaks of a foot's load over its static share of the weight


class GaitChoice(NamedTuple):
    """A gait and the reason why it was chosen; a gait without steps where the robot can only stand."""

    gait: Gait
    reason: str

    @property
    def walks(self) -> bool:
        """Whether a foot swings in any phase."""
        return any(len(stand) < len(self.gait.feet) for stand in self.gait.stands)


def choose_gait(robot: Robot, q: Array) -> GaitChoice:
    """Trot, crawl or standing of a quadruped, by the torques of its standing posture.

    A trot loads two feet with the weight, a crawl three: each with its share, times the peak of its gait.
    Torques of the joints are those of statics, τ = g(q) - Jᵀ f. A crawl also shifts the centre of mass over
    three feet at a time, which takes legs that step sideways.
    """
    feet = anatomy.feet_of(robot, q)
    if len(feet) != 4:
        raise InputError(
            f"a trot has four feet, and {robot.name!r} has {len(feet)} ({', '.join(feet)}): give gait="
        )
    trot, most = _overload(robot, q, feet, _TROT_LOAD / 2)
    if most <= 1:
        return GaitChoice(Gait.trot(*feet), "a trot, whose loads the motors carry")
    crawl, less = _overload(robot, q, feet, _CRAWL_LOAD / 3)
    weak = f"a trot would take {most:.2g} times the torque of {trot}"
    if less > 1:
        reason = f"{weak}, and a crawl {less:.2g} times that of {crawl}"
    elif anatomy.steps_sideways(robot, q, feet):
        return GaitChoice(Gait.walk(*feet), f"a crawl: {weak}")
    else:
        reason = f"{weak}, and a crawl takes legs that step sideways"
    return GaitChoice(Gait((feet,)), f"standing alone: {reason}")


def _overload(robot: Robot, q: Array, feet: Sequence[str], share: float) -> tuple[str, float]:
    """The joint with the largest ratio of torque to limit, and that ratio, for a share of the weight."""
    load = -share * robot.mass * np.array(robot.model.gravity)
    gravity, limit = robot.bias(q, np.zeros(robot.nv), friction=False), robot.limits.effort
    names, worst = robot.model.velocity_names, ("", 0.0)
    for foot in feet:
        J = robot.jacobian(foot, "world_aligned")(q)[3:]
        leg = np.flatnonzero(np.abs(J[:, 6:]).max(axis=0) > 0) + 6
        ratios = [(names[k], float(abs(gravity[k] - J[:, k] @ load) / limit[k])) for k in leg if limit[k] > 0]
        worst = max([worst, *ratios], key=lambda pair: pair[1])
    return worst
