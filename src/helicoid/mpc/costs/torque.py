"""How much the motors do, beyond holding the robot up."""

from __future__ import annotations

from numpy.typing import ArrayLike

from helicoid.mpc.costs.cost import Cost, cost_of
from helicoid.mpc.system.symbols import Symbols


def torque_cost(
    symbols: Symbols, weight: ArrayLike, reference: ArrayLike | None = None, name: str = "torque"
) -> Cost:
    """½ w |τ - τ_ref|² (N·m, N); the reference is gravity g(q), or given numbers (nv), settable as `name`."""
    robot, tau = symbols.robot, symbols["tau"]
    if reference is None:
        return cost_of(symbols, name, tau - robot.gravity(symbols["q"], symbols.system.theta), weight)
    held = symbols.parameter(name, reference, robot.nv)
    return cost_of(symbols, name, tau - held.symbol, weight, parameters=[held])
