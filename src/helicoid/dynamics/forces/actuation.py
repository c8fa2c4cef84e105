"""Forces of actuators from their controls: p = g(l, l̇) u + b(l, l̇), and τ = Σ rᵀ p.

u takes the place of a control within its range, or of the state of an actuator that has one; p stays within
the range of forces, and the sum at a joint of one coordinate within its effort limit and range.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.dynamics.kinematics.transmissions import TransmissionState, transmission_state
from helicoid.errors import ModelError
from helicoid.model.connections.actuators import Actuator, Interval, coupled_joints
from helicoid.model.model import Model
from helicoid.model.parts import Joint


def actuator_length(model: Model, q: Expression) -> Expression:
    """l of each actuator's transmission (rad, m)."""
    return ca.vertcat(ca.SX(0, 1), *(one.length for one in _states(model, q)))


def actuator_moments(model: Model, q: Expression) -> Expression:
    """r, actuators × nv: l̇ = r v and τ = rᵀ p."""
    return ca.vertcat(ca.SX(0, model.nv), *(one.moments for one in _states(model, q)))


def actuator_force(model: Model, q: Expression, v: Expression, u: Expression) -> Expression:
    """p of each actuator (N, N·m)."""
    return _forces(model, _states(model, q), v, u)


def actuator_torque(model: Model, q: Expression, v: Expression, u: Expression) -> Expression:
    """τ = Σ rᵀ p, nv, at each joint within its effort limit and the range of its actuators."""
    states = _states(model, q)
    r = ca.vertcat(ca.SX(0, model.nv), *(one.moments for one in states))
    tau = ca.densify(r.T @ _forces(model, states, v, u))
    coupled = coupled_joints(model)
    for body in model.bodies:
        if body.joint.type.nv == 1 and body.joint.name not in coupled:
            tau[body.v] = clipped(tau[body.v], _range_of_sum(body.joint))
    return tau


def _range_of_sum(joint: Joint) -> Interval:
    effort = float(joint.range.effort[0])
    lower, upper = joint.actuator_range or (-np.inf, np.inf)
    return max(lower, -effort), min(upper, effort)


def activation_rate(model: Model, z: Expression, u: Expression) -> Expression:
    """ż of all actuators; 0 for those without a state."""
    rates = [ca.SX(0, 1)]
    for k, one in enumerate(model.actuators):
        if one.activation == "none":
            rates.append(ca.SX(0))
            continue
        driving = clipped(u[k], one.control_range)
        rate = driving if one.activation == "integrator" else (driving - z[k]) / one.time_constant
        lower, upper = one.activation_range
        # At the end of its range a state does not leave it.
        rate = ca.if_else(z[k] <= lower, ca.fmax(rate, 0), rate) if np.isfinite(lower) else rate
        rates.append(ca.if_else(z[k] >= upper, ca.fmin(rate, 0), rate) if np.isfinite(upper) else rate)
    return ca.vertcat(*rates)


def clipped(x: Expression, interval: Interval) -> Expression:
    """x within an interval; an infinite end adds no operation."""
    lower, upper = interval
    x = ca.fmax(x, lower) if np.isfinite(lower) else x
    return ca.fmin(x, upper) if np.isfinite(upper) else x


def _states(model: Model, q: Expression) -> list[TransmissionState]:
    for one in model.actuators:
        if one.unsupported:
            raise ModelError(f"actuator {one.name!r} is not supported: {one.unsupported}")
    return [transmission_state(model, q, one) for one in model.actuators]


def _forces(model: Model, states: list[TransmissionState], v: Expression, u: Expression) -> Expression:
    forces = [ca.SX(0, 1)]
    for k, (one, state) in enumerate(zip(model.actuators, states, strict=True)):
        driving = clipped(u[k], one.control_range) if one.activation == "none" else u[k]
        forces.append(clipped(_force(one, state, v, driving), one.force_range))
    return ca.vertcat(*forces)


def _force(actuator: Actuator, state: TransmissionState, v: Expression, u: Expression) -> Expression:
    rate = state.moments @ v
    parts = [1.0, state.length, rate]
    g = sum((c * x for c, x in zip(actuator.gain, parts, strict=True) if c), start=ca.SX(0))
    b = sum((c * x for c, x in zip(actuator.bias, parts, strict=True) if c), start=ca.SX(0))
    return g * u + b
