"""A propeller on an electric motor, in balance."""

from __future__ import annotations

import math

import casadi as ca

from helicoid._typing import Expression
from helicoid.aerial.propulsion.curve import Polynomial
from helicoid.aerial.propulsion.motor import ElectricMotor
from helicoid.aerial.propulsion.propeller import Propeller


def propeller_thrust(
    propeller: Propeller, motor: ElectricMotor, throttle: Expression, V: Expression, rho: Expression
) -> tuple[Expression, Expression]:
    """Thrust and torque where those of motor and propeller balance: a quadratic equation for ω."""
    curve = propeller.torque_curve
    assert isinstance(curve, Polynomial)
    c0, c1, c2 = (*curve.coefficients, 0.0, 0.0)[:3]
    D, k, R = 2 * propeller.radius, motor.torque_constant, motor.resistance
    a = rho * D**5 * c0 / (2 * math.pi) ** 2
    b = rho * D**4 * c1 * V / (2 * math.pi) + k**2 / R
    c = rho * D**3 * c2 * V**2 - k * motor.voltage * throttle / R + k * motor.no_load_current
    omega = (-b + ca.sqrt(ca.fmax(b**2 - 4 * a * c, 0))) / (2 * a)
    return propeller.thrust_torque(ca.fmax(omega, 0), V, rho)
