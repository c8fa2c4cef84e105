"""Conversion of users' targets to numbers, and messages for invalid ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.arrays import real_array
from helicoid.control.ik.problem import IKProblem
from helicoid.control.tasks import Task
from helicoid.errors import InputError
from helicoid.geometry import so3


def numbers(problem: IKProblem, target: Any) -> tuple[Array, bool]:
    """Targets of all tasks, (n, numbers), checked; and whether they are of many, with their axis first."""
    given = _by_name(problem, target)
    parts = [task.numbers(problem.robot, given.get(task.name)) for task in problem.tasks]
    counts = {len(part) for part in parts if part.ndim == 2}
    if len(counts) > 1:
        raise InputError(f"targets of several tasks must be as many for each; got {sorted(counts)}")
    n = counts.pop() if counts else 1
    rows = [np.broadcast_to(part, (n, part.shape[-1])) for part in parts]
    return np.ascontiguousarray(np.concatenate(rows, axis=1)), any(part.ndim == 2 for part in parts)


def _by_name(problem: IKProblem, target: Any) -> Mapping[str, Any]:
    """Targets by the names of their tasks."""
    names = [task.name for task in problem.tasks]
    if isinstance(target, Mapping):
        for name in target:
            if name not in names:
                raise InputError(f"no task is called {name!r}; there are: {', '.join(map(repr, names))}")
        return target
    if target is None:
        return {}
    return {open_task(problem).name: target}


def open_task(problem: IKProblem) -> Task:
    """The one task that a target without a name is for."""
    waiting = [task for task in problem.tasks if task.target is None]
    if len(problem.tasks) == 1:
        return problem.tasks[0]
    if len(waiting) == 1:
        return waiting[0]
    names = ", ".join(repr(task.name) for task in problem.tasks)
    raise InputError(f"several tasks take a target: give them by name, as a dict with any of {names}")


def starts(problem: IKProblem, q0: Any, n: int) -> Array:
    """Configurations to start from, (n, nq), on the manifold and, where joints are held, there."""
    robot = problem.robot
    values = real_array("q0", q0)
    if values.shape not in ((robot.nq,), (n, robot.nq)):
        raise InputError(
            f"q0 has shape ({robot.nq},), or ({n}, {robot.nq}) for {n} targets; got {values.shape}"
        )
    if not np.all(np.isfinite(values)):
        raise InputError("q0 must be finite")
    found = np.array(np.broadcast_to(values, (n, robot.nq)), order="C")  # rows as the loop in C reads them
    found[:, list(problem.held)] = list(problem.held.values())
    for joint in robot.model.independent_joints:
        if joint.type.nq != joint.type.nv:
            place = robot.index(joint.name)[0]
            found[:, place] = [joint.type.nearest(row) for row in found[:, place]]
    return np.ascontiguousarray(np.clip(found, *problem.bounds))


def between(problem: IKProblem, a: Array, b: Array, share: float) -> Array:
    """Targets on the way from a to b: rotations by the shortest turn, all else straight."""
    result, at = (1 - share) * a + share * b, 0
    for task, size in zip(problem.tasks, problem.sizes, strict=True):
        if task.target_kind != "numbers":
            n = 4 if task.target_kind == "pose" else 3
            R_a, R_b = (x[at : at + size].reshape(n, n)[:3, :3] for x in (a, b))
            turned = R_a @ so3.exp(share * np.asarray(so3.log(R_a.T @ R_b)))
            result[at : at + size].reshape(n, n)[:3, :3] = turned
        at += size
    return result
