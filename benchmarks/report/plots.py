"""Pictures of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from benchmarks.harness.subjects import QUANTITIES
from benchmarks.report import published
from benchmarks.report.results import OURS, Results, distinct

COLORS = {
    OURS: "#d62728",
    "Pinocchio": "#1f77b4",
    "MuJoCo": "#2ca02c",
    "Drake": "#9467bd",
    "PyBullet": "#8c564b",
    "KDL": "#e377c2",
    "urdf2casadi": "#7f7f7f",
    "adam": "#17becf",
}


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw what was measured; returns the files written."""
    import matplotlib

    matplotlib.use("Agg")
    drawings: dict[str, tuple[str, Callable[[Results], Any]]] = {
        "calls": ("call", _calls),
        "batches": ("batch", _batches),
        "growth": ("growth", _growth),
        "operations": ("growth", _operations),
    }
    written = []
    for name, (kind, drawing) in drawings.items():
        if any(results.of_kind(kind)):
            written.append(folder / f"{results.plan}_{name}.png")
            drawing(results).savefig(written[-1], dpi=90)
    return written


def _figure(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Any, list[Any]]:
    """Axes with a logarithmic scale upwards, marked with plain numbers."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = np.ravel(figure.subplots(rows, columns, squeeze=False, **options)).tolist()
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
        axis.set_axisbelow(True)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    return figure, axes


def _legend(figure: Any, drawn: dict[str, Any], title: str) -> None:
    figure.suptitle(title)
    columns = min(len(drawn), 8)
    figure.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=columns, frameon=False)


def _calls(results: Results) -> Any:
    timings = list(results.of_kind("call"))
    robots = distinct(t.robot for t in timings)
    figure, axes = _figure(len(robots), 1, 10, 2.4 * len(robots) + 0.9, sharey=True)
    drawn: dict[str, Any] = {}
    for axis, robot in zip(axes, robots, strict=True):
        labels = distinct(t.quantity for t in timings if t.robot == robot)
        for k, name in enumerate(COLORS):
            times = [results.seconds("call", robot, label, name) for label in labels]
            shown = [(i + 0.07 * (k - 3.5), 1e6 * t) for i, t in enumerate(times) if t]
            if shown:
                size = 9 if name == OURS else 6
                style = {"marker": "D" if name == OURS else "o", "color": COLORS[name], "markersize": size}
                (drawn[name],) = axis.plot(*zip(*shown, strict=True), linestyle="none", **style)
        for i in range(len(labels) - 1):
            axis.axvline(i + 0.5, color="black", alpha=0.08)
        velocities = next(t.velocities for t in timings if t.robot == robot)
        axis.set(
            ylabel="µs a call", xticks=range(len(labels)), xticklabels=labels, xlim=(-0.5, len(labels) - 0.5)
        )
        axis.set_title(f"{robot}, {velocities} velocities", loc="left", fontsize="medium")
    shown_labels = distinct(t.quantity for t in timings)
    meaning = "; ".join(f"{label}: {QUANTITIES[label].title}" for label in shown_labels)
    axes[-1].set_xlabel("\n".join(wrap(meaning, 130)), fontsize="small")
    _legend(
        figure,
        {name: drawn[name] for name in COLORS if name in drawn},
        "One call from Python, lower is better",
    )
    return figure


def _batches(results: Results) -> Any:
    timings = list(results.of_kind("batch"))
    pairs = list(dict.fromkeys((t.robot, t.quantity) for t in timings))
    figure, (axis,) = _figure(1, 1, 2 + 0.75 * len(pairs), 4.5)
    drawn: dict[str, Any] = {}
    for n, filled in ((1, True), (2, False)):
        for name in (OURS, "Pinocchio"):
            times = [results.seconds("batch", robot, label, name, n) for robot, label in pairs]
            shown = [(i + 0.12 * (2 * n - 3), 1e9 * t) for i, t in enumerate(times) if t]
            if shown:
                label = f"{name}, {n} thread{'s' * (n > 1)}"
                style = {"marker": "D" if name == OURS else "o", "color": COLORS[name], "markersize": 8}
                face = COLORS[name] if filled else "white"
                points = zip(*shown, strict=True)
                (drawn[label],) = axis.plot(*points, linestyle="none", markerfacecolor=face, **style)
    for i in range(len(pairs) - 1):
        axis.axvline(i + 0.5, color="black", alpha=0.08)
    axis.set(ylabel="ns a state", xticks=range(len(pairs)), xlim=(-0.5, len(pairs) - 0.5))
    axis.set_xticklabels([f"{label}\n{robot}" for robot, label in pairs], fontsize="small")
    doubt = "" if results.has_second_core else " (no second core was free)"
    _legend(figure, drawn, f"Batches of {results.batch:,} states, lower is better{doubt}")
    return figure


def _growth(results: Results) -> Any:
    timings = list(results.of_kind("growth"))
    labels = distinct(t.quantity for t in timings)
    columns = 2 if len(labels) in (2, 4) else min(3, len(labels))
    rows = -(-len(labels) // columns)
    figure, axes = _figure(rows, columns, 4 * columns, 3 * rows + 0.9, sharey=True)
    drawn: dict[str, Any] = {}
    for axis, label in zip(axes, labels, strict=False):
        for name, color in COLORS.items():
            these = [t for t in timings if t.quantity == label and t.library == name and t.seconds]
            points = [(t.velocities, 1e6 * (t.seconds or 0.0)) for t in these]
            if points:
                style = {"color": color, "linewidth": 2.5 if name == OURS else 1.2, "markersize": 3}
                (drawn[name],) = axis.plot(*zip(*points, strict=True), "o-", **style)
        axis.set(xlabel="joints", ylabel="µs a call", title=f"{label}: {QUANTITIES[label].title}")
        axis.title.set_fontsize("medium")
        axis.xaxis.get_major_locator().set_params(integer=True)
    for axis in axes[len(labels) :]:
        axis.remove()
    _legend(figure, drawn, "One call for a chain of n joints, lower is better")
    return figure


def _operations(results: Results) -> Any:
    timings = [t for t in results.of_kind("growth") if t.library == OURS]
    figure, (axis,) = _figure(1, 1, 7, 5)
    longest = max(t.velocities for t in timings)
    drawn: dict[str, Any] = {}
    for k, label in enumerate(distinct(t.quantity for t in timings)):
        points = [(t.velocities, t.operations) for t in timings if t.quantity == label and t.operations]
        theirs = zip(published.JOINTS, published.CHAINS.get(label, ()), strict=False)
        known = [(n, count) for n, count in theirs if n <= longest]
        if points:
            (drawn[label],) = axis.plot(*zip(*points, strict=True), "o-", color=f"C{k}", markersize=3)
        if known:
            axis.plot(*zip(*known, strict=True), "x--", color=f"C{k}", alpha=0.5, markersize=4)
    (drawn["urdf2casadi, published"],) = axis.plot([], [], "x--", color="gray")
    axis.set(xlabel="joints", ylabel="operations")
    axis.xaxis.get_major_locator().set_params(integer=True)
    _legend(figure, drawn, "Operations of one evaluation, chain of n joints")
    return figure
