"""Calls that are timed, and whether what they compute is what Helicoid computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness.subjects import Quantity, State, Subject
from helicoid._typing import Array


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
        """Compute the quantity once.

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
