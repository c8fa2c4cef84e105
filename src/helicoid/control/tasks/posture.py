"""Task of joint positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.control.tasks.task import Task
from helicoid.dynamics import configuration
from helicoid.errors import InputError
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class PostureTask(Task):
    """e = q* ⊖ q, the way to a posture in the tangent space (rad, m), a row for each velocity of the joints.

    Args:
        target: q*, nq numbers, of which only those of `joints` count.
        weight: of e², a number or one for each row.
        joints: the names of those that it is about; by default all but a floating base.

    >>> import helicoid as hc
    >>> robot = hc.load("panda")
    >>> hc.control.PostureTask(robot.neutral(), weight=1e-3).rows(robot)
    7
    """

    target: ArrayLike | None = None
    weight: ArrayLike = 1.0
    joints: Iterable[str] | None = None
    name: str = "posture"

    def __post_init__(self) -> None:
        if self.joints is not None:
            names = (self.joints,) if isinstance(self.joints, str) else tuple(self.joints)
            object.__setattr__(self, "joints", names)

    def check(self, robot: Robot) -> None:
        if not self.velocities(robot):
            raise InputError(f"{self.name!r}: no joint of {robot.name!r} is meant")

    def _meant(self, robot: Robot) -> list[str]:
        floating = {robot.model.independent_joints[0].name} if robot.model.floating else set()
        names = [name for name in robot.joint_names if name not in floating]
        return names if self.joints is None else list(self.joints)

    def velocities(self, robot: Robot) -> list[int]:
        """The velocities that the rows are about, as indices."""
        return [k for name in self._meant(robot) for k in range(robot.nv)[robot.index(name)[1]]]

    def parts(self, robot: Robot) -> tuple[tuple[str, int], ...]:
        return (("joints", len(self.velocities(robot))),)

    def target_shape(self, robot: Robot) -> tuple[int, ...]:
        return (robot.nq,)

    def numbers(self, robot: Robot, target: ArrayLike | None = None) -> Array:
        values = super().numbers(robot, target)
        meant = {k for name in self._meant(robot) for k in range(robot.nq)[robot.index(name)[0]]}
        for place in robot.model.quaternions:
            length = np.linalg.norm(values[..., place], axis=-1)
            if place.start in meant and np.any(np.abs(length - 1) > 1e-3):
                raise InputError(f"target of {self.name!r}: a quaternion is {length} long; divide it by that")
        return values

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return configuration.difference(robot.model, q, target)[self.velocities(robot)]

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return ca.SX(np.eye(robot.nv)[self.velocities(robot)])
