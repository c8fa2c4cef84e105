"""Tasks in levels of priority, and checks that all programs share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, get_args

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler import distinct_identifiers
from helicoid.control.program.numbers import Check
from helicoid.control.tasks import Task
from helicoid.control.tasks.task import check_motion
from helicoid.dynamics.tree import rate_matrix
from helicoid.errors import InputError
from helicoid.robot.robot import Robot

Priorities = Literal["weighted", "strict"]
Levels = tuple[tuple[Task, ...], ...]


@dataclass(frozen=True)
class TaskProgram:
    """Quadratic program of tasks in levels of priority; base of those of a step."""

    robot: Robot
    levels: Levels
    strict: bool
    reserved: ClassVar[tuple[str, ...]]
    """Names of numbers, which no task may have."""

    @cached_property
    def tasks(self) -> list[Task]:
        """All tasks, the most important first."""
        return [task for level in self.levels for task in level]

    @cached_property
    def names(self) -> list[str]:
        """Names of the tasks as identifiers."""
        return distinct_identifiers([task.name for task in self.tasks], linked=False, taken=self.reserved)


def is_strict(priorities: Priorities) -> bool:
    """Whether levels take nothing from the ones before; refused where it is neither of the two."""
    if priorities not in get_args(Priorities):
        raise InputError(f"priorities is 'weighted' or 'strict'; got {priorities!r}")
    return priorities == "strict"


def levels_of(
    robot: Robot, tasks: Task | Sequence[Task | Sequence[Task]], who: str = "DifferentialIK"
) -> Levels:
    """Tasks as given by a user, in levels; refused where they are none."""
    given = list(tasks) if isinstance(tasks, Iterable) else [tasks]
    levels = tuple(tuple(level) if isinstance(level, (list, tuple)) else (level,) for level in given)
    flat = [task for level in levels for task in level]
    for task in flat:
        if not isinstance(task, Task):
            raise InputError(
                f"tasks are such as hc.control.PoseTask('tool0'), or lists of them; got {task!r}"
            )
        if who == "DifferentialIK":
            check_motion(task, who)
        task.check(robot)
    if not flat or () in levels:
        raise InputError(f"{who} needs a task")
    if len({id(task) for task in flat}) < len(flat):
        raise InputError("a task is listed twice")
    return levels


def bounded_coordinates(robot: Robot) -> tuple[list[tuple[int, int]], list[int]]:
    """Coordinates that a velocity is the rate of, (in q, in v), and limited ones that none is."""
    q = ca.SX.sym("q", robot.nq)
    N = rate_matrix(robot.model, q)
    limits = robot.limits
    pairs, others = [], []
    for k in range(robot.nq):
        row = ca.sparsify(N[k, :])
        columns = row.sparsity().get_triplet()[1]
        if len(columns) == 1 and row.is_constant() and float(row[columns[0]]) == 1.0:
            pairs.append((k, columns[0]))
        elif np.isfinite(limits.lower[k]) or np.isfinite(limits.upper[k]):
            others.append(k)
    return pairs, others


def target_check(robot: Robot, task: Task) -> Check:
    """A check for targets; none, as long as there is none, is NaN: then the robot does not move."""

    def check(_: str, value: ArrayLike | None) -> Array:
        return np.full(task.target_size(robot), np.nan) if value is None else task.numbers(robot, value)

    return check
