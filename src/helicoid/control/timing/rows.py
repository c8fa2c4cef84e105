"""Limits of joints as rows in path acceleration u = s̈ and squared path velocity x = ṡ²."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from helicoid._typing import Array
from helicoid.control.timing.engine import Rows, lay, torque_rows
from helicoid.control.timing.joint_path import JointPath
from helicoid.control.timing.limits import MotionLimits
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

    def __init__(self, robot: Robot, path: JointPath, limits: MotionLimits, s: Array, friction: bool) -> None:
        self.robot, self.path, self.limits, self.s = robot, path, limits, s
        self.friction = friction and limits.has_torques
        fastest = FASTEST * (path.end - path.start)
        laid = lay(path.breaks, path.coefficients, s, limits.position_and_velocity, fastest)
        self.block, self.x_max = laid.block, laid.x_max
        self.q, self.q1, self.q2 = laid.block[2], laid.block[5], laid.block[6]
        if laid.verdict == "leaves":
            self._refuse_position(laid.joint, laid.point)
        if laid.verdict == "stuck":
            name = robot.model.velocity_names[laid.joint]
            raise InputError(f"velocity: {name} moves at s = {s[laid.point]:.4g}, and its limit is zero")
        if path.seams:
            self.x_max[path.stops(s)] = 0.0

    def limit_frames(self, speeds: Mapping[str, float]) -> None:
        """Keep the origins of frames within their speeds (m/s): |J q'| ṡ."""
        for frame, most in speeds.items():
            if not (isinstance(most, (int, float, np.number)) and 0 < most < np.inf):
                raise InputError(f"frame_speed of {frame!r} is a speed (m/s) above zero; got {most!r}")
            J = np.asarray(self.robot.jacobian(frame, "world_aligned")(np.ascontiguousarray(self.q)))[:, 3:]
            along = np.linalg.norm((J @ self.q1[:, :, None])[..., 0], axis=1)
            moving = along > most / np.sqrt(np.finfo(float).max)
            self.x_max[moving] = np.minimum(self.x_max[moving], np.square(most / along[moving]))

    def _refuse_position(self, joint: int, point: int) -> None:
        low, high = (bound[joint] for bound in self.limits.position)
        name, q = self.robot.model.coordinate_names[joint], self.q[point, joint]
        raise InputError(
            f"the path leaves the limits of {name}, {low:g} to {high:g}, with {q:.4g} at "
            f"s = {self.s[point]:.4g}: choose other waypoints; position=np.inf leaves these limits out"
        )

    @cached_property
    def dynamics(self) -> Array:
        """τ (3 (N + 1), nv) at rest, with acceleration q', and with velocity q' and acceleration q''."""
        flat = self.block.reshape(-1, self.robot.nv)
        n = 3 * len(self.s)
        return torques(self.robot, flat[:n], flat[n : 2 * n], flat[len(flat) - n :], False)

    def rows(self, taken: Array | None = None) -> Rows:
        """The rows: nv of accelerations, nv of torques, or one of the two; `taken` is lost to friction."""
        acceleration, torque = self.limits.acceleration, self.limits.torque
        if not self.limits.has_torques:
            return Rows(self.s, self.q1, self.q2, None, acceleration[0], acceleration[1], self.x_max)
        both = self.limits.has_accelerations
        rows = torque_rows(self.dynamics, self.block if both else None, taken)
        lower, upper = np.concatenate([acceleration, torque], axis=1) if both else torque
        return Rows(self.s, *rows, lower, upper, self.x_max)

    def row_name(self, row: int) -> str:
        """Quantity that a row limits, in words."""
        kind = "acceleration" if self.limits.has_accelerations and row < self.robot.nv else "torque"
        return f"{kind} of {self.robot.model.velocity_names[row % self.robot.nv]}"

    def friction_at(self, speed: Array) -> Array:
        """Friction torque (N + 1, nv) at these path velocities; at rest, that of the start of motion."""
        v = self.q1 * np.maximum(speed, 1e-9 * np.sqrt(self.x_max.max()))[:, None]
        zero = np.zeros_like(v)
        with_friction, without = (
            torques(self.robot, self.q, v, zero, friction) for friction in (True, False)
        )
        return with_friction - without
