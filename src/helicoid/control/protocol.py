"""The protocol of controllers and observers in a control loop."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.status import Status


@runtime_checkable
class ControllerProtocol(Protocol):
    """Interface of laws, differential kinematics, whole-body control, MPC, walkers, autopilots and observers.

    A step is called once every `period` with what is measured. It never raises once the loop has begun, never
    returns NaN, keeps the limits of the robot, and says in `ok`, `status` and `message` what is so.
    `hc.simulate(robot, controller=...)` and `hc.study.closed_loop` take whatever has this interface.
    """

    @property
    def period(self) -> float | None:
        """Time between two steps (s); None where any will do."""

    @property
    def ok(self) -> bool:
        """Whether the last step did what was asked, within all limits."""

    @property
    def status(self) -> Status:
        """Result of the last step."""

    @property
    def message(self) -> str:
        """Reason why the last step failed, in words; empty where `ok`."""

    def step(self, q: ArrayLike, v: ArrayLike, *arguments: Any, **references: Any) -> Array:
        """Command for a measured state q (nq), v (nv), to be held for one period."""

    def set(self, **numbers: ArrayLike) -> None:
        """Change numbers by name: all that are given, or none if one is refused."""

    def reset(self) -> None:
        """Clear what earlier steps left behind; numbers stay as they are."""

    def following(self, reference: Any) -> ControllerProtocol:
        """The same controller with a reference over time, for loops that call `step(q, v)`."""

    def export_c(self, folder: str | os.PathLike[str], name: str | None = None) -> list[Path]:
        """Write the controller as C99 with a program that checks it; the files written."""
