"""Serial execution in this process, for debuggers."""

from __future__ import annotations

from collections.abc import Iterator

from helicoid.errors import InputError
from helicoid.workers.contract import Take, Work, WorkResult, no_beat


class Here:
    """Serial executor in this process."""

    n_workers = 1
    dashboard = ""
    is_local = True

    def run(self, work: Work, take: Take, time_limit: float | None = None) -> Iterator[WorkResult]:
        """See `Executor.run`."""
        if time_limit is not None:
            raise InputError("an item in this process cannot be stopped: time_limit needs on='processes'")
        while (item := take()) is not None:
            yield WorkResult(item, work(item, no_beat))
