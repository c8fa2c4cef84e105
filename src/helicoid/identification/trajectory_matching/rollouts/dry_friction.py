"""Dry friction where it holds a joint: exact, or soft as MuJoCo's.

MuJoCo's friction is a constraint on the velocity with a spring-damper of impedance d (its documentation,
"Computation", solver parameters): a joint with friction f and acceleration a follows

    f = (b v + a) / R  within ± the bound,    b = 2 / (d_max timeconst),    R = (1 - d) / d invweight0

with its default `solreffriction` and `solimpfriction`. It creeps at rest, and turns with v + a / b, some
10 ms before the velocity does.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.robot import Robot

_TIME_CONSTANT = 0.02  # s, of `solreffriction`
_IMPEDANCE, _MAX_IMPEDANCE = 0.9, 0.95  # of `solimpfriction`

DryFrictionKind = Literal["exact", "mujoco"]


class DryFriction(NamedTuple):
    """Friction (v + lead a) / creep within ± its bound: creep (nv) in rad/s per N·m, lead in s."""

    creep: Array
    lead: float

    @staticmethod
    def of(kind: DryFrictionKind, robot: Robot, theta: Array) -> DryFriction:
        """Of a parametric robot: joints that friction holds rest, or creep as MuJoCo's do by default."""
        if kind == "exact":
            return DryFriction(np.zeros(robot.nv), 0.0)
        lead = _MAX_IMPEDANCE * _TIME_CONSTANT / 2
        weight = np.diagonal(np.asarray(robot.mass_matrix_inverse(robot.neutral(), theta)))
        return DryFriction((1 - _IMPEDANCE) / _IMPEDANCE * lead * weight, lead)
