"""Progress of long computations: one contract for all of Helicoid.

A function that may take long has the argument `progress: Progress | bool | None = None`:

- None: a bar appears after `MIN_DURATION` seconds, where somebody looks: at a terminal or in a notebook.
- False: nothing is shown. True: the bar appears at once; where standard error is a file, its end is written.
- a callable `progress(what, done)`: it gets a description of the work and its progress, `done` from 0 to 1 or
  NaN where it is unknown. The last call of work that succeeds has done = 1. What it raises ends the work.

The function does its work within `reporting`, and says how far it is by calling what it gets from there:

    with reporting(progress, "Fitting") as tell:
        for k in range(n):
            tell("Fitting", k / n)
            ...

Of several bars within each other, only the outermost is seen.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from helicoid.errors import InputError

Progress = Callable[[str, float], None]

MIN_DURATION = 2.0  # s of work before a bar appears
POLL_INTERVAL = 0.1  # s between two polls of work that is watched
UNKNOWN = math.nan

_bar_lock = threading.Lock()  # held while a bar is shown


@contextmanager
def reporting(
    progress: Progress | bool | None, what: str, watch: Callable[[], tuple[str, float]] | None = None
) -> Iterator[Progress]:
    """A context whose progress is displayed or passed on as `progress` says (see the module).

    Args:
        what: what is being done, until the work says so itself.
        watch: for work that cannot tell, such as a solver in C: gives what is being done and how far it is.
            It is asked again and again by another thread, which then also calls a callable `progress`.

    >>> with reporting(lambda what, done: print(f"{what} {done:.0%}"), "Counting") as tell:
    ...     tell("Counting", 0.5)
    Counting 50%
    Counting 100%
    """
    if not (callable(progress) or progress is None or isinstance(progress, bool)):
        raise InputError(f"progress is True, False, None or a callable (what, done); got {progress!r}")
    if callable(progress):
        with _telling(progress, what) as tell, _watched(watch, tell):
            yield tell
        return
    wanted = _somebody_looks() if progress is None else progress
    if not wanted or not _bar_lock.acquire(blocking=False):
        yield _silent
        return
    try:
        bar = _Bar(what)
        timer = threading.Timer(MIN_DURATION, bar.show)
        timer.daemon = True
        if progress:
            bar.show()
        else:
            timer.start()
        try:
            with _watched(watch, bar.tell):
                yield bar.tell
        finally:
            timer.cancel()
            if timer.ident is not None:
                timer.join()
            bar.hide()
    finally:
        _bar_lock.release()


def _silent(what: str, done: float) -> None:
    pass


@contextmanager
def _telling(progress: Progress, what: str) -> Iterator[Progress]:
    """Function that calls `progress` with `done` clipped to 0 to 1, and once more after success."""
    last: tuple[str, float] = what, UNKNOWN

    def tell(what: str, done: float) -> None:
        nonlocal last
        last = what, min(max(done, 0.0), 1.0) if done == done else UNKNOWN
        progress(*last)

    yield tell
    if last[1] != 1.0:
        progress(last[0], 1.0)


@contextmanager
def _watched(watch: Callable[[], tuple[str, float]] | None, tell: Progress) -> Iterator[None]:
    """Ask `watch` and tell what it says, in another thread, as long as this lasts."""
    if watch is None:
        yield
        return
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(POLL_INTERVAL):
            tell(*watch())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _somebody_looks() -> bool:
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def _in_notebook() -> bool:
    """Whether this is a notebook that can draw bars: those take ipywidgets."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    is_notebook = type(shell).__name__ == "ZMQInteractiveShell"
    return is_notebook and importlib.util.find_spec("ipywidgets") is not None


class _Bar:
    """A bar with a text and the time that has passed; rich is imported when it shows."""

    def __init__(self, what: str) -> None:
        self._state = what, UNKNOWN
        self._shown: Any = None

    def show(self) -> None:
        from rich import progress
        from rich.console import Console

        columns = progress.TextColumn("{task.description}"), progress.BarColumn()
        console = Console(stderr=True)
        # In a file nothing moves: what is not taken away there is written once, at the end.
        shown = progress.Progress(
            *columns,
            progress.TimeElapsedColumn(),
            console=console,
            transient=console.is_terminal or console.is_jupyter,
        )
        shown.add_task(self._state[0], total=None)
        shown.start()
        self._shown = shown
        self.tell(*self._state)

    def tell(self, what: str, done: float) -> None:
        self._state = what, done
        if self._shown is not None:
            known = done == done
            self._shown.update(
                self._shown.task_ids[0],
                description=what,
                completed=done if known else 0.0,
                total=1.0 if known else None,
            )

    def hide(self) -> None:
        if self._shown is not None:
            self._shown.stop()
