"""Running compilers: several at a time, all ended when one fails or the user interrupts."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from helicoid.errors import CompileError, HelicoidError
from helicoid.interrupts import SIGNAL_CHECK_INTERVAL

if TYPE_CHECKING:
    from concurrent.futures import Future

TIMEOUT = 600.0  # s, of one run of the compiler

_T = TypeVar("_T")


class Stopped(HelicoidError):
    """Cancelled, because another part of the work failed or the user interrupted it."""


def in_parallel(
    tasks: Iterable[Callable[[], _T]], report: Callable[[float], None] = lambda done: None
) -> list[_T]:
    """The results of tasks, as many at a time as there are cores, on threads of their own.

    When one fails or the caller is interrupted, tasks that have not begun are dropped and the
    compilers of the others are ended. A single task has its own thread too: there, no signal can arrive
    between starting a compiler and recording it.

    Args:
        tasks: an iterable, taken one by one while earlier tasks run.
        report: is called with the share of the tasks that is done, 0 to 1.
    """
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait  # seldom needed

    group = _Group()
    threads = ThreadPoolExecutor(os.cpu_count(), initializer=group.enter)
    with _of_thread.group.member(group), threads as pool:
        futures: list[Future[_T]] = []
        try:
            futures.extend(pool.submit(task) for task in tasks)
            waiting = set(futures)
            while waiting:
                done, waiting = wait(waiting, SIGNAL_CHECK_INTERVAL, FIRST_COMPLETED)
                for future in done:
                    future.result()
                report(1 - len(waiting) / len(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            group.stop()
            raise
    return [future.result() for future in futures]


def run(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run a compiler to its end, as (a part of) a task of `in_parallel`.

    Raises:
        CompileError: it cannot be run, takes too long or fails.
    """
    group = _of_thread.group
    process = group.start(command, environment)
    try:
        _, errors = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise CompileError(f"the compiler took over {TIMEOUT:.0f} s: {shlex.join(command)}") from None
    finally:
        _end(process)
        group.forget(process)
    if process.returncode != 0:
        group.check()
        first_lines = "\n".join(errors.splitlines()[:12])
        raise CompileError(
            f"the compiler failed ({process.returncode}): {shlex.join(command)}\n{first_lines}"
        )


class _Group:
    """Compilers that end together, and the groups that their tasks started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._groups: set[_Group] = set()
        self._stopped = False

    def enter(self) -> None:
        """Make this the group of the current thread."""
        _of_thread.group = self

    @contextlib.contextmanager
    def member(self, group: _Group) -> Iterator[None]:
        """A group that ends with this one."""
        with self._lock:
            self.check()
            self._groups.add(group)
        try:
            yield
        finally:
            self._groups.discard(group)

    def check(self) -> None:
        if self._stopped:
            raise Stopped("the compilation was stopped, because another part failed or was interrupted")

    def start(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
        with self._lock:
            self.check()
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env=environment,
                    text=True,
                    errors="replace",
                    start_new_session=True,  # so that what the compiler itself starts ends with it
                )
            except OSError as error:
                raise CompileError(f"the compiler cannot be run: {shlex.join(command)}: {error}") from error
            self._processes.add(process)
            return process

    def forget(self, process: subprocess.Popen[str]) -> None:
        self._processes.discard(process)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in list(self._processes):
                _end(process)
            for group in list(self._groups):
                group.stop()


class _OfThread(threading.local):
    """The group of each thread; threads outside of `in_parallel` have their own."""

    def __init__(self) -> None:
        self.group = _Group()


_of_thread = _OfThread()


def _end(process: subprocess.Popen[str]) -> None:
    """End a compiler and what it started, unless it has ended."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
