"""Worker process that its parent may terminate at any time.

It is a fresh interpreter, leader of a process group, that receives its work through a socket. Objects of the
main program are pickled by value (cloudpickle), so that scripts need no guard and notebooks work. While the
parent waits for a reply it checks the state of the process: whatever the work does, such as hang with all
signals blocked, stop itself, fork, or close its files, ends with a reply or a `Failure`.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import pickle
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from helicoid.workers.contract import Failure, WorkerError
from helicoid.workers.messages import ForeignBytesError, Incoming, framed
from helicoid.workers.serving import PROGRESS

_MAIN = (
    "import os, sys; os.setpgid(0, 0); sys.path[:] = {path!r}; "
    "from helicoid.workers.serving import serve; serve({ends!r}, {limit!r})"
)
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)
_CHECK_INTERVAL = 0.25  # s between checks of the process while it works
_MAX_DYING_TIME = 5.0  # s from a signal that ends a process, or from the end of its socket, to SIGKILL
_MAX_STOPPED_TIME = 10.0  # s that a process may be stopped (SIGSTOP), as a job scheduler does for a moment
# One thread per worker: threads of libraries would compete for the same cores.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def pickled(work: Any) -> bytes:
    """Pickle work for other processes.

    Raises:
        WorkerError: it cannot be pickled.
    """
    try:
        import cloudpickle
    except ImportError:
        cloudpickle = pickle
    try:
        return bytes(cloudpickle.dumps(work))
    except Exception as error:  # objects may raise anything when they are pickled
        hint = (
            "" if cloudpickle is not pickle else "; functions of a script need pip install 'helicoid[study]'"
        )
        raise WorkerError(
            f"the work cannot be sent to other processes: {type(error).__name__}: {error}{hint}. Create what "
            "cannot be pickled inside the function, or use on='here'"
        ) from error


class _EndedError(Exception):
    """No reply will come; `why` is set where the parent knows more than the exit code tells."""

    def __init__(self, why: str = "") -> None:
        self.why = why


class Child:
    """Worker process: `call` runs an item, `end` terminates it at any time.

    Args:
        payload: the work, as `pickled` returns it.
        time_limit: from one heartbeat to the next (s); None for no limit.
    """

    def __init__(self, payload: bytes, time_limit: float | None = None) -> None:
        self._traces = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process lives
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        with tempfile.TemporaryFile() as beats:
            beats.write(PROGRESS.pack(-1, math.inf))
            beats.flush()
            self._progress = mmap.mmap(beats.fileno(), PROGRESS.size)
            ends = theirs.fileno(), beats.fileno(), self._traces.fileno()
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _MAIN.format(path=sys.path, ends=ends, limit=time_limit)],
                    pass_fds=ends,
                    env={**os.environ, **{name: os.environ.get(name, "1") for name in _THREADS}},
                    stdin=subprocess.DEVNULL,
                )
            except OSError as error:
                raise WorkerError(f"no process can be started: {error}") from error
            finally:
                theirs.close()
        self._payload, self._limit = payload, time_limit
        self._interval = _CHECK_INTERVAL if time_limit is None else min(_CHECK_INTERVAL, time_limit)
        self._lock = threading.Lock()  # its identifier is free once its end is noted
        self._overdue: tuple[int, float] | None = None  # part that exceeded the limit, and when that was seen
        self._stopped: float | None = None  # since when

    def ready(self) -> Failure | None:
        """Send the work and wait until the process has loaded it; a `Failure` if it terminated."""
        message, self._payload = (sys.argv, self._payload), b""
        failure: Failure | None = self._reply(message)
        return failure

    @property
    def pid(self) -> int:
        """Process identifier."""
        return self._process.pid

    def call(self, item: Any) -> Any:
        """Result of the work for an item; a `Failure` if the process terminated.

        Raises:
            Exception: the exception that the work raised.
        """
        PROGRESS.pack_into(self._progress, 0, -1, math.inf)
        return self._reply(item)

    def _reply(self, message: Any) -> Any:
        try:
            self._send(framed(pickle.dumps(message)))
            reply = self._receive()
            if self._overdue is not None:
                raise _EndedError
        except _EndedError as ended:
            return self._failure(ended.why)
        try:
            kind, value = pickle.loads(reply)
        except Exception as error:
            raise WorkerError(f"a result cannot be loaded: {type(error).__name__}: {error}") from error
        if kind == "raised":
            raise value
        return value

    def _send(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            self._wait(select.POLLOUT)
            try:
                left = left[self._socket.send(left) :]
            except OSError:
                raise self._closed() from None

    def _receive(self) -> bytes:
        incoming = Incoming()
        while True:
            self._wait(select.POLLIN)
            try:
                piece = self._socket.recv(1 << 20)
                message = incoming.add(piece)
            except ForeignBytesError:
                self.kill()
                raise _EndedError("the process wrote something else into its connection") from None
            except OSError:
                raise self._closed() from None
            if message is not None:
                return message
            if not piece:
                raise self._closed()

    # Watchdog -----------------------------------------------------------------------------------------

    def _wait(self, event: int) -> None:
        """Wait until the socket is ready, and check the process meanwhile.

        Raises:
            _EndedError: the process has ended, and nothing is left to read.
        """
        poll = select.poll()
        poll.register(self._socket, event)
        while not poll.poll(1e3 * self._next_check()):
            if self._check() and not poll.poll(0):
                raise _EndedError

    def _next_check(self) -> float:
        _, deadline = self._part()
        return max(1e-3, min(self._interval, deadline - time.monotonic()))

    def _check(self) -> bool:
        """Whether the process has ended; it is terminated if it is overdue or stopped."""
        state, now = self._state(), time.monotonic()
        if state is not None and getattr(state, "si_code", None) != os.CLD_STOPPED:
            return True
        self._stopped = None if state is None else self._stopped or now
        if self._stopped is not None and now - self._stopped > _MAX_STOPPED_TIME:
            self.kill()
            raise _EndedError(f"the process was stopped by signal {_signal_text(state.si_status)}")
        part, deadline = self._part()
        if self._overdue is None and now > deadline:
            self._overdue = part, now
            self._signal(signal.SIGALRM)  # writes the stack and terminates, unless the work prevents it
        elif self._overdue is not None and now - self._overdue[1] > _MAX_DYING_TIME:
            self.kill()
        return False

    def _state(self) -> Any:
        """Change of state by the system, None while it runs; the process identifier is not released."""
        if not hasattr(os, "waitid"):  # macOS before Python 3.13, where a stopped process goes unnoticed
            return self._process.poll()
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # the main program ignores SIGCHLD: the system keeps no exit codes
            return self._process.wait()

    def _part(self) -> tuple[int, float]:
        """Part of the item that runs, and its deadline; read until two readings agree."""
        while True:
            first, second = (bytes(self._progress[: PROGRESS.size]) for _ in range(2))
            if first == second:
                return PROGRESS.unpack(first)

    def _closed(self) -> _EndedError:
        """Wait for the end of a process whose socket is closed, and terminate one that lives on."""
        end = time.monotonic() + _MAX_DYING_TIME
        while time.monotonic() < end:
            if self._check():
                return _EndedError()
            time.sleep(1e-3)
        self.kill()
        return _EndedError("the process closed its connection")

    def _failure(self, why: str) -> Failure:
        at = self._part()[0] if self._overdue is None else self._overdue[0]
        self.kill()
        with self._lock:
            code = self._process.wait()
        part = None if at < 0 else at
        if self._overdue is not None:
            return Failure(f"stopped after {self._limit:g} s{self._where()}", part, timed_out=True)
        if why:
            return Failure(why, part)
        if code < 0:
            return Failure(f"the process was terminated by signal {_signal_text(-code)}", part)
        return Failure(f"the process exited with code {code}", part)

    def _where(self) -> str:
        """Line of the main thread at the time limit, the innermost outside of this package."""
        text = os.pread(self._traces.fileno(), 1 << 16, 0).decode(errors="replace")
        main = text[text.rfind("hread 0x") :]  # threads are listed from the last started to the first
        frames = [match.groupdict() for match in _FRAME.finditer(main)]
        own = [one for one in frames if "helicoid/workers" not in one["file"].replace(os.sep, "/")]
        if not own:
            return ""
        return f", in {own[0]['name']} ({os.path.basename(own[0]['file'])}, line {own[0]['line']})"

    # Termination --------------------------------------------------------------------------------------

    def _signal(self, number: int) -> None:
        with self._lock, contextlib.suppress(OSError):
            if self._process.returncode is None:
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Terminate the process and those that it forked; a pending `call` returns a `Failure`."""
        with self._lock:
            if self._process.returncode is None:
                with contextlib.suppress(OSError):  # it has not made its group yet
                    os.killpg(self.pid, signal.SIGKILL)
                self._process.kill()

    def end(self) -> None:
        """Terminate the process and release its resources; no `call` may be pending."""
        self.kill()
        with self._lock:
            self._process.wait()
        for one in (self._socket, self._progress, self._traces):
            one.close()


def _signal_text(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)
