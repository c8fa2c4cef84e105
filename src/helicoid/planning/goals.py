"""Goals of a query as configurations: given ones, those of a pose or of tasks by IK, those of a region."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array, shown
from helicoid.control.inverse_kinematics import InverseKinematics
from helicoid.control.tasks import Task
from helicoid.errors import InputError
from helicoid.planning.space import ConfigurationSpace
from helicoid.robot import Robot

REGION_SAMPLES = 64  # goal configurations sampled from a region
MAX_TURNED = 64  # goal configurations that differ by whole turns


@dataclass(frozen=True, eq=False)
class GoalRegion:
    """All configurations between `lower` and `upper` (nq); a path may end in any of them.

    >>> import helicoid as hc
    >>> hc.planning.GoalRegion([0.0, -1.0], [0.5, 1.0]).samples(2).shape
    (2, 2)
    """

    lower: ArrayLike
    upper: ArrayLike

    def __post_init__(self) -> None:
        low, high = (float_array(x, "the limits of a region are numbers") for x in (self.lower, self.upper))
        if low.ndim != 1 or low.shape != high.shape or not np.all(low <= high):
            raise InputError(
                f"a region has lower limits (nq) and upper ones above them; got {shown(self.lower)} and "
                f"{shown(self.upper)}"
            )
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    def samples(self, n: int) -> Array:
        """Sample configurations (n, nq) of the region, the middle first; the same at every call."""
        low, high = np.asarray(self.lower), np.asarray(self.upper)
        u = np.random.default_rng(0).uniform(size=(n, len(low)))
        u[0] = 0.5
        return np.asarray(low + u * (high - low))


Free = Callable[[Array], Array]
"""Which rows of configurations (n, nq) are free."""


def goal_configurations(
    robot: Robot, space: ConfigurationSpace, goal: Any, frame: str | None, start: Array, free: Free
) -> Array:
    """Configurations (n, nq) that reach a goal, those that are free if there are some, the nearest first.

    Raises:
        InputError: the goal is not valid, or out of reach within the limits.
    """
    if isinstance(goal, GoalRegion):
        found = goal.samples(REGION_SAMPLES)
        if found.shape[1] != robot.nq:
            raise InputError(f"a region of {robot.name!r} has {robot.nq} limits; got {found.shape[1]}")
    elif frame is not None or isinstance(goal, Task) or _are_tasks(goal):
        found = with_turns(robot, space, _by_ik(robot, space, goal, frame, start), start)
    else:
        text = f"the goal is a configuration, {robot.nq} numbers, or rows of them"
        return np.atleast_2d(float_array(goal, text))
    clear = found[free(found)]
    return clear if len(clear) else found


def with_turns(robot: Robot, space: ConfigurationSpace, Q: Array, start: Array) -> Array:
    """Configurations Q (n, nq) and those that differ by whole turns of joints, within limits: (m, nq).

    The nearest ones to the start, `MAX_TURNED` at most. A joint that a mimic follows is not turned.
    """
    for k in np.flatnonzero(space.turn):
        turns = np.outer([0, -1, 1], space.turn * (np.arange(robot.nq) == k))
        Q = (Q[:, None] + turns).reshape(-1, robot.nq)
        Q = Q[(Q[:, k] >= space.lower[k]) & (Q[:, k] <= space.upper[k])]
        distance = np.linalg.norm((Q - start) * space.weight, axis=1)
        Q = Q[np.argsort(distance, kind="stable")[:MAX_TURNED]]
    return Q


def _are_tasks(goal: Any) -> bool:
    return isinstance(goal, Sequence) and len(goal) > 0 and all(isinstance(one, Task) for one in goal)


def _by_ik(robot: Robot, space: ConfigurationSpace, goal: Any, frame: str | None, start: Array) -> Array:
    if frame is not None:
        what: Any = frame
        ik = robot.memo(("planning IK", frame), lambda: InverseKinematics(robot, frame))
        found = ik.all(goal, q0=start)
    else:
        what = "its tasks"
        found = InverseKinematics(robot, goal).all(q0=start)
    margin = 1e-9
    inside = np.all(
        (found >= space.lower - margin) & (found <= space.upper + margin) | (space.kind > 0), axis=1
    )
    if not inside.any():
        raise InputError(f"the goal is out of reach: no configuration within the limits brings {what} there")
    return np.asarray(found[inside])
