"""How fast the joints move."""

from __future__ import annotations

from numpy.typing import ArrayLike

from helicoid.mpc.costs.cost import Cost, cost_of
from helicoid.mpc.system.symbols import Symbols


def velocity_cost(
    symbols: Symbols, weight: ArrayLike, end_weight: ArrayLike | None = None, name: str = "velocity"
) -> Cost:
    """½ w |v|² of the joints (rad/s, m/s)."""
    return cost_of(symbols, name, symbols["v"], weight, end_weight)
