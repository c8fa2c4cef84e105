"""Limits of joints as rows in path acceleration u = s̈ and squared path velocity x = ṡ²."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from helicoid._typing import Array
from helicoid.control.timing.engine import Rows, Verdict, lay
from helicoid.control.timing.joint_path import JointPath
from helicoid.control.timing.limits import Limits
from helicoid.errors import InputError
from helicoid.robot import Robot

FASTEST = 1e6  # path velocity, in lengths of the path a second, where nothing limits it


def torques(robot: Robot, q: Array, v: Array, a: Array, friction: bool) -> Array:
    """τ (m, nv) by inverse dynamics; dry friction has the sign of the velocity."""
    function = robot.inverse_dynamics
    if friction:
        function = function.with_options(friction=True, smoothing=0.0)
    theta = (robot.theta.values,) if len(robot.theta) else ()
    return function(q, v, a, *theta)


class PathLimits:
    """Limits of a robot's joints along a path, on a grid.

    v = q' ṡ and a = q' u + q'' x; τ = A u + B x + C with A = M q', B = M q'' + C(q, q') q', C = g: three
    calls of inverse dynamics, in one batch.
    """

    def __init__(self, robot: Robot, path: JointPath, limits: Limits, s: Array, friction: bool) -> None:
        self.robot, self.path, self.limits, self.s = robot, path, limits, s
        self.friction = friction and limits.has_torques
        fastest = FASTEST * (path.end - path.start)
        laid = lay(path.breaks, path.coefficients, s, limits.position_and_velocity, fastest)
        self.q, self.q1, self.q2 = laid.q
        self.x_max = laid.x_max
        if laid.verdict == Verdict.LEAVES:
            self._refuse_position(laid.joint, laid.point)
        if laid.verdict == Verdict.STUCK:
            name = robot.model.velocity_names[laid.joint]
            raise InputError(f"velocity: {name} moves at s = {s[laid.point]:.4g}, and its limit is zero")
        if path.seams:
            self.x_max[path.stops(s)] = 0.0

    def _refuse_position(self, joint: int, point: int) -> None:
        low, high = (bound[joint] for bound in self.limits.position)
        name, q = self.robot.model.coordinate_names[joint], self.q[point, joint]
        raise InputError(
            f"the path leaves the limits of {name}, {low:g} to {high:g}, with {q:.4g} at "
            f"s = {self.s[point]:.4g}: choose other waypoints; position=np.inf leaves these limits out"
        )

    @cached_property
    def dynamics(self) -> tuple[Array, Array, Array]:
        """A, B, C (N + 1, nv) of τ = A u + B x + C, without friction."""
        n, zero = len(self.q), np.zeros_like(self.q)
        q = np.concatenate([self.q] * 3)
        v = np.concatenate([zero, zero, self.q1])
        a = np.concatenate([zero, self.q1, self.q2])
        tau = torques(self.robot, q, v, a, False)
        C = tau[:n]
        return tau[n : 2 * n] - C, tau[2 * n :] - C, C

    def rows(self, taken: Array | None = None) -> Rows:
        """The rows: nv of accelerations, nv of torques, or one of the two; `taken` is lost to friction."""
        acceleration, torque = self.limits.acceleration, self.limits.torque
        if not self.limits.has_torques:
            return Rows(self.s, self.q1, self.q2, None, acceleration[0], acceleration[1], self.x_max)
        A, B, C = self.dynamics
        C = C if taken is None else C + taken
        if not self.limits.has_accelerations:
            return Rows(self.s, A, B, C, torque[0], torque[1], self.x_max)
        a, b = np.concatenate([self.q1, A], axis=1), np.concatenate([self.q2, B], axis=1)
        c = np.concatenate([np.zeros_like(C), C], axis=1)
        lower, upper = np.concatenate([acceleration, torque], axis=1)
        return Rows(self.s, a, b, c, lower, upper, self.x_max)

    def row_name(self, row: int) -> str:
        """What a row limits, in words."""
        kind = "acceleration" if self.limits.has_accelerations and row < self.robot.nv else "torque"
        return f"{kind} of {self.robot.model.velocity_names[row % self.robot.nv]}"

    def friction_at(self, speed: Array) -> Array:
        """(N + 1, nv): what friction takes of the torque at these path velocities, at rest as it starts."""
        v = self.q1 * np.maximum(speed, 1e-9 * np.sqrt(self.x_max.max()))[:, None]
        zero = np.zeros_like(v)
        with_friction, without = (
            torques(self.robot, self.q, v, zero, friction) for friction in (True, False)
        )
        return with_friction - without
