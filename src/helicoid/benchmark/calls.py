"""Calls that are timed, and whether what they compute is what Helicoid computes."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from helicoid.benchmark.subjects import Quantity, State, Subject
from helicoid.model.inertia import Array

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Call:
    """Python statements as a user writes them, the names in them, and where to read the answer.

    `answer` gets the names after the statements ran, and returns the quantity in Helicoid's coordinates:
    matrices of one call side by side.
    """

    statement: str
    names: Mapping[str, Any]
    answer: Callable[[Mapping[str, Any]], Array]
    states: int = 0
    """Of a batch, how many states it treats, the last ones; 0 for all."""

    def run(self) -> Array:
        """What it computes.

        >>> Call("y = 2 * x", {"x": np.ones(2)}, lambda names: names["y"]).run()
        array([2., 2.])
        """
        names = dict(self.names)
        exec(self.statement, names)
        return np.array(self.answer(names), dtype=np.float64)


def our_call(subject: Subject, quantity: Quantity, state: State) -> Call:
    """Helicoid's call, with one state or with a batch."""
    function = quantity.function(subject.robot)
    names = dict(zip(quantity.inputs, quantity.arguments(state), strict=True))
    statement = f"result = f({', '.join(quantity.inputs)})"
    return Call(statement, {"f": function, **names}, lambda after: side_by_side(after["result"]))


def side_by_side(result: Any) -> Array:
    """The matrices of a tuple as one."""
    return np.concatenate(result, axis=-1) if isinstance(result, tuple) else np.asarray(result)


def relative_error(answers: Sequence[Array], truths: Sequence[Array]) -> float:
    """Largest difference over all states, relative to the largest entry; infinite if the shapes differ.

    >>> relative_error([np.array([1.0, 2.0])], [np.array([1.0, 2.5])])
    0.2
    """
    if any(x.shape != y.shape for x, y in zip(answers, truths, strict=True)):
        return float("inf")
    x, y = np.array(answers), np.array(truths)
    scale = float(np.abs(y).max(initial=0.0))
    error = float(np.abs(x - y).max(initial=0.0))
    if not np.isfinite(error):
        return float("inf")
    return error / scale if scale > 0.0 else error


def best_times(
    calls: Mapping[Key, Call], rounds: int, turn: float, clock: Callable[[], float] = time.process_time
) -> dict[Key, float]:
    """Seconds of one execution of each call: the best of `rounds` turns of about `turn` seconds.

    Every round gives each call one turn of the same length (that of the longest call, if that is longer), so
    that what disturbs the machine disturbs all alike. Seconds are the processor's by default, without those
    of other programs; for calls on several threads, give `time.perf_counter`.
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
            best[key] = min(best[key], timer.timeit(numbers[key]) / numbers[key])
    return best


def _repetitions(timer: timeit.Timer, turn: float) -> int:
    number, spent = 1, timer.timeit(1)
    while spent < turn and number < 10**7:
        number = max(2 * number, min(10 * number, int(number * turn / max(spent, 1e-9))))
        spent = timer.timeit(number)
    return max(1, int(number * turn / spent)) if spent > turn else number
