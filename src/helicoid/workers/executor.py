"""Choice of an executor by the argument `on`."""

from __future__ import annotations

import os
from typing import Any

from helicoid.errors import InputError
from helicoid.workers.contract import Executor, Failure, Work, WorkResult
from helicoid.workers.here import Here
from helicoid.workers.processes import Processes

__all__ = ["Executor", "Failure", "Work", "WorkResult", "executor"]

_SCHEMES = ("tcp://", "tls://", "ucx://", "inproc://", "ws://", "wss://")


def executor(on: Any = None, workers: int | None = None) -> Executor:
    """The executor for `on`.

    Args:
        on: None or "processes", a process pool on this computer; "here", this process, one item after the
            other; the address of a dask scheduler such as "tcp://10.0.0.1:8786"; or a
            `dask.distributed.Client`.
        workers: number of processes of the pool; by default one per core.

    >>> executor("processes", workers=3).n_workers
    3
    """
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise InputError(f"workers is a whole number of processes, at least 1; got {workers!r}")
    if on is None or (isinstance(on, str) and on == "processes"):
        return Processes(workers or all_cores())
    if workers is not None:
        raise InputError(f"workers is the number of processes of the pool, on='processes'; got on={on!r}")
    if isinstance(on, str) and on == "here":
        return Here()
    if (isinstance(on, str) and on.startswith(_SCHEMES)) or hasattr(on, "scheduler_info"):
        from helicoid.workers.cluster import Cluster

        return Cluster(on)
    raise InputError(
        'on is None, "processes", "here", the address of a dask scheduler such as "tcp://10.0.0.1:8786", or '
        f"a dask.distributed.Client; got {on!r}"
    )


def all_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
