"""Main loop of a worker process: it reads the work, then runs items until its socket closes."""

from __future__ import annotations

import math
import mmap
import os
import pickle
import signal
import struct
import sys
import threading
import time
from typing import Any

from helicoid.workers.contract import Beat, WorkerError, exit_if_forked
from helicoid.workers.messages import read_message, write_message

PROGRESS = struct.Struct("qd")  # part of the item that runs, -1 before the first; its deadline (s, monotonic)
_PARENT_CHECK_INTERVAL = 2.0  # s


def unpickled(payload: bytes) -> Any:
    """Unpickle work in a worker; the bytes come from its parent only."""
    try:
        return pickle.loads(payload)
    except Exception as error:
        raise WorkerError(
            f"a worker cannot load its work: {type(error).__name__}: {error}. Is every module that it uses "
            "installed there?"
        ) from error


def serve(ends: tuple[int, int, int], limit: float | None) -> None:
    """Read the work, then run items until the socket closes.

    Args:
        ends: descriptors of the socket, of the file of heartbeats and of that of stack traces.
        limit: time limit from one heartbeat to the next (s), which the parent enforces.
    """
    # Ctrl-C reaches all processes of a terminal; the parent terminates this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    socket, beats, traces = ends
    pid = os.getpid()
    threading.Thread(target=_watch, args=(pid, os.getppid()), daemon=True).start()
    # In memory, so that work which closes all files neither hides the beats nor writes into other files.
    progress = mmap.mmap(beats, PROGRESS.size)
    beat = _timed_beat(progress, limit)
    if limit is not None:
        import faulthandler

        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        faulthandler.register(signal.SIGALRM, file=traces, chain=True)
    work: Any = None
    while True:
        try:
            message = read_message(socket)
        except (EOFError, OSError):
            return
        try:
            if work is None:
                sys.argv[:], payload = pickle.loads(message)
                work = unpickled(payload)
                reply = pickle.dumps(("done", None))
            else:
                reply = _reply(work(pickle.loads(message), beat))
        except Exception as error:
            reply = pickle.dumps(("raised", _sendable(error)))
        exit_if_forked(pid)
        PROGRESS.pack_into(progress, 0, -1, math.inf)
        write_message(socket, reply)


def _reply(value: Any) -> bytes:
    try:
        return pickle.dumps(("done", value), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise WorkerError(
            f"the result cannot be sent back: {type(error).__name__}: {error}. Return plain data"
        ) from error


def _timed_beat(progress: mmap.mmap, limit: float | None) -> Beat:
    def beat(part: int, grace: float = 0.0) -> None:
        deadline = math.inf if limit is None else time.monotonic() + limit + grace
        PROGRESS.pack_into(progress, 0, part, deadline)

    return beat


def _sendable(error: Exception) -> Exception:
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return WorkerError(f"{type(error).__name__}: {error}")


def _watch(pid: int, parent: int) -> None:
    """End this process and what it started when the parent is gone: work that hangs does not notice that."""
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_INTERVAL)
    if os.getpgrp() == pid:
        os.killpg(pid, signal.SIGKILL)
    os._exit(1)
