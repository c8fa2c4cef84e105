"""Execution on a dask cluster, by the user's scheduler and workers."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator
from typing import Any

from helicoid.interrupts import SIGNAL_CHECK_INTERVAL
from helicoid.workers.child import Child, pickled
from helicoid.workers.contract import Failure, Take, Work, WorkerError, WorkResult

_TASKS_PER_THREAD = 2  # submitted at a time, so that no thread waits for its next task
_CONNECT_TIMEOUT = "30 s"
_MAX_TIME_WITHOUT_WORKERS = 60.0  # s


class Cluster:
    """Executor on a dask scheduler and its workers.

    Args:
        on: an address, to which every run connects, or a `Client`.

    Every thread of a worker has a process of its own for the work, since controllers have a memory, and work
    that crashes, hangs or is stopped is terminated without the worker.
    """

    is_local = False

    def __init__(self, on: Any) -> None:
        try:
            import distributed  # noqa: F401 - imported again where it is used
        except ImportError as error:
            raise WorkerError(
                "a dask cluster needs dask.distributed: pip install 'helicoid[study]'"
            ) from error
        self._on = on
        self._client = on if not isinstance(on, str) else None
        self.n_workers, self.dashboard = 1, ""
        with self._connected() as client:
            self.n_workers = max(1, _threads(client))
            self.dashboard = str(getattr(client, "dashboard_link", "") or "")

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Any]:
        if self._client is not None:
            yield self._client
            return
        from distributed import Client

        try:
            client: Any = Client(self._on, timeout=_CONNECT_TIMEOUT, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise WorkerError(
                f"{self._on}: no dask scheduler answers: {error}. Start one with `dask scheduler`, and "
                "workers with `dask worker ADDRESS`"
            ) from error
        with client:
            yield client

    def run(self, work: Work, take: Take, time_limit: float | None = None) -> Iterator[WorkResult]:
        """See `Executor.run`."""
        with self._connected() as client:
            yield from _ClusterRun(client, pickled(work), time_limit).results(take)


class _ClusterRun:
    """Tasks of one run on a cluster."""

    def __init__(self, client: Any, payload: bytes, time_limit: float | None) -> None:
        self._client, self._payload, self._limit = client, payload, time_limit
        self._items: dict[Any, Any] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def results(self, take: Take) -> Iterator[WorkResult]:
        alone = True
        try:
            while True:
                ahead = 1 if alone else _TASKS_PER_THREAD * max(1, _threads(self._client))
                while len(self._items) < ahead and (item := take()) is not None:
                    self._submit(item)
                if not self._items:
                    return
                yield self._result(self._next())
                alone = False
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                self._client.cancel(list(self._items))

    def _submit(self, item: Any) -> None:
        future = self._client.submit(_do, self._payload, item, self._limit, pure=False)
        self._items[future] = item
        future.add_done_callback(self._done.put)

    def _next(self) -> Any:
        """The next finished future.

        Raises:
            WorkerError: the scheduler, or all workers, are gone.
        """
        waited = 0.0
        while True:
            with contextlib.suppress(queue.Empty):
                return self._done.get(timeout=SIGNAL_CHECK_INTERVAL)
            if self._client.status != "running":
                raise self._lost()
            waited = 0.0 if _threads(self._client) else waited + SIGNAL_CHECK_INTERVAL
            if waited > _MAX_TIME_WITHOUT_WORKERS:
                raise WorkerError(
                    f"the dask scheduler has had no worker for {_MAX_TIME_WITHOUT_WORKERS:g} s: start some"
                )

    def _result(self, future: Any) -> WorkResult:
        from distributed import KilledWorker

        item = self._items.pop(future)
        if future.status in ("cancelled", "lost"):
            raise self._lost()
        error = future.exception() if future.status == "error" else None
        if isinstance(error, KilledWorker):
            return WorkResult(item, Failure("the dask workers that ran it terminated"))
        if error is not None:
            raise error
        return WorkResult(item, future.result())

    def _lost(self) -> WorkerError:
        return WorkerError(
            "the dask scheduler was lost or restarted; finished results are stored. Run it again when the "
            "scheduler is back, to resume"
        )


def _threads(client: Any) -> int:
    """Number of threads of all workers at present; 0 if the scheduler does not answer."""
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"]
    except TypeError:  # older versions list all workers
        workers = client.scheduler_info()["workers"]
    except (OSError, TimeoutError):
        return 0
    return sum(int(worker["nthreads"]) for worker in workers.values())


# In a worker ----------------------------------------------------------------------------------------------

_own = threading.local()


def _do(payload: bytes, item: Any, time_limit: float | None) -> Any:
    child: Child | None = getattr(_own, "child", None)
    if child is None or getattr(_own, "child_payload", None) != (payload, time_limit):
        if child is not None:
            child.end()
        child = _own.child = Child(payload, time_limit)
        _own.child_payload = payload, time_limit
        failure = child.ready()
        if failure is not None:
            _own.child = None
            raise WorkerError(
                f"a process of a dask worker terminated before its first item: {failure.reason}"
            )
    result = child.call(item)
    if isinstance(result, Failure):
        child.end()
        _own.child = None
    return result
