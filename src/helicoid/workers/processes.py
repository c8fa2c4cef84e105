"""A pool of processes on this machine: one that ends, or is ended by a time limit, is replaced."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from helicoid.interrupts import LISTEN
from helicoid.workers.child import Child, pickled
from helicoid.workers.contract import Failure, Outcome, Take, Work, WorkerError

_DEATHS = 5  # processes in a row that end before their first item: something is wrong with all of them


class Processes:
    """Fresh interpreters on this machine, `n_workers` of them."""

    dashboard = ""
    is_local = True

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    def run(self, work: Work, take: Take, time_limit: float | None = None) -> Iterator[Outcome]:
        """See `Engine`."""
        pool = _Pool(pickled(work), take, time_limit)
        try:
            pool.start(self.n_workers)
            yield from pool.outcomes()
        finally:
            pool.end()


class _Pool:
    """A thread for each process, which hands it items; the thread that asks for outcomes hands out items."""

    def __init__(self, payload: bytes, take: Take, time_limit: float | None) -> None:
        self._payload, self._take, self._limit = payload, take, time_limit
        self._items: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._found: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
        self._lock, self._ending = threading.Lock(), False
        self._children: set[Child] = set()
        self._threads: list[threading.Thread] = []

    def start(self, n: int) -> None:
        for _ in range(n):
            thread = threading.Thread(target=self._serve, daemon=True)
            self._threads.append(thread)
            thread.start()

    def outcomes(self) -> Iterator[Outcome]:
        idle, under_way, alone = len(self._threads), 0, True
        while True:
            while idle > 0 and not (alone and under_way):
                item = self._take()
                if item is None:
                    break
                self._items.put(item)
                idle, under_way = idle - 1, under_way + 1
            if not under_way:
                return
            outcome = self._next()
            idle, under_way, alone = idle + 1, under_way - 1, False
            yield outcome

    def _next(self) -> Outcome:
        while True:
            try:  # with a time, so that Ctrl-C is heard
                found = self._found.get(timeout=LISTEN)
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
                self._found.put(Outcome(item, result))
        except BaseException as error:
            self._found.put(error)
        finally:
            if child is not None:
                self._ended(child)

    def _started(self) -> Child | None:
        """A process that has its work; None where all is about to end."""
        reason = ""
        for _ in range(_DEATHS):
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
        raise WorkerError(f"workers end before they begin: {reason}")

    def _ended(self, child: Child) -> None:
        with self._lock:
            self._children.discard(child)
        child.end()
