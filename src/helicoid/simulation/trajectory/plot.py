"""Plots of trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helicoid.errors import HelicoidError, InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helicoid._typing import Array
    from helicoid.simulation.trajectory import Trajectory

_MAX_LEGEND_ENTRIES = 10  # joints in a legend that does not hide the plot


def plot(trajectory: Trajectory) -> Figure:
    """Coordinates, velocities, torques, energies and contact forces over time, one below the other."""
    if trajectory.batch is not None:
        raise InputError("a picture shows one motion: trajectory[k].plot()")
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise HelicoidError("plot needs matplotlib: pip install 'helicoid[plot]'") from error
    contacts = trajectory.contact_names
    n = 5 if contacts else 4
    figure, axes = plt.subplots(n, 1, sharex=True, figsize=(8, 2.25 * n), layout="constrained")
    _lines(axes[0], trajectory.t, trajectory.q, trajectory.q_names, "position (rad, m)")
    _lines(axes[1], trajectory.t, trajectory.v, trajectory.v_names, "velocity (rad/s, m/s)")
    _lines(axes[2], trajectory.t, trajectory.tau, trajectory.v_names, "force (N·m, N)", held=True)
    energies = {
        "kinetic": trajectory.kinetic_energy,
        "potential": trajectory.potential_energy,
        "total": trajectory.energy,
    }
    for name, values in energies.items():
        axes[3].plot(trajectory.t, values, label=name, color="black" if name == "total" else None)
    axes[3].set_ylabel("energy (J)")
    if contacts:
        sizes = np.linalg.norm(trajectory.contact_forces, axis=-1)
        _lines(axes[4], trajectory.t, sizes, contacts, "contact (N)", held=True)
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.margins(x=0)
    named = [len(trajectory.q_names), len(trajectory.v_names), _MAX_LEGEND_ENTRIES + 1, 3, len(contacts)]
    for axis, n in zip(axes, named[: len(axes)], strict=True):
        if n <= _MAX_LEGEND_ENTRIES:
            axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    axes[-1].set_xlabel("time (s)")
    figure.suptitle(trajectory.name)
    return figure


def _lines(axis: Any, t: Array, values: Array, names: Sequence[str], label: str, held: bool = False) -> None:
    for k, name in enumerate(names):
        axis.plot(t, values[:, k], label=name, drawstyle="steps-post" if held else "default")
    axis.set_ylabel(label)
