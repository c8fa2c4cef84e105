"""Task of the relative pose of two frames of the robot."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.control.tasks.frame import rotation_error
from helicoid.control.tasks.task import Task, check_frames, square
from helicoid.dynamics.constraints.equations import relative_motion
from helicoid.errors import InputError
from helicoid.geometry import se3
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class RelativePoseTask(Task):
    """e = (log(R* Rᵀ), p* - p), 6 rows (rad, m), of the pose R, p of a frame seen from another.

    Two hands that hold one object; a foot beside the other. Rows are along the axes of `seen_from`.

    Args:
        frame: the name of a link.
        seen_from: the name of the link from which it is seen.
        target: T*, 4 × 4.
        weight: of e², a number or one for each row, angular first.

    >>> import helicoid as hc
    >>> task = hc.control.RelativePoseTask("link_2", seen_from="link_1")
    >>> task.rows(hc.load("planar_2r"))
    6
    """

    frame: str
    seen_from: str
    target: ArrayLike | None = None
    weight: ArrayLike = 1.0
    name: str = ""
    target_kind = "pose"
    kinds, shape = (("angular", 3), ("linear", 3)), (4, 4)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or f"{self.frame} from {self.seen_from}")

    def check(self, robot: Robot) -> None:
        check_frames(robot, [self.frame, self.seen_from])
        if robot.model.frame(self.frame).body == robot.model.frame(self.seen_from).body:
            raise InputError(
                f"{self.name!r}: {self.frame!r} and {self.seen_from!r} do not move against each other"
            )

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        p, R, _, _ = self._relative(robot, q)
        desired = square(target, 4)
        return ca.vertcat(rotation_error(R, desired[:3, :3]), desired[:3, 3] - p)

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        _, _, linear, angular = self._relative(robot, q)
        return ca.vertcat(angular, linear)

    def measure(self, robot: Robot, q: Expression) -> Expression:
        p, R, _, _ = self._relative(robot, q)
        return ca.vec(se3.pose(R, p).T)

    def _relative(self, robot: Robot, q: Expression) -> tuple[Expression, ...]:
        model = robot.model
        return relative_motion(model, q, model.frame(self.seen_from), model.frame(self.frame))
