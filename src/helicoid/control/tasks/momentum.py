"""Task of the centroidal momentum."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.control.tasks.task import Task
from helicoid.errors import InputError
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class MomentumTask(Task):
    """e = h* - A(q) v of the momentum, 6 rows, world axes: angular about the centre of mass, then linear.

    For `WholeBody`, which sets ḣ = rate + gain e.

    Args:
        target: h*, 3 numbers (N·m·s) and 3 (N·s).
        weight: of the error in ḣ, squared, a number or one for each row.

    >>> import helicoid as hc
    >>> hc.control.MomentumTask([0, 0, 0, 0, 0, 0]).rows(hc.load("quadruped", base="floating"))
    6
    """

    target: ArrayLike | None = None
    weight: ArrayLike = 1.0
    name: str = "momentum"
    of = "momentum"
    kinds, shape = (("angular", 3), ("linear", 3)), (6,)

    def check(self, robot: Robot) -> None:
        if not robot.mass > 0:
            raise InputError(f"{self.name!r}: nothing that moves has mass in {robot.name!r}")

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        raise InputError(f"{self.name!r} has no error without velocities")

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return Robot(robot.model).centroidal_momentum_matrix(q)
