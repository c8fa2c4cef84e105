"""Standard atmosphere: density, pressure, temperature, speed of sound and viscosity."""

from __future__ import annotations

import math
from dataclasses import dataclass

from helicoid.aerial.checks import check_positive
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

    >>> air = Air.standard(5000.0)
    >>> round(air.density, 4), round(air.sound_speed, 2)
    (0.7361, 320.53)
    """

    density: float = 1.225
    viscosity: float = 1.789e-5
    sound_speed: float = 340.294
    temperature: float = 288.15
    pressure: float = 101_325.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_positive(f"air: its {name}", value)

    @staticmethod
    def standard(height: float = 0.0) -> Air:
        """The International Standard Atmosphere (ISO 2533) at a geopotential height (m), -2 to 32 km."""
        if not _BOTTOM <= height <= _TOP:
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
