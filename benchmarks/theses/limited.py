"""Work with a limit of processor time and memory, in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_LOOK = 1.0  # s, between two looks at the time spent
MAX_MEMORY = 8 * 2**30
"""Bytes of address space of the process and of each that it starts."""


def within(seconds: float, work: Callable[..., Any], *arguments: Any) -> Any:
    """Result of some work; None if it or a compiler that it starts needs more, or fails.

    Seconds are of processor time of all of them, so that the load of the machine does not count. They are
    watched from outside: a limit of the system makes the clock that times calls coarse. The function and its
    arguments are pickled.

    >>> within(60.0, divmod, 7, 2)
    (3, 1)
    >>> within(60.0, divmod, 7, 0) is None
    True
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(theirs, work, arguments))
    process.start()
    theirs.close()
    try:
        while not ours.poll(_LOOK):
            if process.pid is None or _spent(process.pid) > seconds:
                return None
        return ours.recv()
    except EOFError:  # it has ended without an answer
        return None
    finally:
        if process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.join()
        ours.close()


def _run(answer: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    try:
        result = work(*arguments)
    except Exception:
        result = None
    answer.send(result)


def _spent(group: int) -> float:
    """Processor seconds of the running processes of a group, and of their children that have ended."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # one that ends meanwhile
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
