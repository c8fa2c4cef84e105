"""No workers at all: one item after the other, in this process, where a debugger sees it."""

from __future__ import annotations

from collections.abc import Iterator

from helicoid.errors import InputError
from helicoid.workers.contract import Outcome, Take, Work, no_beat


class Here:
    """This process."""

    n_workers = 1
    dashboard = ""
    is_local = True

    def run(self, work: Work, take: Take, time_limit: float | None = None) -> Iterator[Outcome]:
        """See `Engine`."""
        if time_limit is not None:
            raise InputError(
                "nobody can stop what hangs in this very process: time_limit needs on='processes'"
            )
        while (item := take()) is not None:
            yield Outcome(item, work(item, no_beat))
