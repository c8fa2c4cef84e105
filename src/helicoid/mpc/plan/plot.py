"""Pictures of a plan."""

from __future__ import annotations

from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.mpc.plan.plan import Plan


def plot(plan: Plan) -> Any:
    """Coordinates, velocities and torques (or states and controls) over time."""
    from matplotlib import pyplot

    panels: list[tuple[str, Array, Array | None]]
    names: tuple[str, ...] = ()
    if plan.q is None or plan.v is None or plan.tau is None:
        panels = [("state", plan.x, None), ("control", plan.u, None)]
    else:
        names = () if plan.robot is None else plan.robot.model.velocity_names
        panels = [
            ("coordinates (rad, m)", plan.q, None),
            ("velocity (rad/s, m/s)", plan.v, plan.velocity_limit),
            ("torque (N·m, N)", plan.tau, plan.torque_limit),
        ]
    figure, axes = pyplot.subplots(len(panels), 1, sharex=True, figsize=(7, 2.3 * len(panels)))
    for axis, (label, values, bound) in zip(axes, panels, strict=True):
        lines = _draw(axis, plan.t, values, bound)
        axis.set_ylabel(label)
        axis.grid(alpha=0.25)
    axes[-1].set_xlabel("time (s)")
    axes[0].set_title(f"{plan.message}, cost {plan.cost:.4g}; limits dashed", fontsize=10, loc="left")
    if names and len(names) <= 14:
        figure.legend(lines, names, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)
    figure.tight_layout()
    return figure


def _draw(axis: Any, t: Array, values: Array, bound: Array | None) -> list[Any]:
    """A line for each column; what belongs to intervals as steps; limits that are nearly reached, dashed."""
    lines = []
    for k in range(values.shape[1]):
        color = f"C{k % 10}"
        if len(values) == len(t):
            lines += axis.plot(t, values[:, k], color=color)
        else:
            lines += axis.step(t, np.append(values[:, k], values[-1, k]), where="post", color=color)
    for level in [] if bound is None else np.unique(bound[np.isfinite(bound)]):
        reached = values[:, bound == level]
        for side in (-1, 1):
            if np.max(side * reached) > 0.7 * level:
                axis.axhline(side * level, color="0.4", linestyle="--", linewidth=0.8)
    return lines
