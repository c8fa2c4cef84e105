"""Table of a study: a row for each episode, readable while the study runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import HelicoidError, InputError
from helicoid.pages.tables import table as html_table
from helicoid.study.results.folder import Folder, StudyError
from helicoid.study.results.rows import EPISODE, ERROR, SECONDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Row(Mapping[str, Any]):
    """Row of one episode: `row["rms"]`, `row.episode`; None where a failed one has no result."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self.episode = int(self._values[EPISODE])

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{k}={_short(v)}' for k, v in self._values.items() if v is not None)})"


class StudyTable(Sequence[Row]):
    """Rows of a study in the order of episodes; `table["rms"]` is a column.

    Args:
        content: a pyarrow Table, which is the attribute `arrow`.
        values: names of the columns of varied values.
        planned: number of episodes of the study, more than the rows while it runs.

    `hc.study.read(folder)` reads one, while the study runs as well.
    """

    def __init__(self, content: Any, values: Sequence[str], planned: int) -> None:
        self.arrow = content
        self.values = tuple(values)
        self.planned = planned

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns: episode, varied values, results, seconds, error."""
        return tuple(self.arrow.column_names)

    @property
    def results(self) -> tuple[str, ...]:
        """Names of the columns of results."""
        taken = {*self.values, EPISODE, ERROR, SECONDS}
        return tuple(name for name in self.columns if name not in taken)

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._column(key)
        if isinstance(key, slice):
            return StudyTable(self.arrow.take(np.arange(len(self))[key]), self.values, self.planned)
        place = int(key) + (len(self) if key < 0 else 0)
        if not 0 <= place < len(self):
            raise IndexError(f"there are {len(self)} rows; got {key}")
        return Row(self.arrow.slice(place, 1).to_pylist()[0])

    def _column(self, name: str) -> Any:
        if name not in self.columns:
            raise InputError(f"no column is called {name!r}; there are: {', '.join(self.columns)}")
        column = self.arrow[name]
        return (
            column.to_numpy() if str(column.type) != "string" else np.array(column.to_pylist(), dtype=object)
        )

    @cached_property
    def errors(self) -> dict[str, int]:
        """Error messages and their number, the most frequent first."""
        if ERROR not in self.columns:
            return {}
        texts, counts = np.unique([e for e in self._column(ERROR) if e is not None], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {str(texts[k]): int(counts[k]) for k in order}

    @property
    def n_failed(self) -> int:
        """Number of episodes that raised, timed out or lost their process."""
        return sum(self.errors.values())

    @property
    def failed(self) -> StudyTable:
        """Rows of the failed episodes."""
        wrong = [error is not None for error in self._column(ERROR)] if ERROR in self.columns else []
        return StudyTable(self.arrow.take(np.flatnonzero(wrong)), self.values, self.planned)

    def _numbers(self, name: str) -> Array:
        column = self._column(name)
        if column.dtype.kind not in "biuf":
            raise InputError(f"column {name!r} has strings, not numbers")
        return np.asarray(column, dtype=np.float64)

    def quantiles(self, name: str, at: ArrayLike = QUANTILES) -> dict[float, float]:
        """Quantiles of a column at these probabilities, without failed episodes.

        NaN counts as larger than any number, so that diverged episodes are not lost.
        """
        shares = np.atleast_1d(np.asarray(at, dtype=np.float64))
        if not np.all((shares >= 0) & (shares <= 1)):
            raise InputError(f"quantiles are at probabilities from 0 to 1; got {at!r}")
        known = self._given(name)
        if not len(known):
            return {float(share): float("nan") for share in shares}
        ordered = np.sort(np.where(np.isnan(known), np.inf, known))
        with np.errstate(invalid="ignore"):
            found = np.quantile(ordered, shares, method="inverted_cdf")
        return {float(s): float(x) for s, x in zip(shares, found, strict=True)}

    def _given(self, name: str) -> Array:
        """Numbers of a column in rows without errors."""
        numbers = self._numbers(name)
        if ERROR not in self.columns:
            return numbers
        return numbers[np.array([error is None for error in self._column(ERROR)], dtype=bool)]

    def worst(self, name: str, n: int = 1, *, least: bool = False) -> list[Row]:
        """The n rows with the largest values of a column, or the smallest with `least`; NaN comes first.

        Failed episodes are not among them; see `failed`.
        """
        numbers = self._numbers(name)
        kept = np.flatnonzero(np.array([error is None for error in self._column(ERROR)], dtype=bool))
        badness = np.where(np.isnan(numbers), np.inf, -numbers if least else numbers)[kept]
        return [self[int(kept[k])] for k in np.argsort(-badness, kind="stable")[:n]]

    def plot(self, *names: str) -> Figure:
        """Figure of the distribution of results and their dependence on varied values; by default of all."""
        from helicoid.study.results.plot import plot

        return plot(self, names)

    def to_dataframe(self) -> DataFrame:
        """A pandas DataFrame with the episode as its index. Needs pandas: `pip install pandas`."""
        try:
            import pandas  # noqa: F401 - pyarrow says less clearly that it is missing
        except ImportError as error:
            raise HelicoidError("to_dataframe needs pandas: pip install pandas") from error
        return self.arrow.to_pandas().set_index(EPISODE)

    def __repr__(self) -> str:
        lines = [self._title()]
        width = max((len(name) for name in self.results), default=0)
        for name in self.results:
            found = self.quantiles(name)
            lines.append(
                f"  {name:{width}}  " + "  ".join(f"{100 * s:g} %: {x:.4g}" for s, x in found.items())
            )
        lines += [f"  {count} × {error}" for error, count in list(self.errors.items())[:5]]
        return "\n".join(lines)

    def _title(self) -> str:
        some = f"{len(self):,} of {self.planned:,}" if len(self) < self.planned else f"{len(self):,}"
        wrong = f", {self.n_failed:,} failed" if self.n_failed else ""
        return f"StudyTable({some} episodes{wrong})"

    def _repr_html_(self) -> str:
        rows = [[name, *(f"{x:.4g}" for x in self.quantiles(name).values())] for name in self.results]
        more = [f"{count} × {error}" for error, count in list(self.errors.items())[:5]]
        return html_table(self._title(), ["", *(f"{100 * s:g} %" for s in QUANTILES)], rows, more)


def read(folder: str | os.PathLike[str]) -> StudyTable:
    """Read the table of a study from its folder, finished or not.

    Raises:
        StudyError: there is no study in this folder, or its files are damaged.
    """
    own = Folder(folder)
    record = own.record
    if record is None:
        raise StudyError(f"{own.path}: there is no study in this folder")
    return StudyTable(own.table(), record.get("columns", ()), int(record["episodes"]))


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
