"""Formulas of steady flight, guidance and energy, on numbers and arrays; angles in radians.

A steady level turn at a bank angle φ needs the lift L = m g / cos φ: its vertical part balances the weight,
its horizontal part is the centripetal force m V²/R (Stevens and Lewis 2003). L1 guidance is that of Park,
Deyst and How 2004, the energies those of total energy control (TECS).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.aerial.frames import GRAVITY
from helicoid.errors import InputError


class EnergyRates(NamedTuple):
    """Rates of the energy per weight and airspeed (dimensionless).

    Attributes:
        total: V̇/g + sin γ, what thrust changes.
        distribution: sin γ - V̇/g, potential minus kinetic, what pitch changes.
    """

    total: Array
    distribution: Array


def load_factor(bank: ArrayLike) -> Array:
    """Load factor n = L / (m g) = 1 / cos φ of a steady level turn at a bank angle φ.

    >>> print(load_factor(np.deg2rad(60.0)).round(6))
    2.0
    """
    φ = _numbers(bank, "bank angle (rad)")
    if np.any(np.abs(φ) >= np.pi / 2):
        raise InputError("a level turn has a bank angle between -π/2 and π/2 (rad)")
    return 1 / np.cos(φ)


def stall_speed(
    mass: ArrayLike,
    area: ArrayLike,
    max_lift: ArrayLike,
    density: ArrayLike = 1.225,
    load_factor: ArrayLike = 1.0,
) -> Array:
    """Stall speed V = √(2 n m g / (ρ S C_L,max)) (m/s): it grows with the root of the load factor n.

    Args:
        mass: m (kg).
        area: S of the wing (m²).
        max_lift: maximum lift coefficient C_L,max.
        density: ρ of the air (kg/m³).
        load_factor: n, 1 in level flight; `load_factor(bank)` in a level turn.

    >>> level, turn = stall_speed(11.0, 0.55, 1.4), stall_speed(11.0, 0.55, 1.4, load_factor=2.0)
    >>> print(level.round(2), (turn / level).round(4))
    15.13 1.4142
    """
    given = {"mass": mass, "area": area, "max_lift": max_lift, "density": density, "load_factor": load_factor}
    m, S, C, ρ, n = (_positive(value, name) for name, value in given.items())
    return np.asarray(np.sqrt(2 * n * m * GRAVITY / (ρ * S * C)))


def turn_rate(speed: ArrayLike, bank: ArrayLike) -> Array:
    """Heading rate ξ̇ = g tan φ / V (rad/s) of a steady level turn; V is the airspeed (m/s).

    >>> print(turn_rate(25.0, 0.5).round(4))
    0.2144
    """
    return np.asarray(GRAVITY * np.tan(_numbers(bank, "bank angle (rad)")) / _positive(speed, "speed"))


def bank_angle(acceleration: ArrayLike) -> Array:
    """Bank angle φ = atan(a / g) (rad) of a level turn with the lateral acceleration a = V²/R (m/s²).

    >>> print(turn_rate(25.0, bank_angle(5.0)).round(6))  # a / V
    0.2
    """
    return np.arctan2(_numbers(acceleration, "acceleration (m/s²)"), GRAVITY)


def l1_lateral_acceleration(speed: ArrayLike, eta: ArrayLike, distance: ArrayLike) -> Array:
    """Lateral acceleration of L1 guidance, a = V²/R = 2 V² sin η / L₁ (m/s²).

    η is the angle from the velocity to the reference point on the path, at the distance L₁ (m): the circle
    through both has the radius R = L₁ / (2 sin η).

    >>> print(l1_lateral_acceleration(20.0, np.pi / 6, 40.0).round(6))  # R = 40 m
    10.0
    """
    V, L = _positive(speed, "speed"), _positive(distance, "distance")
    return np.asarray(2 * V**2 * np.sin(_numbers(eta, "eta (rad)")) / L)


def energy_rates(speed_rate: ArrayLike, flight_path_angle: ArrayLike) -> EnergyRates:
    """Rates of total energy and of its distribution, from V̇ (m/s²) and the flight path angle γ (rad).

    With E = m g h + ½ m V², total = Ė / (m g V). TECS controls it by throttle, the distribution by pitch.

    >>> rates = energy_rates(0.981, 0.0)  # level, speeding up
    >>> print(rates.total.round(6), rates.distribution.round(6))
    0.1 -0.1
    """
    kinetic = _numbers(speed_rate, "speed_rate (m/s²)") / GRAVITY
    potential = np.sin(_numbers(flight_path_angle, "flight_path_angle (rad)"))
    return EnergyRates(np.asarray(potential + kinetic), np.asarray(potential - kinetic))


def disc_loading(thrust: ArrayLike, area: ArrayLike) -> Array:
    """Disc loading F / A (N/m²) of a rotor: the ideal power in hover is F √(F / A / (2 ρ)).

    >>> print(disc_loading(6.67, 0.0314159).round(1))
    212.3
    """
    return np.asarray(_numbers(thrust, "thrust (N)") / _positive(area, "area"))


def _numbers(given: ArrayLike, name: str) -> Array:
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if not np.isfinite(values).all():
        raise InputError(f"{name} is a finite number or an array of them; got {given!r}")
    return values


def _positive(given: ArrayLike, name: str) -> Array:
    values = _numbers(given, name)
    if np.any(values <= 0):
        raise InputError(f"{name} is positive; got {given!r}")
    return values
