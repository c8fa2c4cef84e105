"""Where a frame is."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.control.tasks.task import Axes, Task, check_axes, check_frames
from helicoid.dynamics import kinematics
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class PositionTask(Task):
    """e = p* - p(q) of a frame's origin in the world (m), 3 rows, in world axes or those of the frame.

    Args:
        frame: the name of a link.
        target: p*, 3 numbers (m).
        weight: of e², a number or one for each row.
        reference: "world_aligned", rows along the axes of the world, or "body", along those of the frame.

    >>> import helicoid as hc
    >>> task = hc.control.PositionTask("tip", target=[0.5, 0, 0.5])
    >>> robot = hc.load("planar_2r")
    >>> task.rows(robot), task.target_shape(robot)
    (3, (3,))
    """

    frame: str
    target: ArrayLike | None = None
    weight: ArrayLike = 1.0
    reference: Axes = "world_aligned"
    name: str = ""

    def __post_init__(self) -> None:
        check_axes(self.reference)
        object.__setattr__(self, "name", self.name or f"{self.frame} position")

    def check(self, robot: Robot) -> None:
        check_frames(robot, [self.frame])

    def parts(self, robot: Robot) -> tuple[tuple[str, int], ...]:
        return (("linear", 3),)

    def target_shape(self, robot: Robot) -> tuple[int, ...]:
        return (3,)

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        R, p = kinematics.frame_pose(robot.model, q, self.frame)
        return R.T @ (target - p) if self.reference == "body" else target - p

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return kinematics.jacobian(robot.model, q, self.frame, self.reference)[3:, :]

    def measure(self, robot: Robot, q: Expression) -> Expression:
        return kinematics.frame_pose(robot.model, q, self.frame)[1]
