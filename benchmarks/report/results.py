"""Results of a run, stored as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.harness.disturbance import MAX_DISTURBANCE

OURS = "Helicoid"
UNCLEAN = "leaves vector registers in use, which slows other code until they are cleaned"


@dataclass(frozen=True)
class Timing:
    """Time of one library for one quantity of one robot; without `seconds`, `note` gives the reason.

    `kind`: "call" is one state; "growth" the same on chains; "batch" is per state of a large batch;
    "rollout" per time step of a simulation.
    """

    kind: str
    robot: str
    quantity: str
    library: str
    seconds: float | None = None
    error: float | None = None
    note: str = ""
    velocities: int = 0
    operations: int = 0
    threads: int = 1
    others: float = 0.0
    """Cores that other programs used meanwhile."""
    preparation: float = 0.0
    """Seconds until the first result; for Helicoid without compiling, if that happened in an earlier run."""

    @property
    def disturbed(self) -> bool:
        """Whether other programs used so much of the machine that the time may be far off."""
        return self.others > MAX_DISTURBANCE


@dataclass(frozen=True)
class Figure:
    """A number with a name, such as a compile time; `key` is what targets look for."""

    key: str
    what: str
    value: float
    unit: str
    note: str = ""


@dataclass
class Results:
    """Everything that one run found."""

    plan: str
    batch: int = 0
    machine: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def seconds(self, kind: str, robot: str, quantity: str, library: str, threads: int = 1) -> float | None:
        """A time, None if there is none."""
        wanted = (kind, robot, quantity, library, threads)
        for t in self.timings:
            if (t.kind, t.robot, t.quantity, t.library, t.threads) == wanted:
                return t.seconds
        return None

    def ratio(self, kind: str, robot: str, quantity: str, library: str, threads: int = 1) -> float | None:
        """Time of a library over Helicoid's."""
        ours = self.seconds(kind, robot, quantity, OURS, threads)
        theirs = self.seconds(kind, robot, quantity, library, threads)
        return theirs / ours if ours and theirs else None

    def figure(self, key: str) -> float | None:
        """The value of a figure, None if it was not measured."""
        return next((figure.value for figure in self.figures if figure.key == key), None)

    @property
    def disturbed(self) -> tuple[int, int]:
        """Number of our timings that other programs disturbed, and of all."""
        ours = [timing for timing in self.timings if timing.library == OURS]
        return sum(timing.disturbed for timing in ours), len(ours)

    @property
    def has_second_core(self) -> bool:
        """Whether a second thread had a core of its own; if not, times on two threads say nothing."""
        return (self.figure("second core") or 2.0) >= 1.7

    def of_kind(self, kind: str) -> Iterator[Timing]:
        """The timings of a kind, in the order in which they were taken."""
        return (timing for timing in self.timings if timing.kind == kind)

    def save(self, path: Path) -> None:
        """Write everything as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: Path) -> Results:
        """Results read from the file that `save` wrote."""
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        timings = [Timing(**timing) for timing in content.pop("timings")]
        figures = [Figure(**figure) for figure in content.pop("figures")]
        return Results(**content, timings=timings, figures=figures)


def distinct(values: Iterator[str]) -> list[str]:
    """Values in the order of their first appearance.

    >>> distinct(iter("abca"))
    ['a', 'b', 'c']
    """
    return list(dict.fromkeys(values))
