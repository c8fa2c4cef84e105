"""Limits of the robot: position, velocity and effort of its joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from helicoid.errors import InputError
from helicoid.mpc.constraints.constraint import Constraint, Soft, constraint_on
from helicoid.mpc.system.symbols import Symbols


def limit_constraints(
    symbols: Symbols,
    position: float | None = 1.0,
    velocity: float | None = 1.0,
    torque: float | None = 1.0,
    soft: Soft = None,
) -> list[Constraint]:
    """The robot's own limits, each times a factor: `position_limit`, `velocity_limit` and `torque_limit`.

    None leaves one out, and coordinates without a limit are left out. A factor of a range shrinks it towards
    its middle; a range on one side only, which has none, stays as it is. A motor with an effort limit of zero
    gives no torque, as in a simulation; a velocity limit of zero counts as none.
    """
    if any(factor is not None and not 0 < factor < np.inf for factor in (position, velocity, torque)):
        raise InputError(
            f"factors of limits are positive, or None to leave one out; got {position}, {velocity}, {torque}"
        )
    robot = symbols.robot
    moving, driven = range(robot.nv), robot.actuated
    found = [
        None if position is None else _range(symbols, position, soft),
        _symmetric(symbols, "velocity_limit", "v", robot.limits.velocity, moving, velocity, soft),
        _symmetric(symbols, "torque_limit", "tau", robot.limits.effort, driven, torque, soft),
    ]
    # Where not all can be met, torque comes first (see `constraint_on`), then velocity: it is not by rushing
    # that a robot returns to its range.
    order = {"velocity_limit": 10.0}
    return [replace(one, priority=order.get(one.name, one.priority)) for one in found if one is not None]


def _range(symbols: Symbols, factor: float, soft: Soft) -> Constraint | None:
    robot, model = symbols.robot, symbols.robot.model
    lower, upper = robot.limits.lower, robot.limits.upper
    turning = {k for part in model.quaternions for k in range(robot.nq)[part]}
    limited = np.isfinite(lower) | np.isfinite(upper)
    at = [k for k in range(robot.nq) if limited[k] and k not in turning]
    if not at:
        return None
    low, high = lower[at], upper[at]
    both = np.isfinite(low) & np.isfinite(high)
    half = np.where(both, np.subtract(high, low, where=both, out=np.full(len(at), 2.0)) / 2, 1.0)
    inward = np.where(both, (1 - factor) * half, 0.0)
    labels = [model.coordinate_names[k] for k in at]
    scale = 1 / np.maximum(half, 1e-3)
    rows = symbols["q"][at]
    return constraint_on(
        symbols, "position_limit", rows, low + inward, high - inward, soft, scale=scale, labels=labels
    )


def _symmetric(
    symbols: Symbols,
    name: str,
    key: str,
    bound: np.ndarray,
    among: Sequence[int],
    factor: float | None,
    soft: Soft,
) -> Constraint | None:
    """-factor · bound ≤ v or τ ≤ factor · bound where there is a bound."""
    at = [k for k in among if np.isfinite(bound[k]) and (bound[k] > 0 or key == "tau")]
    if factor is None or not at:
        return None
    high, names = factor * bound[at], symbols.robot.model.velocity_names
    labels, scale = [names[k] for k in at], 1 / np.where(high > 0, high, 1.0)
    return constraint_on(symbols, name, symbols[key][at], -high, high, soft, scale=scale, labels=labels)
