"""Processor use of other programs during a measurement."""

from __future__ import annotations

import os
import time
from pathlib import Path

MAX_DISTURBANCE = 0.25  # cores; from here on, times are marked


class Watch:
    """Counts from its making on. Where the system does not tell (other than Linux), nothing is noticed."""

    def __init__(self) -> None:
        self._start, self._ours, self._all = time.perf_counter(), _our_seconds(), _all_seconds()

    def others(self) -> float:
        """Cores that other programs used on average, the time stolen by other machines on this host included.

        >>> Watch().others() >= 0.0
        True
        """
        elapsed = time.perf_counter() - self._start
        busy = _all_seconds() - self._all - (_our_seconds() - self._ours)
        return max(0.0, busy / elapsed) if elapsed > 0.1 else 0.0  # the system counts in steps of 10 ms


def _our_seconds() -> float:
    return sum(os.times()[:4])


def _all_seconds() -> float:
    """Seconds of all processors that were not idle."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0]
    except OSError:
        return _our_seconds()
    user, nice, system, _, _, irq, softirq, steal = map(int, first.split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
