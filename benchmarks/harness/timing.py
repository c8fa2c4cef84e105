"""Timing of calls."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

from benchmarks.harness.calls import Call
from benchmarks.harness.registers import clean_registers

Key = TypeVar("Key", bound=Hashable)


def best_times(
    calls: Mapping[Key, Call], rounds: int, turn: float, clock: Callable[[], float] = time.process_time
) -> dict[Key, float]:
    """Seconds of one execution of each call: the best of `rounds` turns of about `turn` seconds.

    Every round gives each call one turn of the same length (that of the longest call, if that is longer), so
    that what disturbs the machine disturbs all alike. Seconds are the processor's by default, without those
    of other programs; for calls on several threads, give `time.perf_counter`. Every turn begins with clean
    vector registers.
    """
    timers = {
        key: timeit.Timer(call.statement, timer=clock, globals=dict(call.names))
        for key, call in calls.items()
    }
    turn = max([turn, *(timer.timeit(1) for timer in timers.values())])
    numbers = {key: _repetitions(timer, turn) for key, timer in timers.items()}
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(rounds):
        for key, timer in timers.items():
            clean_registers()
            best[key] = min(best[key], timer.timeit(numbers[key]) / numbers[key])
    return best


def _repetitions(timer: timeit.Timer, turn: float) -> int:
    number, spent = 1, timer.timeit(1)
    while spent < turn and number < 10**7:
        number = max(2 * number, min(10 * number, int(number * turn / max(spent, 1e-9))))
        spent = timer.timeit(number)
    return max(1, int(number * turn / spent)) if spent > turn else number
