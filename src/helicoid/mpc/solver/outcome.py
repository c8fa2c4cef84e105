"""Result of a solver: how it ended, and with which trajectory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from helicoid._typing import Array


class SolverStatus(IntEnum):
    """Return value of the solver, by the names and numbers of its C header."""

    SOLVED = 0
    ITERATION_LIMIT = 1
    INFEASIBLE = 2
    NOT_FINITE = 3
    NO_PROGRESS = 4
    TIME_LIMIT = 5

    @property
    def text(self) -> str:
        """The message for users."""
        return _TEXTS[self]


_TEXTS = {
    SolverStatus.SOLVED: "solved",
    SolverStatus.ITERATION_LIMIT: "stopped after the allowed iterations",
    SolverStatus.INFEASIBLE: "infeasible: some constraints cannot be met together",
    SolverStatus.NOT_FINITE: "failed: the model gave numbers that are not finite",
    SolverStatus.NO_PROGRESS: "stopped: no step improves the plan",
    SolverStatus.TIME_LIMIT: "stopped after the allowed time",
}


@dataclass(frozen=True, eq=False)
class SolverResult:
    """States x (nodes, ...) and controls u (nodes - 1, ...) that a solver found, and how it ended."""

    x: Array
    u: Array
    message: str
    success: bool
    iterations: int
