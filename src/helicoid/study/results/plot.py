"""Pictures of a study: how results are spread, and what they depend on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helicoid.errors import HelicoidError, InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helicoid.study.results.table import Table

_MOST = 5000  # points of a cloud: more of them show no more
_COLUMNS = 6  # of what varied


def plot(table: Table, names: Sequence[str]) -> Figure:
    """A row for each result: its histogram, then a cloud over each number that varied."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise HelicoidError("plot needs matplotlib: pip install 'helicoid[plot]'") from error
    for name in names:
        if name not in table.results:
            raise InputError(f"no result is called {name!r}; there are: {', '.join(table.results)}")
    results = list(names or table.results)
    if not results or not len(table):
        raise InputError("there is no result to plot yet")
    varied = [name for name in table.values if table[name].dtype.kind in "biuf"][:_COLUMNS]
    size = 2.9 * (1 + len(varied)), 2.3 * len(results)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(
        len(results), 1 + len(varied), squeeze=False, sharey="row", width_ratios=[0.8] + [1] * len(varied)
    )
    some = slice(None, None, max(1, len(table) // _MOST))
    for k, (row, name) in enumerate(zip(axes, results, strict=True)):
        values = table[name]
        _histogram(row[0], values, name)
        for axis, cause in zip(row[1:], varied, strict=True):
            axis.plot(table[cause][some], values[some], ".", markersize=5, alpha=0.4, markeredgewidth=0)
            axis.grid(alpha=0.3)
            if k == len(results) - 1:
                axis.set_xlabel(cause)
    axes[-1][0].set_xlabel("episodes")
    figure.suptitle(_title(table), fontsize=10)
    return figure


def _title(table: Table) -> str:
    wrong = f", {table.n_failed:,} failed" if table.n_failed else ""
    return f"{len(table):,} episodes{wrong}"


def _histogram(axis: Any, values: Any, name: str) -> None:
    finite = values[np.isfinite(values)]
    if len(finite):
        axis.hist(
            finite, bins=min(60, max(8, int(np.sqrt(len(finite))))), orientation="horizontal", color="0.55"
        )
        # A share of one in a hundred that is far away should not make the rest unreadable.
        low, high = np.quantile(finite, [0.0, 0.995])
        if high > low and finite.max() > high + 4 * (high - low):
            axis.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        axis.axhline(float(np.median(finite)), color="C1", linewidth=1)
    axis.set_ylabel(name)
    axis.grid(alpha=0.3)
