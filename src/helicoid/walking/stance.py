"""Feet in stance: the height of the ground under them, and forces against their creeping."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.compiler import Function
from helicoid.robot.robot import Robot

_GROUND_TIME_CONSTANT = 0.1  # s
_STIFFNESS = 10.0  # 1/m, in units of a foot's share of the weight: 1 cm of drift pulls with a tenth of it
_MAX_SHARE = 0.1  # of a foot's share of the weight


class Stance:
    """Estimate of the ground and feedback of the feet in stance, from measured configurations.

    A contact that is not rigid creeps in the direction of its tangential force. The horizontal distances
    between the feet in stance are kept as they were at touchdown: a foot that has drifted by δ beyond the
    mean of the others is pulled back by a force in the opposite direction, which the ground answers with
    k δ. Common displacements of all feet are left alone, as an estimate of the base has such
    errors too.

    Args:
        robot: on a floating base.
        feet: names of their frames; `radius` of balls around them (m).
    """

    def __init__(self, robot: Robot, feet: Sequence[str], radius: float) -> None:
        q = ca.SX.sym("q", robot.nq)
        points = [robot.pose(foot)(q)[:3, 3] - ca.vertcat(0, 0, radius) for foot in feet]
        positions: dict[str, ca.SX] = {"positions": ca.vertcat(*points)}
        self._positions = Function.from_expressions("foot_positions", {"q": q}, positions)
        share = robot.mass * 9.81 / len(feet)
        self._stiffness, self._max_force = _STIFFNESS * share, _MAX_SHARE * share
        self._anchors = np.zeros((len(feet), 2))
        self.forces = np.zeros((len(feet), 3))
        """Forces that the ground should add on the feet (N, world)."""
        self.reset()

    def reset(self) -> None:
        """Forget the ground and where the feet touched it."""
        self.ground = np.nan
        """Height of the ground under the feet in stance (m)."""
        self._standing: NDArray[np.bool_] = np.zeros(len(self.forces), bool)
        self.forces[:] = 0.0

    def update(self, q: Array, standing: NDArray[np.bool_], dt: float) -> None:
        """Take a measured configuration, with these feet in stance, dt seconds after the last one."""
        points = self._positions(q).reshape(-1, 3)
        self.forces[:] = 0.0
        landed = standing & ~self._standing
        self._anchors[landed] = points[landed, :2]
        self._standing = standing.copy()
        if not standing.any():
            return
        height = float(points[standing, 2].mean())
        gain = 1.0 if np.isnan(self.ground) else min(1.0, dt / _GROUND_TIME_CONSTANT)
        self.ground = height if gain == 1.0 else self.ground + gain * (height - self.ground)
        drift = points[standing, :2] - self._anchors[standing]
        pull = self._stiffness * (drift - drift.mean(axis=0))
        self.forces[standing, :2] = np.clip(pull, -self._max_force, self._max_force)
