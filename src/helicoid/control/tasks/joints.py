"""Tasks of joint positions and of joint torques."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.control.tasks.task import Task
from helicoid.dynamics.kinematics import configuration
from helicoid.errors import InputError
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class JointTask(Task):
    """Base of tasks with a row for each velocity of the named joints."""

    target: ArrayLike | None = None
    weight: ArrayLike = 1.0
    joints: Iterable[str] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.joints is not None:
            names = (self.joints,) if isinstance(self.joints, str) else tuple(self.joints)
            object.__setattr__(self, "joints", names)

    def check(self, robot: Robot) -> None:
        if not self.velocities(robot):
            raise InputError(f"{self.name!r}: no joint of {robot.name!r} is selected")

    @abstractmethod
    def velocities(self, robot: Robot) -> list[int]:
        """Indices of the velocities of the rows."""

    def parts(self, robot: Robot) -> tuple[tuple[str, int], ...]:
        return (("joints", len(self.velocities(robot))),)


@dataclass(frozen=True, eq=False, repr=False)
class PostureTask(JointTask):
    """e = q* ⊖ q, the difference to a posture in the tangent space (rad, m), a row for each joint velocity.

    Args:
        target: q*, nq numbers, of which only those of `joints` count.
        weight: of e², a number or one for each row.
        joints: names of the joints of the task; by default all but a floating base.

    >>> import helicoid as hc
    >>> robot = hc.load("panda")
    >>> hc.control.PostureTask(robot.neutral(), weight=1e-3).rows(robot)
    7
    """

    name: str = "posture"

    def _names(self, robot: Robot) -> list[str]:
        floating = {robot.model.independent_joints[0].name} if robot.model.floating else set()
        names = [name for name in robot.joint_names if name not in floating]
        return names if self.joints is None else list(self.joints)

    def velocities(self, robot: Robot) -> list[int]:
        """Indices of the velocities of the rows."""
        return [k for name in self._names(robot) for k in range(robot.nv)[robot.index(name)[1]]]

    def target_shape(self, robot: Robot) -> tuple[int, ...]:
        return (robot.nq,)

    def numbers(self, robot: Robot, target: ArrayLike | None = None) -> Array:
        values = super().numbers(robot, target)
        selected = {k for name in self._names(robot) for k in range(robot.nq)[robot.index(name)[0]]}
        for place in robot.model.quaternions:
            with np.errstate(over="ignore"):
                length = np.linalg.norm(values[..., place], axis=-1)
            if place.start in selected and np.any(np.abs(length - 1) > 1e-3):
                raise InputError(f"target of {self.name!r}: a quaternion is {length} long; divide it by that")
        return values

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return configuration.difference(robot.model, q, target)[self.velocities(robot)]

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        return ca.SX(np.eye(robot.nv)[self.velocities(robot)])


@dataclass(frozen=True, eq=False, repr=False)
class TorqueTask(JointTask):
    """e = τ* - τ of the actuators (N·m, N), a row for each: with τ* = 0, minimum effort.

    For `WholeBody`.

    Args:
        target: τ*, nv numbers, of which only those of `joints` count.
        weight: of e², a number or one for each row.
        joints: names of the joints of the task; by default all that an actuator drives.

    >>> import helicoid as hc
    >>> hc.control.TorqueTask(weight=1e-4).rows(hc.load("quadruped", base="floating"))
    12
    """

    target: ArrayLike | None = 0.0
    name: str = "torque"
    of = "torque"

    def check(self, robot: Robot) -> None:
        super().check(robot)
        names, driven = robot.model.velocity_names, robot.actuated
        if idle := [names[k] for k in self.velocities(robot) if k not in driven]:
            raise InputError(f"{self.name!r}: no actuator drives {', '.join(idle)}")

    def velocities(self, robot: Robot) -> list[int]:
        """Indices of the velocities of the rows."""
        if self.joints is None:
            return list(robot.actuated)
        return [k for name in self.joints for k in range(robot.nv)[robot.index(name)[1]]]

    def target_shape(self, robot: Robot) -> tuple[int, ...]:
        return (robot.nv,)

    def numbers(self, robot: Robot, target: ArrayLike | None = None) -> Array:
        given = self.target if target is None else target
        return super().numbers(robot, np.full(robot.nv, given) if np.ndim(given) == 0 else given)  # type: ignore[arg-type]

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        raise InputError(f"{self.name!r} has no error without torques")

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        raise InputError(f"{self.name!r} has no Jacobian: it is about torques")
