"""Plots of a study: histograms of results and scatter plots over the varied parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helicoid.errors import HelicoidError, InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helicoid.study.results.table import StudyTable

_MAX_SCATTER_POINTS = 5000
_MAX_VARIED = 6  # varied parameters shown


def plot(table: StudyTable, names: Sequence[str]) -> Figure:
    """Plot a row per result: its histogram, then a scatter plot over each varied number."""
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
    varied = [name for name in table.values if table[name].dtype.kind in "biuf"][:_MAX_VARIED]
    size = 2.9 * (1 + len(varied)), 2.3 * len(results)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(
        len(results), 1 + len(varied), squeeze=False, sharey="row", width_ratios=[0.8] + [1] * len(varied)
    )
    subset = slice(None, None, max(1, len(table) // _MAX_SCATTER_POINTS))
    for k, (row, name) in enumerate(zip(axes, results, strict=True)):
        values = table[name]
        _histogram(row[0], values, name)
        for axis, cause in zip(row[1:], varied, strict=True):
            axis.plot(table[cause][subset], values[subset], ".", markersize=5, alpha=0.4, markeredgewidth=0)
            axis.grid(alpha=0.3)
            if k == len(results) - 1:
                axis.set_xlabel(cause)
    axes[-1][0].set_xlabel("episodes")
    figure.suptitle(_title(table), fontsize=10)
    return figure


def _title(table: StudyTable) -> str:
    failed = f", {table.n_failed:,} failed" if table.n_failed else ""
    return f"{len(table):,} episodes{failed}"


def _histogram(axis: Any, values: Any, name: str) -> None:
    finite = values[np.isfinite(values)]
    if len(finite):
        axis.hist(
            finite, bins=min(60, max(8, int(np.sqrt(len(finite))))), orientation="horizontal", color="0.55"
        )
        # Clip the axis at the 99.5 % quantile if outliers would compress the histogram.
        low, high = np.quantile(finite, [0.0, 0.995])
        if high > low and finite.max() > high + 4 * (high - low):
            axis.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        axis.axhline(float(np.median(finite)), color="C1", linewidth=1)
    axis.set_ylabel(name)
    axis.grid(alpha=0.3)
