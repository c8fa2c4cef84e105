"""Task of a contact force."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.control.tasks.task import Task
from helicoid.errors import InputError
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class ForceTask(Task):
    """e = f* - f: force of the environment on the robot at a contact, in world axes.

    For `WholeBody`. A point has a force of 3 rows (N), a surface a wrench (n, f) of 6 (N·m, N) about its
    centre, with `size=6`. While a contact is off, the task has no effect.

    Args:
        contact: the name of the contact.
        target: f*, 3 or 6 numbers.
        weight: of e², a number or one for each row; rows are along the axes of the contact.

    >>> import helicoid as hc
    >>> hc.control.ForceTask("FL_foot", [0.0, 0.0, 30.0]).name
    'FL_foot force'
    """

    contact: str
    target: ArrayLike | None = None
    weight: ArrayLike = 1.0
    size: int = 3
    name: str = ""
    of = "force"

    def __post_init__(self) -> None:
        if self.size not in (3, 6):
            raise InputError(f"a force has size 3, a wrench 6; got {self.size!r}")
        object.__setattr__(self, "name", self.name or f"{self.contact} force")

    def check(self, robot: Robot) -> None:
        return

    def parts(self, robot: Robot) -> tuple[tuple[str, int], ...]:
        return (("force", 3),) if self.size == 3 else (("moment", 3), ("force", 3))

    def target_shape(self, robot: Robot) -> tuple[int, ...]:
        return (self.size,)

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        raise InputError(f"{self.name!r} has no error without forces")

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        raise InputError(f"{self.name!r} has no Jacobian: it is about a force")
