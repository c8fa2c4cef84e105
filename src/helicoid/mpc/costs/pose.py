"""Where a frame is and how it is turned, in one."""

from __future__ import annotations

from typing import Any

import casadi as ca
from numpy.typing import ArrayLike

from helicoid.geometry import so3
from helicoid.mpc.costs.cost import Cost, cost_of
from helicoid.mpc.system.symbols import Symbols


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
    wanted = symbols.parameter(name, target, 16)
    T: Any = symbols.robot.pose(frame)(symbols["q"])
    goal: Any = ca.reshape(wanted.symbol, 4, 4).T
    turn = so3.log(goal[:3, :3].T @ T[:3, :3])
    residual = ca.vertcat(turn, T[:3, 3] - goal[:3, 3])
    return cost_of(symbols, name, residual, weight, end_weight, parameters=[wanted])
