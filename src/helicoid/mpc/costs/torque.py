"""How much the motors do, beyond holding the robot up."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helicoid.mpc.costs.cost import Cost, cost_of
from helicoid.mpc.system.symbols import Symbols


def torque_cost(
    symbols: Symbols, weight: ArrayLike, reference: ArrayLike | None = None, name: str = "torque"
) -> Cost:
    """½ w |τ - τ_ref|² (N·m, N) of the motors; τ_ref is what holds the robot up, gravity g(q) and what a
    controller finds that the model lacks, or numbers (nv), settable as `name`.

    Where there is no motor τ is zero, and costs nothing. Weights are one for all, or nv of them.
    """
    robot, tau = symbols.robot, symbols["tau"]
    driven = list(robot.actuated) or list(range(robot.nv))
    weights = np.asarray(weight)[driven] if np.shape(weight) == (robot.nv,) else weight
    if reference is None:
        held, d = robot.gravity(symbols["q"], symbols.system.theta), symbols.system.disturbance
        held = held + d if d.numel() else held
        return cost_of(symbols, name, (tau - held)[driven], weights)
    given = symbols.parameter(name, reference, robot.nv)
    return cost_of(symbols, name, (tau - given.symbol)[driven], weights, parameters=[given])
