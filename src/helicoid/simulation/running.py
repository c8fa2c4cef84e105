"""Running a simulation: in chunks, so that it can be watched, stopped and found to diverge."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from helicoid._typing import Array

Advance = Callable[[int, int], None]
"""`(first, last)`: compute rows first + 1 to last of the states."""

ABSURD = 1e8  # rad/s or m/s: no robot moves like this, and the next step would overflow
CHUNK = 0.1  # seconds between looks at what came out, at Ctrl-C and at the progress bar
PATIENCE = 2.0  # seconds until a bar appears


def run(n_steps: int, advance: Advance, v: Array, one_by_one: bool) -> int:
    """Advance to the end, or until a velocity is beyond reason; returns the number of good rows.

    Args:
        v: (rows, rollouts, nv), filled by `advance`.
        one_by_one: the next step needs to know that the last one is good.
    """
    first, size = 0, 1 if one_by_one else 64
    with _bar(n_steps) as show:
        while first < n_steps:
            last = min(first + size, n_steps)
            began = time.perf_counter()
            advance(first, last)
            if not _sane(v[first + 1 : last + 1]):
                sane_rows = np.all(np.abs(v[first + 1 : last + 1]) < ABSURD, axis=(1, 2))
                return first + 1 + int(np.argmin(sane_rows))
            if not one_by_one and time.perf_counter() - began < CHUNK / 2:
                size *= 2
            first = last
            show(last)
    return n_steps + 1


def _sane(v: Array) -> bool:
    # Largest and smallest pass a NaN on, and need no array in between.
    return v.size == 0 or bool(max(v.max(), -v.min()) < ABSURD)


@contextmanager
def _bar(n_steps: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on runs that take long, if somebody looks at a terminal."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    began = time.perf_counter()
    progress = Progress(console=Console(stderr=True), transient=True)
    task = progress.add_task("simulating", total=n_steps)
    shown = began

    def show(done: int) -> None:
        nonlocal shown
        now = time.perf_counter()
        if now - shown < CHUNK:
            return
        shown = now
        if now - began > PATIENCE:
            progress.start()
            progress.update(task, completed=done)

    try:
        yield show
    finally:
        progress.stop()
