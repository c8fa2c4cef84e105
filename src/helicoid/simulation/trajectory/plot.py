"""Plots of quantities over time: of trajectories, and for plans and excitation trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError, optional_import

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helicoid.simulation.trajectory import Trajectory

_MAX_LEGEND_ENTRIES = 12  # names in a legend that does not hide the plot


class Panel(NamedTuple):
    """Columns of `values` (N or N - 1, n) over time.

    Values of N - 1 intervals, and those that are `held`, are drawn as steps. A `limit` of the columns (n,)
    that is nearly reached is drawn dashed.
    """

    label: str
    values: Array
    names: Sequence[str] = ()
    held: bool = False
    limit: Array | None = None
    colors: Sequence[str] = ()


def plot_over_time(t: Array, panels: Sequence[Panel], title: str) -> Figure:
    """A matplotlib figure with one panel below the other, and a legend where the names change.

    Raises:
        HelicoidError: matplotlib is not installed.
    """
    plt = optional_import("matplotlib.pyplot", "a plot", "helicoid[plot]")
    size = 8, 2.25 * len(panels)
    figure, axes = plt.subplots(len(panels), 1, sharex=True, figsize=size, layout="constrained")
    shown: Sequence[str] = ()
    for axis, panel in zip(axes, panels, strict=True):
        _draw(axis, t, panel)
        axis.set_ylabel(panel.label)
        axis.grid(alpha=0.3)
        axis.margins(x=0)
        if 0 < len(panel.names) <= _MAX_LEGEND_ENTRIES and panel.names != shown:
            axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
            shown = panel.names
    axes[-1].set_xlabel("time (s)")
    figure.suptitle(title)
    return figure


def _draw(axis: Any, t: Array, panel: Panel) -> None:
    values, n = panel.values, panel.values.shape[1]
    held = panel.held or len(values) < len(t)
    rows = np.vstack([values, values[-1:]]) if len(values) < len(t) else values
    for k in range(n):
        label = panel.names[k] if panel.names else None
        color = panel.colors[k] if panel.colors else f"C{k % 10}"
        axis.plot(t, rows[:, k], label=label, color=color, drawstyle="steps-post" if held else "default")
    limit = panel.limit
    for level in [] if limit is None else np.unique(limit[np.isfinite(limit)]):
        reached = values[:, limit == level]
        for side in (-1, 1):
            if np.max(side * reached) > 0.7 * level:
                axis.axhline(side * level, color="0.4", linestyle="--", linewidth=0.8)


def plot(trajectory: Trajectory) -> Figure:
    """Coordinates, velocities, torques, energies and contact forces over time, one below the other."""
    if trajectory.batch is not None:
        raise InputError("a picture shows one motion: trajectory[k].plot()")
    energies = (trajectory.kinetic_energy, trajectory.potential_energy, trajectory.energy)
    names = ("kinetic", "potential", "total")
    panels = [
        Panel("position (rad, m)", trajectory.q, trajectory.q_names),
        Panel("velocity (rad/s, m/s)", trajectory.v, trajectory.v_names),
        Panel("force (N·m, N)", trajectory.tau, trajectory.v_names, held=True),
        Panel("energy (J)", np.column_stack(energies), names, colors=("C0", "C1", "black")),
    ]
    if trajectory.contact_names:
        sizes = np.linalg.norm(trajectory.contact_forces, axis=-1)
        panels.append(Panel("contact (N)", sizes, trajectory.contact_names, held=True))
    return plot_over_time(trajectory.t, panels, trajectory.name)
