"""Task of joint torques."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.control.tasks.task import Task
from helicoid.errors import InputError
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class TorqueTask(Task):
    """e = τ* - τ of the actuators (N·m, N), a row for each: with τ* = 0, little effort.

    For `WholeBody`.

    Args:
        target: τ*, nv numbers, of which only those of `joints` count.
        weight: of e², a number or one for each row.
        joints: the names of those that it is about; by default all that an actuator drives.

    >>> import helicoid as hc
    >>> hc.control.TorqueTask(weight=1e-4).rows(hc.load("quadruped", base="floating"))
    12
    """

    target: ArrayLike | None = 0.0
    weight: ArrayLike = 1.0
    joints: Iterable[str] | None = None
    name: str = "torque"
    of = "torque"

    def __post_init__(self) -> None:
        if self.joints is not None:
            names = (self.joints,) if isinstance(self.joints, str) else tuple(self.joints)
            object.__setattr__(self, "joints", names)

    def check(self, robot: Robot) -> None:
        driven = self.velocities(robot)
        if idle := [robot.model.velocity_names[k] for k in driven if k not in robot.actuated]:
            raise InputError(f"{self.name!r}: no actuator drives {', '.join(idle)}")
        if not driven:
            raise InputError(f"{self.name!r}: no joint of {robot.name!r} is meant")

    def velocities(self, robot: Robot) -> list[int]:
        """The velocities that the rows are about, as indices."""
        if self.joints is None:
            return list(robot.actuated)
        return [k for name in self.joints for k in range(robot.nv)[robot.index(name)[1]]]

    def parts(self, robot: Robot) -> tuple[tuple[str, int], ...]:
        return (("joints", len(self.velocities(robot))),)

    def target_shape(self, robot: Robot) -> tuple[int, ...]:
        return (robot.nv,)

    def numbers(self, robot: Robot, target: ArrayLike | None = None) -> Array:
        given = self.target if target is None else target
        return super().numbers(robot, np.full(robot.nv, given) if np.ndim(given) == 0 else given)  # type: ignore[arg-type]

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        raise InputError(f"{self.name!r} has no error without torques")

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        raise InputError(f"{self.name!r} has no Jacobian: it is about torques")
