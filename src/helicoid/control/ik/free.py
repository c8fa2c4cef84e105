"""Configurations without collision: the filter of inverse kinematics in a scene."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.control.ik.engine import SearchResult
from helicoid.robot.collision.distances.checker import checked_length, checked_scene
from helicoid.robot.collision.scene import Scene
from helicoid.robot.robot import Robot

_STARTS_AT_ONCE = 64

Search = Callable[[Array, Array], SearchResult]
"""Results of one search for each target (n, numbers), from its row of q0 (n, nq)."""


@dataclass(frozen=True, eq=False)
class CollisionFilter:
    """No self-collision, and a margin (m) between the robot and a scene as it is at the time."""

    robot: Robot
    scene: Scene
    margin: float

    @staticmethod
    def of(robot: Robot, scene: Scene | None, margin: float) -> CollisionFilter | None:
        """The filter of a scene; None where there is none.

        Raises:
            InputError: the scene is none, or the margin no distance; or the scene names what is not there.
        """
        given, distance = checked_scene(scene), checked_length("margin", margin, np.finfo(float).max)
        if given is None:
            return None
        made = CollisionFilter(robot, given, distance)
        made.is_free(robot.neutral()[None])  # wrong names are reported now
        return made

    def is_free(self, q: Array) -> NDArray[np.bool_]:
        """Which configurations (n, nq) are free of collision; one that is not finite is not."""
        finite = np.isfinite(q).all(axis=1)
        free = np.zeros(len(q), dtype=bool)
        if finite.any():
            # Links may be nearer than the margin to each other.
            with_itself = self.robot.in_collision(q[finite])
            with_scene = self.robot.in_collision(
                q[finite], self.scene, margin=self.margin, self_collision=False
            )
            free[finite] = ~(with_itself | with_scene)
        return free

    def restart(self, target: Array, starts: Array, search: Search) -> tuple[SearchResult, float, float]:
        """The first free solution of a target in the order of starts (n, nq), number of starts, iterations.

        The result is empty where there is none.
        """
        tried = iterations = 0.0
        for k in range(0, len(starts), _STARTS_AT_ONCE):
            some = starts[k : k + _STARTS_AT_ONCE]
            found = search(np.repeat(target[None], len(some), axis=0), np.ascontiguousarray(some))
            reached = np.flatnonzero(found.facts[:, 0] > 0)
            free = reached[self.is_free(found.q[reached])]
            tried += len(some)
            iterations += float(found.facts[:, 3].sum())
            if len(free):
                one = slice(free[0], free[0] + 1)
                return SearchResult(*(part[one] for part in found)), tried, iterations
        return SearchResult(*(part[:0] for part in found)), tried, iterations
