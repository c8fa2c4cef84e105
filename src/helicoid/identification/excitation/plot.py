"""Plot of an excitation trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helicoid.errors import HelicoidError

if TYPE_CHECKING:
    from helicoid.identification.excitation.excitation import Excitation

_MAX_LEGEND = 12  # joints


def plot(motion: Excitation) -> Any:
    """Coordinates, velocities, accelerations and torques over one period, one below the other."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise HelicoidError("plots need matplotlib: pip install 'helicoid[plot]'") from error
    figure, axes = plt.subplots(4, 1, sharex=True, figsize=(9, 9), layout="constrained")
    panels = {
        "position (rad, m)": motion.q,
        "velocity (rad/s, m/s)": motion.v,
        "acceleration (rad/s², m/s²)": motion.a,
        "torque (N·m, N)": motion.tau,
    }
    names = motion.trajectory.v_names
    for axis, (label, values) in zip(axes, panels.items(), strict=True):
        for k, name in enumerate(names):
            axis.plot(motion.t, values[:, k], label=name, linewidth=1.3)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        axis.margins(x=0)
    if len(names) <= _MAX_LEGEND:
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize="small")
    axes[-1].set_xlabel("time (s)")
    figure.suptitle(
        f"{motion.trajectory.name}: excitation trajectory, condition number {motion.condition:.3g}, "
        f"log det {motion.log_det:.4g}"
    )
    return figure
