"""Interface of executors: they take items from a source, run them on workers, and yield results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from helicoid.errors import HelicoidError


class Beat(Protocol):
    """Heartbeat `beat(k)`: part k of an item starts now. A time limit applies from one beat to the next.

    `grace` (s) is added to the limit, for a part that has to compile first.
    """

    def __call__(self, part: int, grace: float = 0.0) -> None: ...


Work = Callable[[Any, Beat], Any]
"""`work(item, beat) -> result`, in a worker. An exception is a programming error and ends the run."""

Take = Callable[[], Any]
"""Next item, or None if there is none at present."""


class WorkerError(HelicoidError):
    """Workers that cannot be started or reached, or work that cannot be sent to them."""


@dataclass(frozen=True)
class Failure:
    """Termination of a worker during an item.

    Args:
        reason: in words.
        at: part of the item by the last heartbeat; None if unknown.
        timed_out: whether the time limit was exceeded.
    """

    reason: str
    at: int | None = None
    timed_out: bool = False


class WorkResult(NamedTuple):
    """An item and its result: that of the work, or a `Failure`."""

    item: Any
    result: Any


class Executor(Protocol):
    """Executor of work on items, in any order, each at least once."""

    @property
    def n_workers(self) -> int:
        """Number of items that run concurrently."""

    @property
    def is_local(self) -> bool:
        """Whether all workers are on this computer."""

    @property
    def dashboard(self) -> str:
        """Address of a dashboard; empty if there is none."""

    def run(self, work: Work, take: Take, time_limit: float | None = None) -> Iterator[WorkResult]:
        """Yield results in order of completion. The first item runs alone, so that it compiles for all.

        The source may get more items after each result; the run ends when it has none and no item is
        running. Closing the iterator terminates the running items.
        """


def no_beat(part: int, grace: float = 0.0) -> None:
    """Heartbeat without effect, for workers without a time limit."""


def exit_if_forked(pid: int) -> None:
    """End this process if it is a copy of process `pid` that the work made by `os.fork`.

    Both return from the work; a second one that went on would give results twice.
    """
    if os.getpid() != pid:
        os._exit(0)
