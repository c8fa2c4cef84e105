"""Run a simulation in chunks, between which progress is shown and interrupts and divergence are checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import numpy as np

from helicoid._typing import Array
from helicoid.progress import Progress, reporting

Advance = Callable[[int, int], None]
"""`(first, last)`: compute rows first + 1 to last of the states."""

MAX_VELOCITY = 1e8  # rad/s or m/s: a velocity beyond it has diverged, and the next step would overflow
CHECK_INTERVAL = 0.1  # seconds between checks of the velocities, of Ctrl-C and of the progress bar


class Check(Protocol):
    """A check of rows in which a velocity exceeds `speed` (rad/s or m/s)."""

    speed: float

    def check(self, first: int, last: int) -> None:
        """Check rows first + 1 to last."""


def run(
    n_steps: int,
    advance: Advance,
    v: Array,
    one_by_one: bool,
    progress: Progress | bool | None = None,
    balance: Check | None = None,
) -> int:
    """Advance to the end, or until a velocity diverges; returns the number of valid rows.

    Args:
        v: (rows, rollouts, nv), filled by `advance`.
        one_by_one: check every step before the next one.
        balance: checks rows that are fast for their steps, if given.
    """
    first, size = 0, 1  # a row may be a million substeps, or a million rollouts
    with reporting(progress, "Simulating") as tell:
        reported = now = time.perf_counter()
        while first < n_steps:
            last = min(first + size, n_steps)
            began = now
            advance(first, last)
            fastest = _fastest(v[first + 1 : last + 1])
            if not fastest < MAX_VELOCITY:
                sane_rows = np.all(np.abs(v[first + 1 : last + 1]) < MAX_VELOCITY, axis=(1, 2))
                return first + 1 + int(np.argmin(sane_rows))
            if balance is not None and fastest > balance.speed:
                balance.check(first, last)
            first, now = last, time.perf_counter()
            if not one_by_one and now - began < CHECK_INTERVAL / 2:
                size *= 2
            if now - reported >= CHECK_INTERVAL:
                tell("Simulating", last / n_steps)
                reported = now
    return n_steps + 1


def _fastest(v: Array) -> float:
    # Maximum and minimum propagate NaN, and need no temporary array.
    return float(max(v.max(), -v.min())) if v.size else 0.0
