"""The configuration manifold: q ⊕ dv and its inverse, unit quaternions, the link side of flexible joints."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from helicoid._typing import Expression
from helicoid.model.edits.flexible import motor_of
from helicoid.model.model import Body, Model


def integrate(model: Model, q: Expression, dv: Expression) -> Expression:
    """q ⊕ dv, nq: follow the constant joint velocity dv for one unit of time."""
    result = ca.SX.zeros(model.nq)
    for body in model.bodies:
        if body.joint.mimic is None:
            result[body.q] = body.joint.type.integrate(q[body.q], dv[body.v])
    return result


def difference(model: Model, q0: Expression, q1: Expression) -> Expression:
    """q1 ⊖ q0, nv: the dv with q0 ⊕ dv = q1."""
    result = ca.SX.zeros(model.nv)
    for body in model.bodies:
        if body.joint.mimic is None:
            result[body.v] = body.joint.type.difference(q0[body.q], q1[body.q])
    return result


def unit(model: Model, q: Expression) -> Expression:
    """q with unit quaternions."""
    return integrate(model, q, ca.SX.zeros(model.nv)) if model.nq != model.nv else q


def is_near_unit(model: Model, q: Expression) -> Expression:
    """Whether quaternions of q have unit length but for rounding: |q|² within 0.1 of 1."""
    near = ca.SX(1)
    for place in model.quaternions:
        near = ca.logic_and(near, ca.fabs(ca.sumsqr(q[place]) - 1) <= 0.1)
    return near


def link_positions(model: Model, q: Expression) -> Expression:
    """θ + δ of each flexible joint, motor and spring; others unchanged: q of the robot with stiff joints."""
    return _summed(model, lambda body: q[body.q])


def link_velocities(model: Model, v: Expression) -> Expression:
    """θ̇ + δ̇ of each flexible joint, motor and spring; others unchanged. Of accelerations, θ̈ + δ̈."""
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
