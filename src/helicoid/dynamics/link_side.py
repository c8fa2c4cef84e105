"""The link side of flexible joints: where a link is, when a motor turned by θ and a spring after it by δ."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from helicoid._typing import Expression
from helicoid.model.flexible import motor_of
from helicoid.model.model import Body, Model


def link_positions(model: Model, q: Expression) -> Expression:
    """θ + δ of each motor and its spring, other coordinates as they are: q of the robot with stiff joints."""
    return _summed(model, lambda body: q[body.q])


def link_velocities(model: Model, v: Expression) -> Expression:
    """θ̇ + δ̇ of each motor and its spring, other velocities as they are; given accelerations, θ̈ + δ̈."""
    return _summed(model, lambda body: v[body.v])


def _summed(model: Model, part: Callable[[Body], Expression]) -> Expression:
    parts: dict[str, Expression] = {}
    for body in model.bodies:  # a motor comes before its spring
        if body.joint.mimic is None:
            motor = motor_of(model, body.joint)
            if motor is None:
                parts[body.joint.name] = part(body)
            else:
                parts[motor.name] += part(body)
    return ca.vertcat(*parts.values())
