"""Where a frame is."""

from __future__ import annotations

from numpy.typing import ArrayLike

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
    wanted = symbols.parameter(name, target, 3)
    p = symbols.robot.pose(frame)(symbols["q"])[:3, 3]
    return cost_of(symbols, name, p - wanted.symbol, weight, end_weight, parameters=[wanted])
