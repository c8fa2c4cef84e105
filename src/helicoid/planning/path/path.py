"""The result of planning: a path of straight edges through configuration space."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, overload

from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.control.timing import PathMotion
from helicoid.planning.path.timing import timed
from helicoid.simulation import Trajectory


@dataclass(frozen=True, eq=False)
class PlannedPath:
    """A collision-free path from start to goal, or the reason why none was found.

    Attributes:
        success: whether a path was found.
        message: result or reason of the failure, in words.
        q: waypoints (n, nq), straight edges between them; without success (0, nq).
        length: of the path (rad or m, Euclidean).
        samples: configurations drawn; nodes: of both trees; seconds: time taken.
        planner: among the obstacles of the query, whatever the planner that made it is updated to later.
    """

    success: bool
    message: str
    q: Array
    length: float
    samples: int = 0
    nodes: int = 0
    seconds: float = 0.0
    planner: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "planner", copy.copy(self.planner))  # an update replaces obstacles

    @overload
    def timed(
        self,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        torque: ArrayLike | None = None,
        jerk: None = None,
        **options: Any,
    ) -> PathMotion: ...

    @overload
    def timed(
        self,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        torque: ArrayLike | None = None,
        *,
        jerk: ArrayLike,
        **options: Any,
    ) -> Trajectory: ...

    def timed(
        self,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        torque: ArrayLike | None = None,
        jerk: ArrayLike | None = None,
        **options: Any,
    ) -> PathMotion | Trajectory:
        """The fastest motion along the path within limits: a `Trajectory` whose every sample is free.

        Corners are rounded by parabolas, each as large as is certified to be free, then
        `hc.control.time_optimal` times the path. The motion stops at a corner without clearance for one.
        Obstacles are those of the query, also where the scene has changed since.
        Under constraints the curve is a spline that is as near to their manifold as `constraint_tolerance`.

        Args:
            velocity, acceleration, torque: as in `hc.control.time_optimal`: by default the robot's own
                limits.
            jerk: a number or one for each joint (rad/s³, m/s³): the motion is averaged over the shortest
                window of time that keeps it, which rounds corners further, with samples 2 ms apart at most.
                It is slowed down until every interval is certified to be free. By default there is no limit.
            options: others of `hc.control.time_optimal`, such as `frame_speed={"tool0": 0.25}`, `dt` and
                `grid`.

        Raises:
            InputError: there is no path, or the robot has coordinates that are no numbers.
            InfeasiblePath: limits allow no motion.
        """
        return timed(self, velocity, acceleration, torque, jerk, options)

    def __repr__(self) -> str:
        if not self.success:
            return f"PlannedPath(no path: {self.message})"
        return f"PlannedPath({len(self.q)} waypoints, length {self.length:.3f})"
