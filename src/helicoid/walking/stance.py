"""Feet in stance: the height of the ground under them, and forces against their creeping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.compiler import Function
from helicoid.mpc import Phase
from helicoid.robot.robot import Robot
from helicoid.walking.compliance import Compliance

_GROUND_TIME_CONSTANT, _SLOPE_TIME_CONSTANT = 0.1, 0.5  # s
_RIDGE = 2e-3 * np.eye(2)  # m²: of the fit of the slope, for feet on a line
_MAX_SLOPE = 0.5
_STIFFNESS = 10.0  # 1/m, in units of a foot's share of the weight: 1 cm of drift pulls with a tenth of it
_MAX_SHARE = 0.1  # of a foot's share of the weight
_FALLING, _LANDED = -0.5, -0.2  # m/s: velocities of feet without and with ground, in stance
_DEPTH = 0.01  # m below the expected ground, that compliant ground accounts for
_MAX_LOAD = 100.0  # of a foot's share of the weight
_ROUGHNESS_TIME_CONSTANT = 2.0  # s
_LOAD_TIME_CONSTANT = 0.02  # s: in which ground yields to a load


class Stance:
    """Estimate of the ground and feedback of the feet in stance, from measured states.

    The ground is a plane through the last points of contact of all feet: its height under the trunk, and its
    slope. A foot that the gait has in stance and that falls below it has no ground yet: it is `late`.

    A contact that is not rigid creeps in the direction of its tangential force. The horizontal distances
    between the feet in stance are kept as they were at touchdown: a foot that has drifted by δ beyond the
    mean of the others is pulled back by a force in the opposite direction, which the ground answers with
    k δ. Common displacements of all feet are left alone, as an estimate of the base has such
    errors too.

    Feet sink into compliant ground under their load: its `surface` is where they would be without it, see
    `Compliance`. The height of the trunk counts from there; feet, and the plane through them, stay as they
    are, as loads that move between the feet would tilt it and the plan with it.

    Args:
        robot: on a floating base.
        feet: names of their frames; `radius` of balls around them (m).
        posture: nominal configuration, with the base above the origin.
    """

    def __init__(self, robot: Robot, feet: Sequence[str], radius: float, posture: Array) -> None:
        self._feet, self._radius = tuple(feet), radius
        q, v = ca.SX.sym("q", robot.nq), ca.SX.sym("v", robot.nv)
        points = [robot.pose(foot)(q)[:3, 3] - ca.vertcat(0, 0, radius) for foot in feet]
        falls = [robot.velocity(foot, "world_aligned")(q, v)[5] for foot in feet]
        rows: dict[str, ca.SX] = {"feet": ca.vertcat(*points, *falls)}
        self._motion = Function.from_expressions("foot_motion", {"q": q, "v": v}, rows)
        self._offsets = np.array([robot.pose(foot)(posture)[:2, 3] for foot in feet])
        share = robot.mass * 9.81 / len(feet)
        self._stiffness, self._max_force = _STIFFNESS * share, _MAX_SHARE * share
        self._compliance, self._max_load = Compliance(len(feet), share), _MAX_LOAD * share
        self._anchors = np.zeros((len(feet), 2))
        self.forces = np.zeros((len(feet), 3))
        """Forces that the ground should add on the feet (N, world)."""
        self.reset()

    def reset(self) -> None:
        """Forget the ground and where the feet touched it."""
        n = len(self.forces)
        self.ground = np.nan
        """Height of the ground under the trunk (m), as deep as the feet press into it."""
        self.slope = np.zeros(2)
        """Gradient of the ground along x and y of the world."""
        self.late: NDArray[np.bool_] = np.zeros(n, bool)
        """Feet that have not reached the ground, although the gait has them in stance."""
        self._standing: NDArray[np.bool_] = np.zeros(n, bool)
        self._known: NDArray[np.bool_] = np.zeros(n, bool)
        self._points, self._contacts, self._base = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(2)
        self._loads, self._sunk = np.zeros(n), np.zeros(n)
        self.depth = 0.0
        """Mean depth that loads press the feet into the ground (m), low-passed."""
        self.slid = 0.0
        """Largest distance that a foot in stance has drifted from the others, along x or y (m)."""
        self.roughness = 0.0
        """Largest deviation of the points of contact from a plane (m), low-passed."""
        self._compliance.reset()
        self.forces[:] = 0.0

    def update(
        self, q: Array, v: Array, standing: NDArray[np.bool_], dt: float, loads: Array | None = None
    ) -> None:
        """Take a measured state, with these feet in stance by the gait, dt seconds after the last one.

        `loads` are the normal forces on the feet (N).
        """
        motion, n = self._motion(q, v), 3 * len(self._feet)
        self._points, falling = motion[:n].reshape(-1, 3), motion[n:]
        below = self._points[:, 2] < self._height(self._points, q) - _DEPTH
        self.late = standing & np.where(self.late, falling < _LANDED, below & (falling < _FALLING))
        standing = standing & ~self.late
        self.forces[:], self.slid = 0.0, 0.0
        landed = standing & ~self._standing
        self._anchors[landed] = self._points[landed, :2]
        self._standing = standing
        self._contacts[standing] = self._points[standing]
        if loads is not None:
            loads = np.fmin(np.fmax(loads, 0.0), self._max_load) * standing  # 0 for NaN
            gain = min(1.0, dt / _LOAD_TIME_CONSTANT) if self._known.any() else 1.0
            self._loads += gain * (loads - self._loads)
            self._compliance.update(self._points[:, 2], falling, self._loads, standing, dt)
            self._sunk[standing] = self._compliance.value * self._loads[standing]
        self._known |= standing
        if self._known.any():
            self._fit(q, dt)
        if not standing.any():
            return
        drift = self._points[standing, :2] - self._anchors[standing]
        drift -= drift.mean(axis=0)
        self.slid = float(np.abs(drift).max())
        pull = self._stiffness * drift
        self.forces[standing, :2] = np.clip(pull, -self._max_force, self._max_force)

    def _fit(self, q: Array, dt: float) -> None:
        """Least squares of z = level + slope (xy - centre) over the contacts, low-passed."""
        known = self._contacts[self._known]
        centre = known.mean(axis=0)
        d, z = known[:, :2] - centre[:2], known[:, 2] - centre[2]
        (a, b), (_, c) = d.T @ d + _RIDGE
        x, y = z @ d
        slope = np.array([c * x - b * y, a * y - b * x]) / (a * c - b * b)
        first = np.isnan(self.ground)
        deviation = float(np.abs(z - d @ slope).max())
        self.roughness += min(1.0, dt / _ROUGHNESS_TIME_CONSTANT) * (deviation - self.roughness)
        slope_gain, gain = min(1.0, dt / _SLOPE_TIME_CONSTANT), min(1.0, dt / _GROUND_TIME_CONSTANT)
        self.slope += slope_gain * (np.clip(slope, -_MAX_SLOPE, _MAX_SLOPE) - self.slope)
        level = centre[2] + self.slope @ (q[:2] - centre[:2])  # under the trunk
        ahead = self.ground + self.slope @ (q[:2] - self._base) if not first else level
        self.ground = level if first else ahead + gain * (level - ahead)
        self._base = q[:2].copy()
        self.depth += gain * (float(self._sunk[self._known].mean()) - self.depth)

    @property
    def surface(self) -> float:
        """Height of the unloaded ground under the trunk (m)."""
        return self.ground + self.depth

    def _height(self, points: Array, q: Array) -> Array:
        """Height of the estimated ground at points (feet, 3)."""
        return np.asarray(self.ground + (points[:, :2] - q[:2]) @ self.slope)

    @property
    def frames(self) -> Array:
        """Positions of the frames of the feet (feet, 3), their heights over the ground (m)."""
        ground = 0.0 if np.isnan(self.ground) else self.ground
        return self._points + np.array([0.0, 0.0, self._radius - ground])

    def copied(self) -> Stance:
        """A copy for `placed` in another thread."""
        other = object.__new__(Stance)  # a tenth of the time of copy.copy
        other.__dict__.update(self.__dict__)
        other._contacts, other.slope = self._contacts.copy(), self.slope.copy()
        return other

    def placed(self, phases: Sequence[Phase], elapsed: float, yaw: float, velocity: Array) -> list[Phase]:
        """Phases with the heights of their feet over the ground under the trunk.

        Of phases that have begun, these are where the feet stand or stood, else where the ground will be
        under a trunk that moves with a `velocity` (world).
        """
        begin, found = -elapsed, []
        c, s = np.cos(yaw), np.sin(yaw)
        nominal = self._offsets @ np.array([[c, s], [-s, c]])
        for phase in phases:
            heights = self._contacts[:, 2] - self.ground
            if begin > 0:
                heights = (nominal + begin * velocity) @ self.slope
            places = dict(zip(self._feet, heights, strict=True))
            steps = {foot: (np.nan, np.nan, places[foot]) for foot in phase.contacts}
            found.append(replace(phase, steps=steps))
            begin += phase.duration
        return found
