"""Constraints of every problem: closed loops and contacts, control limits, a free duration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from helicoid.mpc.constraints.constraint import PHYSICAL, Constraint, constraint_on
from helicoid.mpc.system.symbols import Symbols
from helicoid.simulation.equations.actuated import ActuatedSystem


def hold_constraints(symbols: Symbols) -> list[Constraint]:
    """The expressions that the system says must be zero at every node with a control."""
    return [
        replace(constraint_on(symbols, name, rows, 0.0, 0.0, scale=_scale(symbols, name)), priority=PHYSICAL)
        for name, rows in symbols.system.holds.items()
    ]


def _scale(symbols: Symbols, name: str) -> float:
    """One over what counts as much: for forces of a robot its weight, for accelerations 10 m/s²."""
    if name != "unactuated" or symbols.own_robot is None:
        return 0.1
    weight = 9.81 * sum(body.inertia.mass for body in symbols.robot.model.bodies)
    return float(1 / max(weight, 1.0))


def duration_constraint(symbols: Symbols, shortest: float, longest: float) -> Constraint:
    """shortest ≤ T ≤ longest: the total time (s) where that is free."""
    return constraint_on(
        symbols, "duration", symbols["duration"], shortest, longest, on_path=False, scale=1 / longest
    )


def control_limit(symbols: Symbols, system: ActuatedSystem) -> list[Constraint]:
    """Limits of the controls of an actuated system, where it has any: `control_limit`."""
    lower, upper = system.control_limits
    at = [k for k in range(len(lower)) if np.isfinite(lower[k]) or np.isfinite(upper[k])]
    if not at:
        return []
    low, high = lower[at], upper[at]
    both = np.isfinite(low) & np.isfinite(high)
    half = np.where(both, (np.where(both, high, 1.0) - np.where(both, low, 0.0)) / 2, 1.0)
    labels = [system.controls[k] for k in at]
    made = constraint_on(symbols, "control_limit", symbols["u"][at], low, high, scale=1 / half, labels=labels)
    return [replace(made, priority=PHYSICAL)]
