"""How a solver ended, and with what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from helicoid._typing import Array

StepStatus = Literal[
    "not started",
    "solved",
    "unfinished",
    "infeasible",
    "no progress",
    "out of time",
    "not finite",
    "bad measurement",
]
"""How a step of a controller went, see `Controller`."""


class Status(IntEnum):
    """What the solver returns, by the names and numbers of its C header."""

    SOLVED = 0
    OUT_OF_ITERATIONS = 1
    INFEASIBLE = 2
    BROKEN = 3
    STUCK = 4
    OUT_OF_TIME = 5

    @property
    def text(self) -> str:
        """What to tell a user."""
        return _TEXTS[self]

    @property
    def word(self) -> StepStatus:
        """The status of a controller's step that ended so."""
        return _WORDS[self]


_TEXTS = {
    Status.SOLVED: "solved",
    Status.OUT_OF_ITERATIONS: "stopped after the allowed iterations",
    Status.INFEASIBLE: "infeasible: some constraints cannot be met together",
    Status.BROKEN: "failed: the model gave numbers that are not finite",
    Status.STUCK: "stopped: no step improves the plan",
    Status.OUT_OF_TIME: "stopped after the allowed time",
}


_WORDS: dict[Status, StepStatus] = {
    Status.SOLVED: "solved",
    Status.OUT_OF_ITERATIONS: "unfinished",
    Status.INFEASIBLE: "infeasible",
    Status.BROKEN: "not finite",
    Status.STUCK: "no progress",
    Status.OUT_OF_TIME: "out of time",
}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a solver found: states x (nodes, ...) and controls u (nodes - 1, ...), and how it ended."""

    x: Array
    u: Array
    status: str
    success: bool
    iterations: int
