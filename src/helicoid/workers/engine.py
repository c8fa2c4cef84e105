"""From what a user says to an engine."""

from __future__ import annotations

import os
from typing import Any

from helicoid.errors import InputError
from helicoid.workers.contract import Engine, Failure, Outcome, Work
from helicoid.workers.here import Here
from helicoid.workers.processes import Processes

__all__ = ["Engine", "Failure", "Outcome", "Work", "engine"]

_SCHEMES = ("tcp://", "tls://", "ucx://", "inproc://", "ws://", "wss://")


def engine(on: Any = "processes", workers: int | None = None) -> Engine:
    """The engine that `on` names.

    Args:
        on: "processes", a pool on this machine; "here", this very process, one item after the other; the
            address of a dask scheduler such as "tcp://10.0.0.1:8786"; or a `dask.distributed.Client`.
        workers: how many processes of the pool; by default one for each core.

    >>> engine("processes", workers=3).n_workers
    3
    """
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise InputError(f"workers is a whole number of processes, at least 1; got {workers!r}")
    if on == "processes":
        return Processes(workers or all_cores())
    if workers is not None:
        raise InputError(f"workers counts processes of the pool, on='processes'; got on={on!r}")
    if on == "here":
        return Here()
    if (isinstance(on, str) and on.startswith(_SCHEMES)) or hasattr(on, "scheduler_info"):
        from helicoid.workers.cluster import Cluster

        return Cluster(on)
    raise InputError(
        'on is "processes", "here", the address of a dask scheduler such as "tcp://10.0.0.1:8786", or a '
        f"dask.distributed.Client; got {on!r}"
    )


def all_cores() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
