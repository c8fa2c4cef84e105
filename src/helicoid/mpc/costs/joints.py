"""Costs on the configuration and velocity of the joints."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from helicoid.dynamics.kinematics import configuration
from helicoid.mpc.costs.cost import Cost, cost_of
from helicoid.mpc.system.symbols import Symbols


def posture_cost(
    symbols: Symbols,
    target: ArrayLike,
    weight: ArrayLike,
    end_weight: ArrayLike | None = None,
    name: str = "posture",
) -> Cost:
    """½ w |q ⊖ target|²: distance of the joints from a posture (nq), in the tangent space (nv)."""
    robot = symbols.robot
    desired = replace(symbols.parameter(name, target, robot.nq), configuration=True)
    residual = configuration.difference(robot.model, desired.symbol, symbols["q"])
    return cost_of(symbols, name, residual, weight, end_weight, parameters=[desired])


def velocity_cost(
    symbols: Symbols, weight: ArrayLike, end_weight: ArrayLike | None = None, name: str = "velocity"
) -> Cost:
    """½ w |v|² of the joints (rad/s, m/s)."""
    return cost_of(symbols, name, symbols["v"], weight, end_weight)
