"""How a frame is turned."""

from __future__ import annotations

import casadi as ca
from numpy.typing import ArrayLike

from helicoid.geometry import so3
from helicoid.mpc.costs.cost import Cost, cost_of
from helicoid.mpc.system.symbols import Symbols


def orientation_cost(
    symbols: Symbols,
    frame: str,
    target: ArrayLike,
    weight: ArrayLike,
    end_weight: ArrayLike | None = None,
    name: str = "orientation",
) -> Cost:
    """½ w |log(R_targetᵀ R(q))|², the angle (rad) between a frame and a target rotation (3 × 3)."""
    wanted = symbols.parameter(name, target, 9)
    R = symbols.robot.pose(frame)(symbols["q"])[:3, :3]
    turned_back = ca.reshape(wanted.symbol, 3, 3)  # CasADi reads by columns what NumPy wrote by rows
    return cost_of(symbols, name, so3.log(turned_back @ R), weight, end_weight, parameters=[wanted])
