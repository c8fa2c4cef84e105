"""Rotor: a propeller and its motor at a place of a vehicle."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.checks import real_numbers
from helicoid.aerial.propulsion.motor import ElectricMotor, Motor
from helicoid.aerial.propulsion.propeller import Propeller
from helicoid.errors import InputError


@dataclass(frozen=True, eq=False)
class Rotor:
    """Rotor of a vehicle: a propeller and its motor.

    Args:
        position: of the hub in its link's frame (m).
        propeller: gives thrust and torque.
        motor: `Motor` follows a commanded speed, `ElectricMotor` takes a fraction of the voltage.
        direction: of rotation about the axis: 1 or "ccw", -1 or "cw".
        axis: of the thrust (3), in the link's frame; normalised.
        link: name of its link; None for the vehicle's root.
    """

    position: ArrayLike
    propeller: Propeller
    motor: Motor | ElectricMotor
    direction: int | str = 1
    axis: ArrayLike = (0.0, 0.0, 1.0)
    link: str | None = None

    def __post_init__(self) -> None:
        position, axis = (real_numbers("a rotor's position and axis", x) for x in (self.position, self.axis))
        if position.shape != (3,) or axis.shape != (3,) or not np.isfinite([position, axis]).all():
            raise InputError("a rotor's position (m) and axis are three finite numbers each")
        if not np.linalg.norm(axis) > 0:
            raise InputError("a rotor's axis is not zero")
        known: dict[Any, int] = {"ccw": 1, "cw": -1, 1: 1, -1: -1}
        turns = known.get(self.direction) if isinstance(self.direction, Hashable) else None
        if turns is None:
            raise InputError(f"a rotor turns 1 ('ccw') or -1 ('cw'); got {self.direction!r}")
        if not isinstance(self.propeller, Propeller) or not isinstance(self.motor, (Motor, ElectricMotor)):
            raise InputError(f"a rotor has a Propeller and a motor; got {self.propeller!r}, {self.motor!r}")
        if isinstance(self.motor, ElectricMotor) and not self.propeller.inertia > 0:
            raise InputError("an electric motor needs a propeller with inertia: Propeller(..., inertia=...)")
        self.propeller.thrust_torque(np.array(1.0), np.array(0.0), 1.0)  # refuses one without coefficients
        for array in (position, axis):
            array.setflags(write=False)
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "axis", axis / np.linalg.norm(axis))
        object.__setattr__(self, "direction", turns)

    @property
    def turns(self) -> int:
        """1 counter-clockwise, -1 clockwise."""
        return int(self.direction)

    @property
    def has_state(self) -> bool:
        """Whether its speed is a state, by a lag or by the dynamics of an electric motor."""
        return isinstance(self.motor, ElectricMotor) or self.motor.lag_up > 0

    def max_speed(self, density: float) -> float:
        """Maximum speed in still air (rad/s)."""
        if isinstance(self.motor, Motor):
            return self.motor.max_speed
        # k (U - k ω)/R - k i₀ = d ω²
        d, k, R = self.propeller.constants(density)[1], self.motor.torque_constant, self.motor.resistance
        c = k * self.motor.voltage / R - k * self.motor.no_load_current
        return (-(k**2) / R + math.sqrt((k**2 / R) ** 2 + 4 * d * max(c, 0.0))) / (2 * d)

    def wrench(
        self,
        omega: Expression,
        omega_dot: Expression,
        velocity: Expression,
        rate: Expression,
        lift: Expression,
        density: Expression,
    ) -> Expression:
        """Wrench (n, f) on the link about its origin.

        Args:
            omega, omega_dot: speed of the rotor (rad/s), 0 or more, and its derivative.
            velocity: of the hub relative to the air (3), m/s; `rate` of the link (3), rad/s: in link axes.
            lift: factor of the thrust, such as the ground effect.
        """
        p, n = self.propeller, ca.SX(np.asarray(self.axis))
        axial = ca.dot(n, velocity)
        plane = velocity - axial * n
        T, Q = p.thrust_torque(omega, axial, density)
        T = lift * T
        force = T * n
        if p.hub_drag:
            force = force - p.hub_drag * omega * plane
        if p.flapping:
            force = force - T * p.flapping / (ca.fmax(omega, 1.0) * p.radius) * plane
        moment = -self.turns * Q * n
        if p.rolling:
            moment = moment - self.turns * p.rolling * omega * plane
        if p.inertia:
            spin = self.turns * p.inertia * omega * n
            moment = moment - ca.cross(rate, spin) - self.turns * p.inertia * omega_dot * n
        if np.any(np.asarray(self.position)):
            moment = moment + ca.cross(ca.SX(np.asarray(self.position)), force)
        return ca.vertcat(moment, force)

    def column(self, density: float) -> Array:
        """Wrench (n, f) (6) per ω² in still air, about the link's origin: b and d of T = b ω², Q = d ω²."""
        b, d = self.propeller.constants(density)
        axis, at = np.asarray(self.axis), np.asarray(self.position)
        force = b * axis
        return np.concatenate([np.cross(at, force) - self.turns * d * axis, force])
