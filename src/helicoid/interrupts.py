"""Ctrl-C during computations of CasADi.

CasADi's wrapper calls Python while it converts arguments (`SX + array` runs four small functions) and forgets
what they raise: a KeyboardInterrupt there is lost, or becomes a NotImplementedError. Its solvers stop at an
interrupt but report a failure, or do not stop at all. Each context below holds in the main thread only, where
Python handles signals, and passes an interrupt on to whatever handler was there before.
"""

from __future__ import annotations

import _thread
import functools
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, ParamSpec, TypeVar

Handler = Callable[[int, FrameType | None], Any]

# Seconds between checks of signals while waiting: one just before the wait does not end it.
SIGNAL_CHECK_INTERVAL = 0.1

_P = ParamSpec("_P")
_T = TypeVar("_T")
_RETRY_INTERVAL = 0.002  # s until an interrupt that could not be raised is tried again

_MAX_RETRIES = 5  # retries of an interrupt while a generator may be closing

_previous: Handler = signal.default_int_handler
_postponed = 0
_pending: list[int] = []  # interrupts that are still to be raised


class interruptible:
    """No interrupt is lost to CasADi's conversions: one that comes during such is raised just after.

    A context that may be nested, and a decorator.
    """

    _entered = False

    def __enter__(self) -> None:
        global _previous
        before = _handler()
        if before is not None and signal.getsignal(signal.SIGINT) is before:
            _previous, self._entered = before, True
            signal.signal(signal.SIGINT, _wait_for_conversion)

    def __exit__(self, *_: object) -> None:
        if not self._entered:
            return
        before = _previous
        if signal.getsignal(signal.SIGINT) is _wait_for_conversion:
            signal.signal(signal.SIGINT, before)
        if _taken():
            before(signal.SIGINT, None)

    def __call__(self, function: Callable[_P, _T]) -> Callable[_P, _T]:
        @functools.wraps(function)
        def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            with interruptible():
                return function(*args, **kwargs)

        return guarded


class solving:
    """A context in which an interrupt stops a solver of CasADi and is raised after it in any case."""

    _raised: BaseException | None = None

    def __enter__(self) -> None:
        self._handler = _handler()
        if self._handler is not None:
            self._installed = signal.getsignal(signal.SIGINT)
            signal.signal(signal.SIGINT, self._note)

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if self._handler is None:
            return
        if signal.getsignal(signal.SIGINT) == self._note:
            signal.signal(signal.SIGINT, self._installed)
        if self._raised is not None and type(error) is not type(self._raised):
            raise self._raised

    def _note(self, number: int, frame: FrameType | None) -> None:
        assert self._handler is not None
        signal.signal(signal.SIGINT, self._installed)
        try:
            self._handler(number, frame)
        except BaseException as error:
            self._raised = error
            raise
        signal.signal(signal.SIGINT, self._note)


def attended(work: Callable[[], _T], stop: Callable[[], object]) -> _T:
    """The result of `work`, which is one long call of C, computed in another thread while this one listens.

    At an interrupt, `stop` tells the work to end early; the interrupt is raised when it has.
    """
    if _handler() is None:
        return work()
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="helicoid work")
    thread.start()
    try:
        while thread.is_alive():
            thread.join(SIGNAL_CHECK_INTERVAL)
    except BaseException:
        stop()
        thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]


def _handler() -> Handler | None:
    """Python's own handler of SIGINT; None in other threads, and where the system handles the signal."""
    if threading.current_thread() is not threading.main_thread():
        return None
    handler = signal.getsignal(signal.SIGINT)
    if handler is _wait_for_conversion:
        return _previous
    return handler if callable(handler) else None


def _wait_for_conversion(number: int, frame: FrameType | None) -> None:
    global _postponed
    _taken()
    if _is_forgotten(frame) or (_postponed < _MAX_RETRIES and _may_be_closing(frame)):
        _postponed += 1
        _pending.append(number)
        _thread.start_new_thread(_try_again, ())
        return
    _postponed = 0
    # The exception may arrive before `__exit__` has begun, so the previous handler is restored here already.
    signal.signal(signal.SIGINT, _previous)
    _previous(number, frame)
    signal.signal(signal.SIGINT, _wait_for_conversion)


def _try_again() -> None:
    time.sleep(_RETRY_INTERVAL)
    if _taken():
        _thread.interrupt_main()


def _taken() -> bool:
    """Whether an interrupt was waiting; it is up to the caller now."""
    try:
        _pending.pop()
    except IndexError:
        return False
    return True


def _may_be_closing(frame: FrameType | None) -> bool:
    """Whether a generator expression is at work: Python ignores what is raised in one that it closes."""
    while frame is not None:
        if frame.f_code.co_name == "<genexpr>":
            return True
        frame = frame.f_back
    return False


def _is_forgotten(frame: FrameType | None) -> bool:
    """Whether what is raised here would be lost: in a finaliser or in what CasADi calls.

    Weak references and `__del__` are called by Python, which ignores what they raise. CasADi has a function
    of its wrapper among the callers of what it calls.
    """
    called = False
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if module in ("weakref", "_weakrefset") or frame.f_code.co_name == "__del__":
            return True
        if called and module == "casadi.casadi":
            return True
        called, frame = True, frame.f_back
    return False
