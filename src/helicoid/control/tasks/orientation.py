"""How a frame is turned."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.control.tasks.task import Axes, Task, check_axes, check_frames, flat, square
from helicoid.dynamics import kinematics
from helicoid.geometry import so3
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class OrientationTask(Task):
    """e = log(R* R(q)ᵀ) of a frame (rad), 3 rows: the rotation vector of the shortest turn to the target.

    Args:
        frame: the name of a link.
        target: R*, 3 × 3.
        weight: of e², a number or one for each row.
        reference: "world_aligned", rows about the axes of the world, or "body", e = log(R(q)ᵀ R*), about
            those of the frame: `weight=[1, 1, 0]` then leaves the turn about its z axis free.

    >>> import helicoid as hc
    >>> hc.control.OrientationTask("tip").parts(hc.load("planar_2r"))
    (('angular', 3),)
    """

    frame: str
    target: ArrayLike | None = None
    weight: ArrayLike = 1.0
    reference: Axes = "world_aligned"
    name: str = ""
    target_kind = "rotation"

    def __post_init__(self) -> None:
        check_axes(self.reference)
        object.__setattr__(self, "name", self.name or f"{self.frame} orientation")

    def check(self, robot: Robot) -> None:
        check_frames(robot, [self.frame])

    def parts(self, robot: Robot) -> tuple[tuple[str, int], ...]:
        return (("angular", 3),)

    def target_shape(self, robot: Robot) -> tuple[int, ...]:
        return (3, 3)

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        R = kinematics.frame_pose(robot.model, q, self.frame)[0]
        return shortest_turn(R, square(target, 3), self.reference)

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return kinematics.jacobian(robot.model, q, self.frame, self.reference)[:3, :]

    def measure(self, robot: Robot, q: Expression) -> Expression:
        return flat(kinematics.frame_pose(robot.model, q, self.frame)[0])


def shortest_turn(R: Expression, wanted: Expression, reference: Axes = "world_aligned") -> Expression:
    """The rotation vector that turns R to R*, in world axes or in those that R turns."""
    return so3.log(R.T @ wanted if reference == "body" else wanted @ R.T)
