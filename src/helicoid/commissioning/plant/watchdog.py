"""Time limit of calls of a plant, so that one that does not answer stops the procedure."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def within(seconds: float, call: Callable[[], _T]) -> _T:
    """The result of a call, which is interrupted after so many seconds.

    It needs the system's alarm, in the main thread and not used by others; else the call may take any time.

    Raises:
        TimeoutError: it did not answer.
    """
    if not _is_free():
        return call()

    def expired(*_: object) -> None:
        raise TimeoutError(f"no answer within {seconds:g} s")

    signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _is_free() -> bool:
    """Whether the alarm can be used: there is one, Python handles it here, and nobody else set it."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    )
