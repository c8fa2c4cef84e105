"""Compiled step of a controller that solves a quadratic program: numbers, memory and status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import real_array, shown
from helicoid.compiler import CHeader, compile_kernel
from helicoid.control.program.numbers import Numbers
from helicoid.control.qp.program import RUNTIME as QP_RUNTIME
from helicoid.control.qp.program import needs_compiler, statuses
from helicoid.control.tasks import Task
from helicoid.dynamics.kinematics.configuration import unit
from helicoid.errors import InputError
from helicoid.robot.robot import Robot
from helicoid.status import Status

STATUSES = statuses("configuration.h", "STEP")
"""Results of a step; the last two, not started and no target, are of Python alone."""


class CompiledStep:
    """Compiled step of a `ProgramController`.

    Args:
        robot: that is controlled.
        numbers: that `set` changes between steps.
        tasks: whose errors the memory has, with their names as identifiers.
        source: the runtime, such as `.../runtime/differential.c`. Its header lists the fields of its memory,
            with "errors", and "info", which begins with the code of the last step and its iterations.
        sizes: its constants, beside those of configuration.h.
        data: the function from measurements, q first, and numbers to the program of a step.
    """

    def __init__(
        self,
        robot: Robot,
        numbers: Numbers,
        tasks: Iterable[tuple[str, Task]],
        source: Path,
        sizes: Mapping[str, Any],
        data: ca.Function,
    ) -> None:
        data = _of_unit_quaternions(robot, data)
        self.numbers, self.data = numbers, data
        self.p = numbers.values
        memory = CHeader(source.with_suffix(".h")).sizes("MEMORY_FIELDS", sizes)
        ends = np.cumsum([0, *memory.values()]).tolist()
        self.at = {name: slice(a, b) for name, a, b in zip(memory, ends[:-1], ends[1:], strict=True)}
        self.memory = np.zeros(ends[-1])
        self._errors, start = [], self.at["errors"].start
        for name, task in tasks:
            stop = start + task.rows(robot)
            self._errors.append((name, task.name, slice(start, stop)))
            start = stop
        self.runtimes = (source.parent, QP_RUNTIME)
        turning = "".join(f"{part.start}, " for part in robot.model.quaternions)
        known = {"NQ": robot.nq, "QUATERNIONS": f"{{{turning}-1}}", **sizes}
        self.definitions = "".join(f"#define {name} {value}\n" for name, value in known.items())
        text = f'{self.definitions}#include "{source.name}"\n'
        inputs = [(data.size1_in(k),) for k in range(data.n_in())]
        outputs = [(robot.nv,), self.memory.shape]
        with needs_compiler():
            kernel = compile_kernel("the controller", text, self.runtimes, inputs, outputs, {"data": data})
        self.evaluate: Any = kernel.evaluate
        self.begin()

    def begin(self) -> None:
        """Clear all that earlier steps left behind."""
        self.memory[:] = 0
        self.memory[self.at["info"].start] = STATUSES.index(Status.NOT_STARTED)

    @property
    def status(self) -> Status:
        """Result of the last step."""
        status = STATUSES[int(self.memory[self.at["info"].start])]
        return Status.NO_TARGET if status is Status.NOT_FINITE and np.isnan(self.p).any() else status

    @property
    def ok(self) -> bool:
        """Whether the last step was solved."""
        return int(self.memory[self.at["info"].start]) == 0

    @property
    def iterations(self) -> int:
        """Active-set iterations of the last step."""
        return int(self.memory[self.at["info"].start + 1])

    def missing(self) -> list[str]:
        """The names of numbers that were not set."""
        return [name for name in self.numbers.names if np.isnan(self.p[self.numbers[name].at]).any()]

    def error(self, task: str | Task) -> Array:
        """Error of a task of motion or momentum at the last step; zeros before the first."""
        name = task if isinstance(task, str) else task.name
        for own, other, at in self._errors:
            if name in (own, other):
                return self.memory[at].copy()
        known = ", ".join(own for own, _, _ in self._errors)
        raise InputError(f"there is no task of motion {name!r}; there are {known or 'none'}")

    def set(self, changes: Mapping[str, ArrayLike]) -> None:
        """Change numbers, all or, where one is refused, none; the ends of ranges stay in order."""
        ends = []
        for name in ("position_lower", "position_upper"):
            entry = self.numbers[name]
            ends.append(entry.check(name, changes.get(name, self.p[entry.at])))
        if np.any(ends[0] > ends[1]):
            raise InputError("position_lower must not exceed position_upper")
        self.numbers.set(changes)

    def as_vector(self, name: str, given: ArrayLike, size: int) -> Array:
        """A measurement as the step reads it: an invalid one is refused at the first step, and NaN later.

        Raises:
            InputError: it is no vector of this size, and there was no step yet.
        """
        try:
            vector = real_array(name, given)
            if vector.shape == (size,):
                return vector
            got = f"shape {vector.shape}"
        except InputError:
            got = shown(given)
        if self.status is Status.NOT_STARTED:
            raise InputError(f"{name} must be numbers of shape {(size,)}; got {got}")
        return np.full(size, np.nan)


def qp_work(n: int, m: int) -> int:
    """QP_WORK of qp/runtime/qp.h."""
    padded = -(-n // 4) * 4
    return (3 * padded + 10) * padded + m + 8


def _of_unit_quaternions(robot: Robot, data: ca.Function) -> ca.Function:
    """The same function, whatever rounding leaves of the length of quaternions in q."""
    if robot.nq == robot.nv:
        return data
    q, *others = (ca.SX.sym(data.name_in(k), data.size1_in(k)) for k in range(data.n_in()))
    return ca.Function(data.name(), [q, *others], data.call([unit(robot.model, q), *others]))
