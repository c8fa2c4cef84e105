"""Standard atmosphere: density, pressure, temperature, speed of sound and viscosity."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.aerial.checks import check_positive, is_number
from helicoid.errors import InputError

_R = 287.05287  # J/(kg·K), of dry air
_G = 9.80665  # m/s²
_LAYERS = ((0.0, 288.15, -6.5e-3), (11_000.0, 216.65, 0.0), (20_000.0, 216.65, 1.0e-3))
"""Layers of the standard atmosphere up to 32 km: base (m), temperature at the base (K), lapse (K/m)."""
_TOP, _BOTTOM = 32_000.0, -2_000.0


@dataclass(frozen=True)
class Air:
    """Properties of the air at one place.

    Args:
        density: ρ (kg/m³).
        viscosity: μ (Pa·s).
        sound_speed: m/s.
        temperature: K.
        pressure: Pa.
        varies: whether density and sound speed in flight follow the standard atmosphere with the vehicle's
            height above z = 0, taken as geopotential height; the numbers above are then those at z = 0.

    >>> air = Air.standard(5000.0)
    >>> round(air.density, 4), round(air.sound_speed, 2)
    (0.7361, 320.53)
    """

    density: float = 1.225
    viscosity: float = 1.789e-5
    sound_speed: float = 340.294
    temperature: float = 288.15
    pressure: float = 101_325.0
    varies: bool = False

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items())[:5]:
            check_positive(f"air: its {name}", value)

    def density_at(self, height: Expression) -> Expression:
        """ρ (kg/m³) at a height (m): constant, or that of the standard atmosphere where the air varies."""
        if not self.varies:
            return self.density
        T, pressure = _standard(height)
        return pressure / (_R * T)

    def sound_speed_at(self, height: Expression) -> Expression:
        """Speed of sound (m/s) at a height (m)."""
        return (1.4 * _R * _standard(height)[0]) ** 0.5 if self.varies else self.sound_speed

    @staticmethod
    def varying() -> Air:
        """Standard atmosphere whose density follows the height in flight, with sea level at z = 0."""
        return replace(Air.standard(), varies=True)

    @staticmethod
    def standard(height: float = 0.0) -> Air:
        """The International Standard Atmosphere (ISO 2533) at a geopotential height (m), -2 to 32 km."""
        if not is_number(height) or not _BOTTOM <= height <= _TOP:
            raise InputError(
                f"the standard atmosphere is implemented from {_BOTTOM:g} to {_TOP:g} m; got {height!r}"
            )
        pressure, T = 101_325.0, 288.15
        for k, (base, start, lapse) in enumerate(_LAYERS):
            top = _LAYERS[k + 1][0] if k + 1 < len(_LAYERS) else _TOP
            dh = min(height, top) - base
            T = start + lapse * dh
            if lapse:
                pressure *= (T / start) ** (-_G / (_R * lapse))
            else:
                pressure *= math.exp(-_G * dh / (_R * start))
            if height <= top:
                break
        viscosity = 1.458e-6 * T**1.5 / (T + 110.4)  # Sutherland
        return Air(pressure / (_R * T), viscosity, math.sqrt(1.4 * _R * T), T, pressure)


def _standard(height: Expression) -> tuple[Expression, Expression]:
    """Temperature (K) and pressure (Pa) of the standard atmosphere, for numbers and expressions."""
    symbolic = isinstance(height, (ca.SX, ca.MX))
    least, most, exp = (ca.fmin, ca.fmax, ca.exp) if symbolic else (np.minimum, np.maximum, np.exp)
    h = least(most(height, _BOTTOM), _TOP)
    T_0, T_11, lapse = 288.15, 216.65, 1.0e-3
    lower, upper = T_0 - 6.5e-3 * least(h, 11_000.0), 1 + lapse / T_11 * most(h - 20_000.0, 0.0)
    middle = exp(-_G / (_R * T_11) * least(most(h - 11_000.0, 0.0), 9_000.0))
    pressure = 101_325.0 * (lower / T_0) ** (_G / (_R * 6.5e-3)) * middle * upper ** (-_G / (_R * lapse))
    return lower * upper, pressure
