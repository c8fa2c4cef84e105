"""How fast the controls change."""

from __future__ import annotations

import casadi as ca
from numpy.typing import ArrayLike

from helicoid.mpc.costs.cost import Cost, cost_of
from helicoid.mpc.system.symbols import Symbols
from helicoid.mpc.system.system import State

PREVIOUS = "previous"  # the state that is the control of the step before


def control_rate_cost(symbols: Symbols, weight: ArrayLike, name: str = "control_rate") -> Cost:
    """½ w |(u - u_before) / h|²: jerk (rad/s³) where the controls are accelerations.

    The control before the first is free, unless a Controller knows what it applied.
    """
    system = symbols.system
    states: list[State] = []
    if PREVIOUS not in symbols:
        states.append(State(PREVIOUS, ca.SX.sym(PREVIOUS, system.nu), system.u))
    before = states[0].symbol if states else symbols[PREVIOUS]
    return cost_of(symbols, name, (system.u - before) / system.length, weight, states=states)
