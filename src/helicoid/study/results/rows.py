"""The rows that episodes become: columns of values, results, errors and seconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.study.cases import Cases

EPISODE, ERROR, SECONDS = "episode", "error", "seconds"
RESERVED = (EPISODE, ERROR, SECONDS)


@dataclass(frozen=True, eq=False)
class Rows:
    """Finished episodes.

    Args:
        episode: their indices, (n,).
        values: what varied, by column, each (n,).
        results: what they gave, by column, each (n,); NaN where there is an error.
        error: what went wrong, None where nothing did.
        seconds: how long each took, (n,).
    """

    episode: Any
    values: dict[str, Any]
    results: dict[str, Array]
    error: list[str | None]
    seconds: Array

    def __len__(self) -> int:
        return len(self.episode)

    @property
    def n_failed(self) -> int:
        """How many ended in an error."""
        return sum(error is not None for error in self.error)

    @staticmethod
    def together(parts: Sequence[Rows]) -> Rows:
        """The rows of several, in their order; a column that some lack is NaN there."""
        names = list(dict.fromkeys(name for part in parts for name in part.results))
        results = {
            name: np.concatenate([part.results.get(name, np.full(len(part), np.nan)) for part in parts])
            for name in names
        }
        return Rows(
            np.concatenate([part.episode for part in parts]),
            {name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values},
            results,
            [error for part in parts for error in part.error],
            np.concatenate([part.seconds for part in parts]),
        )


def failed(cases: Cases, error: str, seconds: float = np.nan) -> Rows:
    """Rows of cases that gave nothing but this error."""
    n = len(cases)
    return Rows(cases.indices, flat_values(cases), {}, [error] * n, np.full(n, seconds))


def flat_values(cases: Cases) -> dict[str, Any]:
    """What varies as columns of numbers or words: a vector has a column for each of its elements."""
    return dict(_flat((name, cases[name]) for name in cases.names))


def one_result(given: Any, case_names: Iterable[str]) -> dict[str, Array]:
    """What an episode gave as columns of one row.

    Raises:
        InputError: it is no dict of numbers.
    """
    columns = {}
    for name, value in _checked(given, case_names).items():
        number = _number_array(name, value)
        if number.ndim > 1:
            raise InputError(
                f"an episode's {name!r} is a number or a vector of numbers; got shape {number.shape}"
            )
        columns[name] = number[None]
    return dict(_flat(columns.items()))


def many_results(given: Any, case_names: Iterable[str], n: int) -> dict[str, Array]:
    """What a batch of n episodes gave as columns of n rows.

    Raises:
        InputError: it is no dict of arrays with n in front.
    """
    columns = {}
    for name, value in _checked(given, case_names).items():
        array = _number_array(name, value)
        if array.ndim not in (1, 2) or len(array) != n:
            raise InputError(
                f"an episode with batch=True gives arrays with one entry for each of its {n} cases; {name!r} "
                f"has shape {array.shape}"
            )
        columns[name] = array
    return dict(_flat(columns.items()))


def _checked(given: Any, case_names: Iterable[str]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InputError(f"an episode gives a dict of numbers, such as {{'rms': 0.1}}; got {given!r}")
    taken = {*RESERVED, *case_names} & set(given)
    if taken:
        raise InputError(f"an episode's result cannot be called {sorted(taken)[0]!r}: that column is taken")
    return given


def _number_array(name: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"an episode gives numbers; its {name!r} is {value!r}") from None


def _flat(columns: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, Any]]:
    for name, values in columns:
        if values.ndim == 1:
            yield name, values
        else:
            yield from ((f"{name}[{k}]", np.ascontiguousarray(values[:, k])) for k in range(values.shape[1]))
