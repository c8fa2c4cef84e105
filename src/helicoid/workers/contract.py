"""What an engine is: it takes items from a source, lets workers do them, and gives outcomes as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from helicoid.errors import HelicoidError


class Beat(Protocol):
    """`beat(k)`: the part k of an item begins now. A time limit holds from one beat to the next.

    `grace` are seconds that are added to the limit, for a part that has to build things first.
    """

    def __call__(self, part: int, grace: float = 0.0) -> None: ...


Work = Callable[[Any, Beat], Any]
"""`work(item, beat) -> result`, in a worker. What it raises ends everything: it is a mistake, no outcome."""

Take = Callable[[], Any]
"""The next item, or None when there is none now."""


class WorkerError(HelicoidError):
    """Workers that cannot be started, reached or sent their work."""


@dataclass(frozen=True)
class Failure:
    """A worker that ended while it worked.

    Args:
        reason: in words.
        at: the part that it was at, as its last beat said; None where nobody knows.
        timed_out: whether the time limit ended it.
    """

    reason: str
    at: int | None = None
    timed_out: bool = False


class Outcome(NamedTuple):
    """An item and what became of it: what the work gave, or a `Failure`."""

    item: Any
    result: Any


class Engine(Protocol):
    """Something that does work on items, in any order, each at least once."""

    @property
    def n_workers(self) -> int:
        """How many items are done at the same time."""

    @property
    def is_local(self) -> bool:
        """Whether all is done on this machine."""

    @property
    def dashboard(self) -> str:
        """An address to look at, if there is one."""

    def run(self, work: Work, take: Take, time_limit: float | None = None) -> Iterator[Outcome]:
        """Outcomes as they come. The first item is done alone, so that what it builds is built once.

        After an outcome was given and before the next is asked for, the source may get more items; it is
        asked until it has none and nothing is under way. Closing the iterator ends what is under way.
        """


def no_beat(part: int, grace: float = 0.0) -> None:
    """For workers that nobody watches."""
