"""Pictures of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helicoid.mpc.plan.plan import Plan
from helicoid.simulation.trajectory.plot import Panel, plot_over_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(plan: Plan) -> Figure:
    """Coordinates, velocities and torques (or states and controls) over time."""
    if plan.q is None or plan.v is None or plan.tau is None:
        panels = [Panel("state", plan.x), Panel("control", plan.u)]
    else:
        names = () if plan.robot is None else plan.robot.model.velocity_names
        panels = [
            Panel("coordinates (rad, m)", plan.q),
            Panel("velocity (rad/s, m/s)", plan.v, names, limit=plan.velocity_limit),
            Panel("torque (N·m, N)", plan.tau, names, limit=plan.torque_limit),
        ]
    return plot_over_time(plan.t, panels, f"{plan.message}, cost {plan.cost:.4g}; limits dashed")
