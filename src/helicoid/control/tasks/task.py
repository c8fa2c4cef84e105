"""Base of all tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, get_args

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.arrays import real_array
from helicoid.dynamics.tree import rate_matrix
from helicoid.errors import InputError
from helicoid.robot.robot import Robot

Axes = Literal["world_aligned", "body"]
"""Axes of the rows of a task of a frame: those of the world, or the frame's own."""


class Task(ABC):
    """A target for a robot, as an error e(q) of some rows with a weight each, and the Jacobian J(q).

    e is target minus present value, and ė = -J v for a target at rest, exactly where e = 0. Where
    rows of a rotation have one weight, Jᵀ e is the exact gradient of -½ |e|² everywhere.

    A target is an input of the expressions, as a flat column, so that it may change from call to call:
    `target_shape` is the shape that the user gives, `numbers` checks and flattens it.
    """

    name: str
    target: ArrayLike | None
    weight: ArrayLike
    target_kind: ClassVar[Literal["numbers", "rotation", "pose"]] = "numbers"
    """Kind of the target, by which it is checked: rotations and poses must be valid matrices."""
    of: ClassVar[Literal["motion", "momentum", "force", "torque"]] = "motion"
    """Quantity of the task; all but "motion" are for `WholeBody` alone."""
    shape: ClassVar[tuple[int, ...]]
    """Value of `target_shape` where it does not depend on the robot."""
    kinds: ClassVar[tuple[tuple[str, int], ...]]
    """Value of `parts` where it does not depend on the robot."""

    def target_shape(self, robot: Robot) -> tuple[int, ...]:
        """The shape of a target: (4, 4) of a pose, (3,) of a point."""
        return self.shape

    @abstractmethod
    def error(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        """e(q), a column; the target is a column of its elements row by row."""

    @abstractmethod
    def jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        """J(q), rows × nv: the step dv with J dv = e reaches the target to first order."""

    def parts(self, robot: Robot) -> tuple[tuple[str, int], ...]:
        """Kinds of the rows, in order: ("angular", 3) in rad, ("linear", 3) in m, or others by name."""
        return self.kinds

    def measure(self, robot: Robot, q: Expression) -> Expression | None:
        """Measured quantity that the target is compared with, a column; None where there is none."""
        return None

    @abstractmethod
    def check(self, robot: Robot) -> None:
        """Refuse a robot without the frames or joints of this task."""

    # Common to all tasks --------------------------------------------------------------------

    def rows(self, robot: Robot) -> int:
        """Number of rows of the error."""
        return sum(rows for _, rows in self.parts(robot))

    def target_size(self, robot: Robot) -> int:
        """Number of elements of a target."""
        return int(np.prod(self.target_shape(robot), dtype=int))

    def numbers(self, robot: Robot, target: ArrayLike | None = None) -> Array:
        """A target, or many with their axis first, as flat rows; refused where it is invalid.

        Without an argument, the task's own.
        """
        shape, given = self.target_shape(robot), self.target if target is None else target
        what = f"target of {self.name!r}"
        if given is None:
            raise InputError(f"{what}: none was given, and the task has none of its own")
        values = real_array(what, given)
        lead = values.shape[: values.ndim - len(shape)]
        if values.shape != (*lead, *shape) or len(lead) > 1:
            raise InputError(f"{what} has shape {shape}, or (N, ...) of many; got {values.shape}")
        flat = values.reshape(*lead, self.target_size(robot))
        _refuse(~np.isfinite(flat), what, "must be finite", values)
        if self.target_kind == "pose":
            check_poses(flat, what)
        elif self.target_kind == "rotation":
            check_rotations(flat, what)
        return flat

    def weights(self, robot: Robot) -> Array:
        """A weight for each row; refused where one is negative or not finite, or their number is wrong."""
        rows, what = self.rows(robot), f"weight of {self.name!r}"
        values = real_array(what, self.weight)
        if values.shape not in ((), (rows,)):
            raise InputError(f"{what} is a number, or one for each of {rows} rows; got shape {values.shape}")
        if not np.all(np.isfinite(values)) or np.any(values < 0):
            raise InputError(f"{what} must be finite and not negative; got {self.weight!r}")
        return np.array(np.broadcast_to(values, (rows,)))

    def exact_jacobian(self, robot: Robot, q: Expression, target: Expression) -> Expression:
        """-∂e/∂v, rows × nv: `jacobian` but for terms that vanish with the error."""
        return -ca.jacobian(self.error(robot, q, target), q) @ rate_matrix(robot.model, q)


def check_motion(task: Task, who: str) -> None:
    """Refuse a task of anything but motion."""
    if task.of != "motion":
        raise InputError(
            f"{task.name!r} is about {task.of}, which is for hc.control.WholeBody, not for {who}"
        )


def check_axes(reference: str) -> None:
    """Refuse unknown axes of a task."""
    if reference not in get_args(Axes):
        raise InputError(f"reference must be one of {', '.join(get_args(Axes))}; got {reference!r}")


def check_rotations(flat: Array, what: str) -> None:
    """Refuse rows of 9 numbers that are no rotations."""
    matrices = flat.reshape(*flat.shape[:-1], 3, 3)
    with np.errstate(over="ignore", invalid="ignore"):
        product = matrices @ np.swapaxes(matrices, -1, -2)
        skewed = ~(np.abs(product - np.eye(3)).max(axis=(-1, -2)) <= 1e-6)
        mirrored = np.linalg.det(matrices) < 0
    _refuse(skewed | mirrored, what, "is no rotation: RᵀR = 1 and det R = 1", matrices)


def check_poses(flat: Array, what: str) -> None:
    """Refuse rows of 16 numbers that are no poses."""
    T = flat.reshape(*flat.shape[:-1], 4, 4)
    wrong = np.any(np.abs(T[..., 3, :] - [0, 0, 0, 1]) > 1e-9, axis=-1)
    _refuse(wrong, what, "is no pose: its last row is 0 0 0 1", T)
    check_rotations(T[..., :3, :3].reshape(*flat.shape[:-1], 9), what)


def square(numbers: Expression, size: int) -> Expression:
    """The matrix of a column of its elements, row by row."""
    return ca.reshape(numbers, size, size).T


def flat(*parts: Expression) -> Expression:
    """The elements of matrices, row by row, one below the other."""
    return ca.vertcat(*(ca.vec(part.T) for part in parts))


def check_frames(robot: Robot, frames: Sequence[str]) -> None:
    """Refuse frames that the robot does not have."""
    for frame in frames:
        robot.model.frame(frame)


def _refuse(wrong: Array | np.bool_, what: str, why: str, values: Array) -> None:
    if not np.any(wrong):
        return
    bad = np.atleast_1d(wrong)
    if np.ndim(wrong) and len(bad) == len(values) and values.ndim > 2:
        what += f", number {int(np.argmax(bad.reshape(len(bad), -1).any(axis=1)))} of {len(values)},"
        values = values[int(np.argmax(bad.reshape(len(bad), -1).any(axis=1)))]
    raise InputError(
        f"{what} {why}; got {np.array2string(values, precision=6, separator=', ', threshold=16)}"
    )
