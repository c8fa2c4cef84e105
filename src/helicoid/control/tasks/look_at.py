"""Task of the direction in which an axis of a frame points."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.control.tasks.task import Task, check_frames
from helicoid.dynamics.kinematics import frames
from helicoid.errors import InputError
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class LookAtTask(Task):
    """An axis of a frame points to a point of the world: e = u - a, 3 rows of which two are independent.

    a = R(q) `axis` is the line of sight and u = (p* - p(q)) / |p* - p(q)| the direction of the target:
    |e| = 2 sin(θ/2) of the angle θ between them. The rotation about the axis is free.

    Args:
        frame: the name of a link: a camera.
        target: the point p* in the world, 3 numbers (m).
        weight: of e².
        axis: the direction of sight in the frame, by default its z axis.

    >>> import helicoid as hc
    >>> hc.control.LookAtTask("panda_link8", target=[0.6, 0.0, 0.0]).parts(hc.load("panda"))
    (('direction', 3),)
    """

    frame: str
    target: ArrayLike | None = None
    weight: float = 1.0
    axis: ArrayLike = (0.0, 0.0, 1.0)
    name: str = ""
    kinds, shape = (("direction", 3),), (3,)

    def __post_init__(self) -> None:
        axis = np.asarray(self.axis, dtype=np.float64)
        if axis.shape != (3,) or not np.all(np.isfinite(axis)) or not np.any(axis):
            raise InputError(
                f"look at: axis is a direction, 3 numbers that are not all zero; got {self.axis!r}"
            )
        object.__setattr__(self, "axis", tuple(axis / np.linalg.norm(axis)))
        object.__setattr__(self, "name", self.name or f"{self.frame} looks at")

    def check(self, robot: Robot) -> None:
        check_frames(robot, [self.frame])

    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        a, u, _ = self._sight(robot, q, target)
        return u - a

    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        a, u, distance = self._sight(robot, q, target)
        J = frames.jacobian(robot.model, q, self.frame, "world_aligned")
        # -u̇ = (1 - u uᵀ) ṗ / |p* - p| and ȧ = ω × a
        across = (ca.SX.eye(3) - u @ u.T) / distance
        return across @ J[3:, :] - ca.skew(a) @ J[:3, :]

    def _sight(self, robot: Robot, q: Expression, target: Expression) -> tuple[Expression, ...]:
        R, p = frames.frame_pose(robot.model, q, self.frame)
        away = target - p
        # The direction to a point at the frame's own origin is undefined: u = 0 there keeps the error finite.
        distance = ca.sqrt(ca.sumsqr(away) + 1e-24)
        return R @ ca.SX(np.asarray(self.axis)), away / distance, distance
