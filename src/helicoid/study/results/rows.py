"""Rows of finished episodes: columns of values, results, errors and times."""

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
_MAX_NUMBERS = 1000  # of a result of one episode: each is a column


class InvalidResultError(InputError):
    """Return value of an episode that is no result."""


@dataclass(frozen=True, eq=False)
class EpisodeRows:
    """Rows of finished episodes.

    Args:
        episode: indices, (n,).
        values: varied values by column, each (n,).
        results: results by column, each (n,); NaN where there is an error.
        error: error message, None if there is none.
        seconds: time of each, (n,).
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
        """Number of failed episodes."""
        return sum(error is not None for error in self.error)

    @staticmethod
    def together(parts: Sequence[EpisodeRows]) -> EpisodeRows:
        """Concatenate rows; columns that a part lacks are NaN there."""
        names = list(dict.fromkeys(name for part in parts for name in part.results))
        results = {
            name: np.concatenate([part.results.get(name, np.full(len(part), np.nan)) for part in parts])
            for name in names
        }
        return EpisodeRows(
            np.concatenate([part.episode for part in parts]),
            {name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values},
            results,
            [error for part in parts for error in part.error],
            np.concatenate([part.seconds for part in parts]),
        )


def failed(cases: Cases, error: str, seconds: float = np.nan) -> EpisodeRows:
    """EpisodeRows of cases that gave nothing but this error."""
    n = len(cases)
    return EpisodeRows(cases.indices, flat_values(cases), {}, [error] * n, np.full(n, seconds))


def flat_values(cases: Cases) -> dict[str, Any]:
    """Varied values as columns of numbers or strings: one column per element of a vector."""
    return dict(_flat((name, cases[name]) for name in cases.names))


def one_result(given: Any, case_names: Iterable[str]) -> dict[str, Array]:
    """Result of an episode as columns of one row.

    Raises:
        InvalidResultError: it is no dict of numbers.
    """
    columns = {}
    for name, value in _checked(given, case_names).items():
        number = _number_array(name, value)
        if number.ndim > 1:
            raise InvalidResultError(
                f"an episode's {name!r} is a number or a vector of numbers; got shape {number.shape}"
            )
        columns[name] = number[None]
    return _flat_results(columns)


def many_results(given: Any, case_names: Iterable[str], n: int) -> dict[str, Array]:
    """Result of a batch of n episodes as columns of n rows.

    Raises:
        InvalidResultError: it is no dict of arrays with n in front.
    """
    columns = {}
    for name, value in _checked(given, case_names).items():
        array = _number_array(name, value)
        if array.ndim not in (1, 2) or len(array) != n:
            raise InvalidResultError(
                f"an episode with batch=True returns arrays with one entry for each of {n} cases; {name!r} "
                f"has shape {array.shape}"
            )
        columns[name] = array
    return _flat_results(columns)


def _checked(given: Any, case_names: Iterable[str]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InvalidResultError(
            f"an episode returns a dict of numbers, such as {{'rms': 0.1}}; got {given!r}"
        )
    taken = {*RESERVED, *case_names} & set(given)
    if taken:
        raise InvalidResultError(
            f"an episode's result cannot be called {sorted(taken)[0]!r}: that column is taken"
        )
    return given


def _number_array(name: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidResultError(f"an episode returns numbers; its {name!r} is {value!r}") from None


def _flat_results(columns: Mapping[str, Array]) -> dict[str, Array]:
    sizes = {name: 1 if column.ndim == 1 else column.shape[1] for name, column in columns.items()}
    n = sum(sizes.values())
    if n > _MAX_NUMBERS:
        name = max(sizes, key=lambda name: sizes[name])
        raise InvalidResultError(
            f"an episode returns {n:,} numbers, {sizes[name]:,} of them as {name!r}; a row has at most "
            f"{_MAX_NUMBERS:,}. Return statistics; case.keep({name}=...) keeps arrays for Study.replay"
        )
    return dict(_flat(columns.items()))


def _flat(columns: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, Any]]:
    for name, values in columns:
        if values.ndim == 1:
            yield name, values
        else:
            yield from ((f"{name}[{k}]", np.ascontiguousarray(values[:, k])) for k in range(values.shape[1]))
