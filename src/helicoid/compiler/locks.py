"""Locks around the creation of expressions, evaluators and compiled code."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from helicoid.interrupts import interruptible

_FORK_TIMEOUT = 10.0  # s that a fork waits for the expression of another thread
_build_lock = threading.RLock()  # CasADi releases the GIL while it builds a graph, but is not thread-safe
_locks: weakref.WeakSet[Any] = weakref.WeakSet()


@contextmanager
def building() -> Iterator[None]:
    """Context for building CasADi graphs and buffers; an interrupt ends it and is not lost in CasADi."""
    with interruptible(), _build_lock:
        yield


def new_lock() -> Any:
    """A reentrant lock that is open in a forked process, whichever thread held it before the fork."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


class _Fork:
    """Hooks of a fork, which waits for a graph that is being built: the child must not inherit half of it."""

    waited = False

    def before(self) -> None:
        self.waited = _build_lock.acquire(timeout=_FORK_TIMEOUT)

    def in_parent(self) -> None:
        if self.waited:
            _build_lock.release()

    def in_child(self) -> None:
        for lock in (_build_lock, *_locks):
            lock._at_fork_reinit()


_fork = _Fork()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_fork.before, after_in_parent=_fork.in_parent, after_in_child=_fork.in_child)
