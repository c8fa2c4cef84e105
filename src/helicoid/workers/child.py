"""Worker process that its parent may terminate at any time.

It is a fresh interpreter that receives its work through a pipe. Objects of the main program are pickled by
value (cloudpickle), so that scripts need no guard and notebooks work. A kernel timer terminates the process
when a part of the work exceeds the time limit, whatever it hangs in.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Connection, Pipe
from typing import Any

from helicoid.workers.contract import Beat, Failure, WorkerError

_MAIN = "import sys; sys.path[:] = {path!r}; import helicoid.workers.child as c; c._main({ends!r}, {limit!r})"
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)
_PARENT_CHECK_INTERVAL = 2.0  # s
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


def unpickled(payload: bytes) -> Any:
    """Unpickle work in a worker; the bytes come from its parent only."""
    try:
        return pickle.loads(payload)
    except Exception as error:
        raise WorkerError(
            f"a worker cannot load its work: {type(error).__name__}: {error}. Is every module that it uses "
            "installed there?"
        ) from error


class Child:
    """Worker process: `call` runs an item, `end` terminates it at any time.

    Args:
        payload: the work, as `pickled` returns it.
        time_limit: from one heartbeat to the next (s); None for no limit.
    """

    def __init__(self, payload: bytes, time_limit: float | None = None) -> None:
        self._beats = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process lives
        self._traces = tempfile.TemporaryFile()  # noqa: SIM115
        self._pipe, theirs = Pipe()
        ends = theirs.fileno(), self._beats.fileno(), self._traces.fileno()
        environment = {**os.environ, **{name: os.environ.get(name, "1") for name in _THREADS}}
        self._limit = time_limit
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _MAIN.format(path=sys.path, ends=ends, limit=time_limit)],
                pass_fds=ends,
                env=environment,
                stdin=subprocess.DEVNULL,
            )
        except OSError as error:
            raise WorkerError(f"no process can be started: {error}") from error
        finally:
            theirs.close()
        self._payload = payload

    def ready(self) -> Failure | None:
        """Send the work and wait until the process has loaded it; a `Failure` if it terminated."""
        payload, self._payload = self._payload, b""
        failure: Failure | None = self._reply(payload)
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
        with contextlib.suppress(OSError):
            os.pwrite(self._beats.fileno(), struct.pack("q", -1), 0)
        return self._reply(item)

    def _reply(self, message: Any) -> Any:
        try:
            self._pipe.send(message)
            kind, value = self._pipe.recv()
        except (EOFError, OSError):
            return self._death()
        if kind == "raised":
            raise value
        return value

    def _death(self) -> Failure:
        code = self._process.wait()
        (at,) = struct.unpack("q", os.pread(self._beats.fileno(), 8, 0).ljust(8, b"\xff"))
        part = None if at < 0 else int(at)
        if code == -signal.SIGALRM and self._limit is not None:
            return Failure(f"stopped after {self._limit:g} s{self._where()}", part, timed_out=True)
        if code < 0:
            return Failure(f"the process was terminated by signal {-code} ({_signal_name(-code)})", part)
        return Failure(f"the process exited with code {code}", part)

    def _where(self) -> str:
        """Line of the main thread at the time limit, the innermost outside of this package."""
        text = os.pread(self._traces.fileno(), 1 << 16, 0).decode(errors="replace")
        current = text[text.find("Current thread") :]
        frames = [match.groupdict() for match in _FRAME.finditer(current)]
        own = [one for one in frames if "helicoid/workers" not in one["file"].replace(os.sep, "/")]
        if not own:
            return ""
        return f", in {own[0]['name']} ({os.path.basename(own[0]['file'])}, line {own[0]['line']})"

    def kill(self) -> None:
        """Terminate the process; a pending `call` returns a `Failure`."""
        self._process.kill()

    def end(self) -> None:
        """Terminate the process and release its resources; no `call` may be pending."""
        self._process.kill()
        self._process.wait()
        for one in (self._pipe, self._beats, self._traces):
            one.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


# In the child ---------------------------------------------------------------------------------------------


def _main(ends: tuple[int, int, int], limit: float | None) -> None:
    """Read the work, then run items until the pipe closes."""
    # Ctrl-C reaches all processes of a terminal; the parent terminates this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    pipe = Connection(ends[0])
    beat = _timed_beat(ends[1], ends[2], limit)
    work: Any = None
    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            if work is None:
                work = unpickled(message)
                value = None
            else:
                value = work(message, beat)
        except Exception as error:
            _send_error(pipe, error)
        else:
            pipe.send(("done", value))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)


def _timed_beat(beats: int, traces: int, limit: float | None) -> Beat:
    def beat(part: int, grace: float = 0.0) -> None:
        os.pwrite(beats, struct.pack("q", part), 0)
        if limit is not None:
            signal.setitimer(signal.ITIMER_REAL, limit + grace)

    if limit is not None:
        import faulthandler

        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        faulthandler.register(signal.SIGALRM, file=traces, chain=True)
    return beat


def _send_error(pipe: Connection, error: Exception) -> None:
    try:
        pipe.send(("raised", pickle.loads(pickle.dumps(error))))
    except Exception:
        pipe.send(("raised", WorkerError(f"{type(error).__name__}: {error}")))


def _watch(parent: int) -> None:
    """Exit when the parent is gone: work that hangs does not notice that its pipe closes."""
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_INTERVAL)
    os._exit(1)
