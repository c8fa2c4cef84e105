"""Process pool on this computer; a process that terminates or exceeds the time limit is replaced."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from helicoid.interrupts import SIGNAL_CHECK_INTERVAL
from helicoid.workers.child import Child, pickled
from helicoid.workers.contract import Failure, Take, Work, WorkerError, WorkResult

_MAX_FAILED_STARTS = 5  # consecutive processes that terminate before their first item


class Processes:
    """Pool of `n_workers` fresh interpreters on this computer."""

    dashboard = ""
    is_local = True

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    def run(self, work: Work, take: Take, time_limit: float | None = None) -> Iterator[WorkResult]:
        """See `Executor.run`."""
        pool = _Pool(pickled(work), take, time_limit)
        try:
            pool.start(self.n_workers)
            yield from pool.results()
        finally:
            pool.end()


class _Pool:
    """A thread per process passes it items; the thread that iterates over the results distributes them."""

    def __init__(self, payload: bytes, take: Take, time_limit: float | None) -> None:
        self._payload, self._take, self._limit = payload, take, time_limit
        self._items: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._found: queue.SimpleQueue[WorkResult | BaseException] = queue.SimpleQueue()
        self._lock, self._ending = threading.Lock(), False
        self._children: set[Child] = set()
        self._threads: list[threading.Thread] = []

    def start(self, n: int) -> None:
        for _ in range(n):
            thread = threading.Thread(target=self._serve, daemon=True)
            self._threads.append(thread)
            thread.start()

    def results(self) -> Iterator[WorkResult]:
        idle, running, alone = len(self._threads), 0, True
        while True:
            while idle > 0 and not (alone and running):
                item = self._take()
                if item is None:
                    break
                self._items.put(item)
                idle, running = idle - 1, running + 1
            if not running:
                return
            result = self._next()
            idle, running, alone = idle + 1, running - 1, False
            yield result

    def _next(self) -> WorkResult:
        while True:
            try:  # with a timeout, so that Ctrl-C is noticed
                found = self._found.get(timeout=SIGNAL_CHECK_INTERVAL)
            except queue.Empty:
                continue
            if isinstance(found, BaseException):
                raise found
            return found

    def end(self) -> None:
        with self._lock:
            self._ending = True
            children = list(self._children)
        for child in children:
            child.kill()
        for _ in self._threads:
            self._items.put(None)
        for thread in self._threads:
            thread.join()

    # In the threads -----------------------------------------------------------------------------------

    def _serve(self) -> None:
        child: Child | None = None
        try:
            child = self._started()
            while child is not None and (item := self._items.get()) is not None:
                result = child.call(item)
                if isinstance(result, Failure):
                    self._ended(child)
                    if self._ending:
                        return
                    child = self._started()
                self._found.put(WorkResult(item, result))
        except BaseException as error:
            self._found.put(error)
        finally:
            if child is not None:
                self._ended(child)

    def _started(self) -> Child | None:
        """A process that has received its work; None while the pool shuts down."""
        reason = ""
        for _ in range(_MAX_FAILED_STARTS):
            child = Child(self._payload, self._limit)
            with self._lock:
                if self._ending:
                    child.end()
                    return None
                self._children.add(child)
            failure = child.ready()
            if failure is None:
                return child
            reason = failure.reason
            self._ended(child)
            if self._ending:
                return None
        raise WorkerError(f"workers terminate before their first item: {reason}")

    def _ended(self, child: Child) -> None:
        with self._lock:
            self._children.discard(child)
        child.end()
