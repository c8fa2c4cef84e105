"""Locks around what is made once: expressions, evaluators, compiled code."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from helicoid.interrupts import interruptible

_PATIENCE = 10.0  # seconds that a fork waits for another thread's expression
_build_lock = threading.RLock()  # CasADi lets other threads run while it makes a graph, but expects none
_locks: weakref.WeakSet[Any] = weakref.WeakSet()


@contextmanager
def building() -> Iterator[None]:
    """Held while a CasADi graph or buffer is made; an interrupt ends it and is not lost in CasADi."""
    with interruptible(), _build_lock:
        yield


def new_lock() -> Any:
    """A reentrant lock that a forked process finds open, whichever thread held it before the fork."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


class _Fork:
    """A fork waits for a graph in the making, so that the child finds CasADi between two graphs."""

    waited = False

    def before(self) -> None:
        self.waited = _build_lock.acquire(timeout=_PATIENCE)

    def in_parent(self) -> None:
        if self.waited:
            _build_lock.release()

    def in_child(self) -> None:
        for lock in (_build_lock, *_locks):
            lock._at_fork_reinit()


_fork = _Fork()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_fork.before, after_in_parent=_fork.in_parent, after_in_child=_fork.in_child)
