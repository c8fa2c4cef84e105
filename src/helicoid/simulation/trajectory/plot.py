"""The picture of a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helicoid.errors import HelicoidError, InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helicoid._typing import Array
    from helicoid.simulation.trajectory import Trajectory

_LEGEND = 10  # joints that a legend can name without hiding the picture


def plot(trajectory: Trajectory) -> Figure:
    """Coordinates, velocities, torques and energies over time, one below the other."""
    if trajectory.batch is not None:
        raise InputError("a picture shows one motion: trajectory[k].plot()")
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise HelicoidError("plot needs matplotlib: pip install 'helicoid[plot]'") from error
    figure, axes = plt.subplots(4, 1, sharex=True, figsize=(8, 9), layout="constrained")
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
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.margins(x=0)
    for axis, n in ((axes[0], len(trajectory.q_names)), (axes[1], len(trajectory.v_names)), (axes[3], 3)):
        if n <= _LEGEND:
            axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    axes[3].set_xlabel("time (s)")
    figure.suptitle(trajectory.name)
    return figure


def _lines(axis: Any, t: Array, values: Array, names: Sequence[str], label: str, held: bool = False) -> None:
    for k, name in enumerate(names):
        axis.plot(t, values[:, k], label=name, drawstyle="steps-post" if held else "default")
    axis.set_ylabel(label)
