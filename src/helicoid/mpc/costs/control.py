"""How large the controls are."""

from __future__ import annotations

from numpy.typing import ArrayLike

from helicoid.mpc.costs.cost import Cost, cost_of
from helicoid.mpc.system.symbols import Symbols


def control_cost(symbols: Symbols, weight: ArrayLike, name: str = "control") -> Cost:
    """½ w |u|² of the controls: accelerations (rad/s², m/s²) or torques (N·m, N), and contact forces (N)."""
    return cost_of(symbols, name, symbols.system.u, weight)
