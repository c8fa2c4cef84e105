"""Base of the controllers that solve a quadratic program in compiled C at every step."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.control.following import Following, posture_reference
from helicoid.control.program.library import Library, export_c
from helicoid.control.program.loop import CompiledStep
from helicoid.control.tasks import PostureTask, Task
from helicoid.deprecation import former_attribute
from helicoid.robot.robot import Robot
from helicoid.status import Status


class ProgramController(ABC):
    """Interface that `DifferentialIK` and `WholeBody` share; `step` and the quadratic program are their own.

    Args:
        robot: that it controls.
        formulation: tasks, limits and expressions of the program, with `tasks` and their `names`.
        loop: the compiled step.
        arguments, options: of the constructor, by which pickle makes the controller again.
    """

    command: ClassVar[str]
    """Quantity that `step` returns: "tau", joint torques, or "v", joint velocities."""
    measures: ClassVar[str] = "q v"
    """Measured quantities that `step` takes."""
    _decaying: ClassVar[str]
    _library_name: ClassVar[str]

    def __init__(
        self,
        robot: Robot,
        formulation: Any,
        loop: CompiledStep,
        arguments: Sequence[Any],
        options: Mapping[str, Any],
    ) -> None:
        self.robot, self.formulation, self.numbers = robot, formulation, loop.numbers
        self._loop, self._arguments = loop, (tuple(arguments), dict(options))
        self._evaluate, self._p, self._memory = loop.evaluate, loop.p, loop.memory

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), *self._arguments, self._p, self._memory)

    @abstractmethod
    def step(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Command for a measured state."""

    @abstractmethod
    def _contradiction(self) -> str:
        """The limits that contradict each other, in words."""

    @abstractmethod
    def _library(self) -> Library:
        """Description of the exported library."""

    # In the loop --------------------------------------------------------------------------------------

    @property
    def period(self) -> float:
        """Time between steps (s)."""
        return float(self._p[self.numbers["dt"].at.start])

    @property
    def ok(self) -> bool:
        """Whether the last command is the optimum within all limits."""
        return self._loop.ok

    @property
    def status(self) -> Status:
        """Result of the last step."""
        return self._loop.status

    @property
    def message(self) -> str:
        """Reason why the last step failed, in words; empty where `ok`."""
        status = self.status
        if status is Status.OK:
            return ""
        if status is Status.INFEASIBLE:
            return f"limits contradict each other; {self._contradiction()}"
        if status is Status.NO_PROGRESS:
            return "joints move, but the errors of the tasks no longer fall: a target is out of reach"
        if status is Status.NO_CONTACT:
            return "no contact supports the floating base: it falls, whatever the motors do"
        if status is Status.NO_TARGET:
            return f"no target was set for {', '.join(self._loop.missing())}"
        if status is Status.NOT_STARTED:
            return "there was no step yet"
        return f"{status}: the last valid {self._decaying} decays"

    details = former_attribute("details", "message")

    @property
    def iterations(self) -> int:
        """Active-set iterations of the last step."""
        return self._loop.iterations

    def error(self, task: str | Task) -> Array:
        """Error e(q) of a task at the last step; zeros before the first."""
        return self._loop.error(task)

    def reset(self) -> None:
        """Clear what earlier steps left behind; numbers stay as they are."""
        self._loop.begin()

    # References over time -----------------------------------------------------------------------------

    def following(self, reference: Any = None, **references: Any) -> Following:
        """The controller with targets over time; see `hc.control.Following` for what they may be."""
        return Following(self, reference, **references)

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the tasks, by which `set` takes their targets."""
        return tuple(self.formulation.names)

    @property
    def postures(self) -> tuple[str, ...]:
        """Names of the tasks whose target is a configuration."""
        return tuple(self._posture_tasks)

    @property
    def _posture_tasks(self) -> dict[str, PostureTask]:
        named = zip(self.formulation.names, self.formulation.tasks, strict=True)
        return {name: task for name, task in named if isinstance(task, PostureTask)}

    def motion_reference(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        """Targets over time by name for samples of a joint motion."""
        rows = [k for task in self._posture_tasks.values() for k in task.velocities(self.robot)]
        reference = posture_reference(self, q, v[:, rows], a[:, rows])
        return {name: x for name, x in reference.items() if name in self.numbers.names}

    # As C ---------------------------------------------------------------------------------------------

    def export_c(self, folder: str | os.PathLike[str], name: str | None = None) -> list[Path]:
        """Write this controller as a library in C99, with a program that checks it and a CMakeLists.txt.

        It needs math.h, allocates nothing and begins with the present numbers; `numbers` of its struct
        change them, at places that the header names.

        Returns:
            The files written.

        Raises:
            HelicoidError: the folder cannot be written to, or has files of these names that no export wrote.
        """
        return export_c(
            self._library(), self._loop, self.robot, self.step, folder, name or self._library_name
        )


def _restored(
    kind: Any, arguments: Sequence[Any], options: Mapping[str, Any], p: Array, memory: Array
) -> Any:
    """Restore a controller from its pickle; its compiled code is in the cache."""
    made = kind(*arguments, **options)
    made._loop.p[:], made._loop.memory[:] = p, memory
    return made
