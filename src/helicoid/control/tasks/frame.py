"""Tasks of the pose, the position and the orientation of a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.control.tasks.task import Axes, Task, check_axes, check_frames, flat, square
from helicoid.dynamics.kinematics import frames
from helicoid.geometry import so3
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class FrameTask(Task):
    """Base of tasks of a frame, whose rows are along the axes of the world or those of the frame."""

    frame: str
    target: ArrayLike | None = None
    weight: ArrayLike = 1.0
    reference: Axes = "world_aligned"
    name: str = ""
    quantity: ClassVar[str]
    """Quantity of the frame, the second word of the default name."""

    def __post_init__(self) -> None:
        check_axes(self.reference)
        object.__setattr__(self, "name", self.name or f"{self.frame} {self.quantity}")

    def check(self, robot: Robot) -> None:
        check_frames(robot, [self.frame])

    def _pose(self, robot: Robot, q: Expression) -> tuple[Expression, Expression]:
        return frames.frame_pose(robot.model, q, self.frame)

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return frames.jacobian(robot.model, q, self.frame, self.reference)


class PoseTask(FrameTask):
    """e = (log(R* R(q)ᵀ), p* - p(q)) of a frame (rad, m), 6 rows, in world axes or those of the frame.

    Args:
        frame: the name of a link.
        target: the pose T* of the frame in the world, 4 × 4.
        weight: of e², a number or one for each row, angular first.
        reference: "world_aligned", or "body" for rows along the axes of the frame: with a weight
            `[1, 1, 0, 1, 1, 1]` the rotation about its z axis is then free.

    >>> import helicoid as hc
    >>> robot = hc.load("panda")
    >>> task = hc.control.PoseTask("panda_link8", target=robot.pose("panda_link8")(robot.neutral()))
    >>> task.rows(robot), task.name
    (6, 'panda_link8 pose')
    """

    quantity, target_kind = "pose", "pose"
    kinds, shape = (("angular", 3), ("linear", 3)), (4, 4)

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        R, p = self._pose(robot, q)
        desired = square(target, 4)
        e = desired[:3, 3] - p
        rotation = rotation_error(R, desired[:3, :3], self.reference)
        return ca.vertcat(rotation, R.T @ e if self.reference == "body" else e)

    def measure(self, robot: Robot, q: Expression) -> Expression:
        return ca.vec(frames.pose(robot.model, q, self.frame).T)


class PositionTask(FrameTask):
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

    quantity, kinds, shape = "position", (("linear", 3),), (3,)

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        R, p = self._pose(robot, q)
        return R.T @ (target - p) if self.reference == "body" else target - p

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return super().jacobian(robot, q, target)[3:, :]

    def measure(self, robot: Robot, q: Expression) -> Expression:
        return self._pose(robot, q)[1]


class OrientationTask(FrameTask):
    """e = log(R* R(q)ᵀ) of a frame (rad), 3 rows: the rotation vector of the shortest rotation to the target.

    Args:
        frame: the name of a link.
        target: R*, 3 × 3.
        weight: of e², a number or one for each row.
        reference: "world_aligned", rows about the axes of the world, or "body", e = log(R(q)ᵀ R*), about
            those of the frame: `weight=[1, 1, 0]` then leaves the rotation about its z axis free.

    >>> import helicoid as hc
    >>> hc.control.OrientationTask("tip").parts(hc.load("planar_2r"))
    (('angular', 3),)
    """

    quantity, target_kind = "orientation", "rotation"
    kinds, shape = (("angular", 3),), (3, 3)

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return rotation_error(self._pose(robot, q)[0], square(target, 3), self.reference)

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return super().jacobian(robot, q, target)[:3, :]

    def measure(self, robot: Robot, q: Expression) -> Expression:
        return flat(self._pose(robot, q)[0])


def rotation_error(R: Expression, desired: Expression, reference: Axes = "world_aligned") -> Expression:
    """Rotation vector from R to R*, in world axes or in those of R."""
    return so3.log(R.T @ desired if reference == "body" else desired @ R.T)
