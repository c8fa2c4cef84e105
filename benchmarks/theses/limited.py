"""Work with a limit of processor time and memory, in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

MAX_MEMORY = 8 * 2**30
"""Bytes of address space of the process and of each that it starts."""


def within(seconds: float, work: Callable[..., Any], *arguments: Any) -> Any:
    """What some work returns; None if it or a compiler that it starts needs more, or fails.

    Seconds are of processor time, so that the load of the machine does not count, of each process. The
    function and its arguments are pickled.

    >>> within(60.0, divmod, 7, 2)
    (3, 1)
    >>> within(60.0, divmod, 7, 0) is None
    True
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(theirs, seconds, work, arguments))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:  # the limit of time has ended it
        return None
    finally:
        if process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.join()
        ours.close()


def _run(answer: Connection, seconds: float, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (max(1, round(seconds)),) * 2)
    try:
        result = work(*arguments)
    except Exception:
        result = None
    answer.send(result)
