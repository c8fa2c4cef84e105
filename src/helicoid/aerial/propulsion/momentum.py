"""Momentum theory: a rotor as a disc that gives the air a velocity (Glauert; Leishman 2006, chapter 2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.errors import InputError

_DESCENT = (-1.125, -1.372, -1.718, -0.655)
"""Mean of measurements in the vortex-ring state: v/v_h = 1 + x (-1.125 - 1.372 x ...), x = V_c/v_h."""


class Stream(NamedTuple):
    """The stream through a rotor's disc; arrays where arrays were given.

    Attributes:
        induced: u₁, what the rotor adds at the disc, along its axis (m/s).
        wake: u₃ = 2 u₁, what it adds far behind (m/s).
        power: ideal, F (V + u₁) (W).
        wake_area: A₃, cross-section far behind over that of the disc; 1/2 in hover.
        valid: False in descent from hover to twice the hover's induced velocity, where there is no stream
            (vortex-ring state) and `induced` is a mean of measurements.
    """

    induced: Array
    wake: Array
    power: Array
    wake_area: Array
    valid: NDArray[np.bool_]


def hover_power(thrust: ArrayLike, area: ArrayLike, density: float = 1.225) -> Array:
    """Ideal power to hover, P = F^1.5 / √(2 ρ A) (W), of a thrust (N) on a disc (m²).

    >>> print(hover_power(6.67, 0.0314159).round(3))
    62.091
    """
    T, A = np.asarray(thrust, np.float64), np.asarray(area, np.float64)
    return T**1.5 / np.sqrt(2 * _positive("density", density) * A)


def stream(
    thrust: ArrayLike,
    area: ArrayLike,
    climb: ArrayLike = 0.0,
    forward: ArrayLike = 0.0,
    density: float = 1.225,
) -> Stream:
    """The stream of a rotor that gives a thrust.

    Args:
        thrust: F (N), 0 or more.
        area: A of the disc (m²).
        climb: V along the axis, against the air, positive up (m/s); negative in descent.
        forward: V in the plane of the disc (m/s): Glauert's F = 2 ρ A u₁ √(V_x² + (V_z + u₁)²).

    >>> hover = stream(6.67, 0.0314159)
    >>> print(hover.induced.round(4), hover.wake.round(4), hover.wake_area.round(9), bool(hover.valid))
    9.309 18.6181 0.5 True
    """
    T, A, V, V_x = (np.asarray(x, np.float64) for x in (thrust, area, climb, forward))
    T, A, V, V_x = np.broadcast_arrays(T, A, V, V_x)
    if np.any(T < 0) or np.any(A <= 0):
        raise InputError("momentum theory: thrust is 0 or more (N), and the area of the disc positive (m²)")
    v_h = np.sqrt(T / (2 * _positive("density", density) * A))
    x = np.divide(V, v_h, out=np.zeros_like(V), where=v_h > 0)
    axial = np.abs(V_x) <= 1e-12 * np.maximum(v_h, 1e-300)
    ring = axial & (x < 0) & (x > -2)
    mean = v_h * (1 + x * np.polyval(_DESCENT[::-1], x))
    brake = -V / 2 - np.sqrt(np.maximum(V**2 / 4 - v_h**2, 0))  # the windmill state
    induced = np.where(ring, mean, np.where(axial & (x <= -2), brake, _glauert(v_h, V, V_x)))
    through = np.hypot(V_x, V + induced)
    far = np.hypot(V_x, V + 2 * induced)
    share = np.divide(through, far, out=np.full_like(far, np.nan), where=far > 0)
    return Stream(induced, 2 * induced, T * (V + induced), share, ~ring)


def _glauert(v_h: Array, V: Array, V_x: Array) -> Array:
    """u of u √(V_x² + (V + u)²) = v_h², by Newton from above, where the left side bends up."""
    u = np.maximum(v_h, np.where(V < 0, -V, 0) + v_h)
    for _ in range(60):
        W = np.sqrt(V_x**2 + (V + u) ** 2) + 1e-300
        u = np.maximum(u - (u * W - v_h**2) / (W + u * (V + u) / W), 0.0)
    return u


def _positive(name: str, value: float) -> float:
    if not 0 < value < np.inf:
        raise InputError(f"{name} is a positive number; got {value!r}")
    return value
