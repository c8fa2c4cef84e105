"""Limits of a motion along a path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.control.timing.engine import check
from helicoid.errors import InputError
from helicoid.robot import Robot


class MotionLimits(NamedTuple):
    """Bounds of the joints along a motion, infinite where there is none.

    Args:
        position_and_velocity: (4, nv), lower and upper bounds of q, then of v.
        acceleration, torque: (2, nv), lower and upper bounds.
        has_accelerations, has_torques: whether any of them is finite.
    """

    position_and_velocity: Array
    acceleration: Array
    torque: Array
    has_accelerations: bool
    has_torques: bool

    @property
    def position(self) -> Array:
        """(2, nv)."""
        return self.position_and_velocity[:2]

    @property
    def velocity(self) -> Array:
        """(2, nv)."""
        return self.position_and_velocity[2:]


def read_limits(
    robot: Robot,
    position: ArrayLike | None,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
    torque: ArrayLike | None,
) -> MotionLimits:
    """None is what the robot states: of accelerations the lesser of its acceleration and deceleration."""
    own, rates = robot.limits, robot.rate_limits
    bounds = np.empty((4, 2, robot.nv))
    bounds[0, 0], bounds[0, 1] = own.lower, own.upper
    stated = (None, own.velocity, np.minimum(rates.acceleration, rates.deceleration), own.effort)
    given = (position, velocity, acceleration, torque)
    for name, target, value, default in zip(_NAMES, bounds, given, stated, strict=True):
        value = default if value is None else value
        if value is not None:
            _fill(name, target, value)
    sensible, accelerations, torques = check(bounds)
    if not sensible:
        _refuse(robot, bounds)
    if not (accelerations or torques):
        raise InputError("nothing limits the acceleration: give acceleration= or torque=")
    return MotionLimits(bounds[:2].reshape(4, robot.nv), bounds[2], bounds[3], accelerations, torques)


_NAMES = ("position", "velocity", "acceleration", "torque")


def _fill(name: str, target: Array, value: ArrayLike) -> None:
    if type(value) is float:
        target[0], target[1] = -value, value
        return
    numbers = float_array(value, f"{name} must be numbers")
    n = target.shape[1]
    if numbers.shape == (2, n):
        target[:] = numbers
    elif numbers.shape in ((), (n,)):
        target[0], target[1] = -numbers, numbers
    else:
        raise InputError(
            f"{name} is a number, one for each joint ({n},), or lower and upper (2, {n}); got {numbers.shape}"
        )


def _refuse(robot: Robot, bounds: Array) -> None:
    for name, (low, high) in zip(_NAMES, bounds, strict=True):
        at_rest = name in ("velocity", "acceleration")
        wrong = ~(low <= high) | (at_rest & ((low > 0) | (high < 0)))
        if wrong.any():
            k = int(np.argmax(wrong))
            joint, wanted = robot.model.velocity_names[k], "≤ 0 ≤" if at_rest else "≤"
            raise InputError(f"{name} must be lower {wanted} upper; {joint} has {low[k]:g} to {high[k]:g}")
