"""Task of the position of the centre of mass."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.control.tasks.task import Task
from helicoid.errors import InputError
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class CenterOfMassTask(Task):
    """e = c* - c(q), the position of the centre of mass in the world (m), 3 rows.

    Args:
        target: c*, 3 numbers (m).
        weight: of e², a number or one for each row: `[1, 1, 0]` leaves the height free.

    >>> import helicoid as hc
    >>> hc.control.CenterOfMassTask(target=[0, 0, 0.5], weight=[1, 1, 0]).rows(hc.load("planar_2r"))
    3
    """

    target: ArrayLike | None = None
    weight: ArrayLike = 1.0
    name: str = "center of mass"
    kinds, shape = (("linear", 3),), (3,)

    def check(self, robot: Robot) -> None:
        if not robot.mass > 0:
            raise InputError(f"{self.name!r}: nothing that moves has mass in {robot.name!r}")

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return target - self.measure(robot, q)

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return Robot(robot.model).com_jacobian(q)

    def measure(self, robot: Robot, q: Expression) -> Expression:
        # Of a parametric robot, at its nominal masses: tasks are kinematics.
        return Robot(robot.model).center_of_mass(q)
