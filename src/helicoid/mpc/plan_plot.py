"""Pictures of a plan."""

from __future__ import annotations

from typing import Any

import numpy as np

from helicoid.dynamics.parametric import velocity_names
from helicoid.model.inertia import Array
from helicoid.mpc.plan import Plan


def plot(plan: Plan) -> Any:
    """Coordinates, velocities and torques (or states and controls) over time."""
    from matplotlib import pyplot

    panels: list[tuple[str, Array, Array | None]]
    if plan.robot is None:
        panels = [("state", plan.x, None), ("control", plan.u, None)]
        names: list[str] = []
    else:
        assert plan.q is not None and plan.v is not None and plan.tau is not None
        names = velocity_names(plan.robot.model)
        limits = plan.robot.limits
        panels = [
            ("coordinates (rad, m)", plan.q, None),
            ("velocity (rad/s, m/s)", plan.v, limits.velocity),
            ("torque (N·m, N)", plan.tau, limits.effort),
        ]
    figure, axes = pyplot.subplots(len(panels), 1, sharex=True, figsize=(7, 2.3 * len(panels)))
    for axis, (label, values, bound) in zip(axes, panels, strict=True):
        _draw(axis, plan.t, values, bound)
        axis.set_ylabel(label)
        axis.grid(alpha=0.25)
    axes[-1].set_xlabel("time (s)")
    axes[0].set_title(plan.status, fontsize=10, loc="left")
    if names and len(names) <= 14:
        lines = axes[1].get_lines()[: len(names)]
        figure.legend(lines, names, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)
    figure.tight_layout()
    return figure


def _draw(axis: Any, t: Array, values: Array, bound: Array | None) -> None:
    """A line for each column; what belongs to intervals as steps; limits that are nearly reached, dashed."""
    for k in range(values.shape[1]):
        color = f"C{k % 10}"
        if len(values) == len(t):
            axis.plot(t, values[:, k], color=color)
        else:
            axis.step(t, np.append(values[:, k], values[-1, k]), where="post", color=color)
        if bound is not None and np.isfinite(bound[k]) and np.abs(values[:, k]).max() > 0.4 * bound[k]:
            for side in (-1, 1):
                if side * values[:, k].max() > 0.4 * bound[k] or side * values[:, k].min() > 0.4 * bound[k]:
                    axis.axhline(side * bound[k], color=color, linestyle=":", linewidth=0.8)
