"""Where a frame is and how it is turned, in one."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.control.tasks.orientation import shortest_turn
from helicoid.control.tasks.task import Axes, Task, check_axes, check_frames, square
from helicoid.dynamics import kinematics
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class PoseTask(Task):
    """e = (log(R* R(q)ᵀ), p* - p(q)) of a frame (rad, m), 6 rows, in world axes or those of the frame.

    Args:
        frame: the name of a link.
        target: the pose T* of the frame in the world, 4 × 4.
        weight: of e², a number or one for each row, angular first.
        reference: "world_aligned", or "body" for rows along the axes of the frame: with a weight
            `[1, 1, 0, 1, 1, 1]` the turn about its z axis is then free.

    >>> import helicoid as hc
    >>> robot = hc.load("panda")
    >>> task = hc.control.PoseTask("panda_link8", target=robot.pose("panda_link8")(robot.neutral()))
    >>> task.rows(robot), task.name
    (6, 'panda_link8 pose')
    """

    frame: str
    target: ArrayLike | None = None
    weight: ArrayLike = 1.0
    reference: Axes = "world_aligned"
    name: str = ""
    target_kind = "pose"

    def __post_init__(self) -> None:
        check_axes(self.reference)
        object.__setattr__(self, "name", self.name or f"{self.frame} pose")

    def check(self, robot: Robot) -> None:
        check_frames(robot, [self.frame])

    def parts(self, robot: Robot) -> tuple[tuple[str, int], ...]:
        return (("angular", 3), ("linear", 3))

    def target_shape(self, robot: Robot) -> tuple[int, ...]:
        return (4, 4)

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        R, p = kinematics.frame_pose(robot.model, q, self.frame)
        wanted = square(target, 4)
        missing = wanted[:3, 3] - p
        turn = shortest_turn(R, wanted[:3, :3], self.reference)
        return ca.vertcat(turn, R.T @ missing if self.reference == "body" else missing)

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return kinematics.jacobian(robot.model, q, self.frame, self.reference)

    def measure(self, robot: Robot, q: Expression) -> Expression:
        return ca.vec(kinematics.pose(robot.model, q, self.frame).T)
