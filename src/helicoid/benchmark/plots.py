"""Pictures of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from helicoid.benchmark import published
from helicoid.benchmark.results import OURS, Results, distinct

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


def _figure(rows: int, columns: int, width: float, height: float) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = np.ravel(figure.subplots(rows, columns, squeeze=False)).tolist()
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
        axis.set_axisbelow(True)
    return figure, axes


def _calls(results: Results) -> Any:
    timings = list(results.of_kind("call"))
    robots = distinct(t.robot for t in timings)
    libraries = [name for name in COLORS if any(t.library == name and t.seconds for t in timings)]
    figure, axes = _figure(len(robots), 1, 11, 2.3 * len(robots) + 0.5)
    for axis, robot in zip(axes, robots, strict=True):
        labels = distinct(t.quantity for t in timings if t.robot == robot)
        width = 0.85 / len(libraries)
        for k, name in enumerate(libraries):
            times = [results.seconds("call", robot, label, name) for label in labels]
            places = [i + (k - (len(libraries) - 1) / 2) * width for i in range(len(labels))]
            shown = [(x, 1e6 * t) for x, t in zip(places, times, strict=True) if t]
            if shown:
                axis.bar(*zip(*shown, strict=True), width=width, color=COLORS[name], label=name)
        axis.set(yscale="log", ylabel="µs a call", xticks=range(len(labels)), xticklabels=labels, title=robot)
    handles = {label: h for axis in axes for h, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    ordered = [name for name in libraries if name in handles]
    figure.legend([handles[n] for n in ordered], ordered, loc="outside upper center", ncols=8, frameon=False)
    return figure


def _batches(results: Results) -> Any:
    timings = list(results.of_kind("batch"))
    pairs = list(dict.fromkeys((t.robot, t.quantity) for t in timings))
    series = [(name, n) for n in (1, 2) for name in (OURS, "Pinocchio")]
    figure, (axis,) = _figure(1, 1, 1.5 + 0.9 * len(pairs), 4)
    for k, (name, n) in enumerate(series):
        times = [results.seconds("batch", robot, label, name, n) for robot, label in pairs]
        shown = [(i + (k - 1.5) * 0.2, 1e9 * t) for i, t in enumerate(times) if t]
        if shown:
            label = f"{name}, {n} thread{'s' * (n > 1)}"
            axis.bar(
                *zip(*shown, strict=True),
                width=0.2,
                color=COLORS[name],
                alpha=1.0 if n == 1 else 0.5,
                label=label,
            )
    names = [f"{robot}\n{label}" for robot, label in pairs]
    axis.set(yscale="log", ylabel="ns a state", xticks=range(len(pairs)), title="Large batches, per state")
    axis.set_xticklabels(names, fontsize="small")
    axis.legend(frameon=False, fontsize="small")
    return figure


def _growth(results: Results) -> Any:
    timings = list(results.of_kind("growth"))
    labels = distinct(t.quantity for t in timings)
    columns = min(3, len(labels))
    rows = -(-len(labels) // columns)
    figure, axes = _figure(rows, columns, 4 * columns, 3.2 * rows + 0.5)
    drawn: dict[str, Any] = {}
    for axis, label in zip(axes, labels, strict=False):
        for name, color in COLORS.items():
            points = [
                (t.velocities, 1e6 * t.seconds)
                for t in timings
                if t.quantity == label and t.library == name and t.seconds
            ]
            if points:
                bold = 2.5 if name == OURS else 1.2
                (drawn[name],) = axis.plot(
                    *zip(*points, strict=True), "o-", color=color, linewidth=bold, markersize=3
                )
        axis.set(yscale="log", xlabel="joints", ylabel="µs a call", title=label)
    for axis in axes[len(labels) :]:
        axis.remove()
    figure.legend(drawn.values(), drawn.keys(), loc="outside upper center", ncols=8, frameon=False)
    return figure


def _operations(results: Results) -> Any:
    timings = [t for t in results.of_kind("growth") if t.library == OURS]
    labels = distinct(t.quantity for t in timings)
    figure, (axis,) = _figure(1, 1, 7, 4.5)
    longest = max(t.velocities for t in timings)
    for k, label in enumerate(labels):
        color = f"C{k}"
        points = [(t.velocities, t.operations) for t in timings if t.quantity == label]
        axis.plot(*zip(*points, strict=True), "o-", color=color, markersize=3, label=label)
        theirs = [
            (n, count)
            for n, count in zip(published.JOINTS, published.CHAINS.get(label, ()), strict=False)
            if n <= longest
        ]
        if theirs:
            axis.plot(*zip(*theirs, strict=True), "x--", color=color, alpha=0.5, markersize=4)
    axis.plot([], [], "x--", color="gray", label="urdf2casadi, published")
    axis.set(yscale="log", xlabel="joints", ylabel="operations", title="Operations of one evaluation, chains")
    axis.legend(frameon=False, fontsize="small")
    return figure
