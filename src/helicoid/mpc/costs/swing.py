"""Cost on the height of swing feet."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid.errors import InputError
from helicoid.mpc.costs.cost import Cost, cost_of
from helicoid.mpc.system.feet import foot
from helicoid.mpc.system.parameter import Parameter
from helicoid.mpc.system.symbols import Symbols

PROFILE = "swing_profile"
"""The parameter that follows the schedule: of each foot whether it swings, over which line, and a bump."""


def swing_cost(symbols: Symbols, height: float, weight: ArrayLike, name: str = "swing_height") -> Cost:
    """½ w |z - z_ref|² of the feet that swing (m): z_ref rises by `height` over the line between two stands.

        z_ref = z₀ + (z₁ - z₀) s² (3 - 2 s) + 16 s² (1 - s)² height,   s from 0 to 1

    Needs phases. The height changes at run time by its name.
    """
    schedule = symbols.schedule
    if schedule is None:
        raise InputError("no foot swings: give the problem phases first")
    feet = schedule.contacts
    n = 3 * len(feet)
    profile = Parameter(PROFILE, ca.SX.sym(PROFILE, n), np.zeros((symbols.nodes, n)), {})
    desired = symbols.parameter(name, height, 1)
    rows = []
    for k, one in enumerate(feet):
        z = foot(symbols.robot, one, schedule.radius, symbols["q"])[0][2]
        swings, line, bump = ca.vertsplit(profile.symbol[3 * k : 3 * k + 3])
        rows.append(swings * (z - line - bump * desired.symbol))
    return cost_of(symbols, name, ca.vertcat(*rows), weight, parameters=[profile, desired])
