"""Costs on the position and orientation of frames."""

from __future__ import annotations

from typing import Any

import casadi as ca
from numpy.typing import ArrayLike

from helicoid.geometry import so3
from helicoid.mpc.costs.cost import Cost, cost_of
from helicoid.mpc.system.symbols import Symbols


def position_cost(
    symbols: Symbols,
    frame: str,
    target: ArrayLike,
    weight: ArrayLike,
    end_weight: ArrayLike | None = None,
    name: str = "position",
) -> Cost:
    """½ w |p(q) - target|² of a frame's origin in the world (m)."""
    desired = symbols.parameter(name, target, 3)
    p = symbols.robot.pose(frame)(symbols["q"])[:3, 3]
    return cost_of(symbols, name, p - desired.symbol, weight, end_weight, parameters=[desired])


def orientation_cost(
    symbols: Symbols,
    frame: str,
    target: ArrayLike,
    weight: ArrayLike,
    end_weight: ArrayLike | None = None,
    name: str = "orientation",
) -> Cost:
    """½ w |log(R_targetᵀ R(q))|², the angle (rad) between a frame and a target rotation (3 × 3)."""
    desired = symbols.parameter(name, target, 9)
    R = symbols.robot.pose(frame)(symbols["q"])[:3, :3]
    R_inverse = ca.reshape(desired.symbol, 3, 3)  # CasADi reads by columns what NumPy wrote by rows
    return cost_of(symbols, name, so3.log(R_inverse @ R), weight, end_weight, parameters=[desired])


def pose_cost(
    symbols: Symbols,
    frame: str,
    target: ArrayLike,
    weight: ArrayLike,
    end_weight: ArrayLike | None = None,
    name: str = "pose",
) -> Cost:
    """Orientation and position of a frame in one, for a target pose (4 × 4).

    ½ w |r|² of r = (log(R_targetᵀ R(q)), p(q) - p_target), in (rad, rad, rad, m, m, m).
    """
    desired = symbols.parameter(name, target, 16)
    T: Any = symbols.robot.pose(frame)(symbols["q"])
    goal: Any = ca.reshape(desired.symbol, 4, 4).T
    turn = so3.log(goal[:3, :3].T @ T[:3, :3])
    residual = ca.vertcat(turn, T[:3, 3] - goal[:3, 3])
    return cost_of(symbols, name, residual, weight, end_weight, parameters=[desired])
