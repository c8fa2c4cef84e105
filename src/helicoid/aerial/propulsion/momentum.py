"""Momentum theory: a rotor as an actuator disc (Glauert; Leishman 2006, chapter 2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.aerial.checks import check_positive
from helicoid.deprecation import renamed_arguments
from helicoid.errors import InputError

_DESCENT = (-1.125, -1.372, -1.718, -0.655)
"""Fit to measurements in the vortex-ring state: v/v_h = 1 + x (-1.125 - 1.372 x ...), x = V_c/v_h."""


class Stream(NamedTuple):
    """Flow through the disc of a rotor; arrays where arrays were given.

    Attributes:
        induced: induced velocity u₁ at the disc, along its axis (m/s).
        wake: induced velocity in the far wake, u₃ = 2 u₁ (m/s).
        power: ideal power, F (V + u₁) (W).
        wake_area: area of the far wake over that of the disc; 1/2 in hover.
        valid: False in descent below twice the hover's induced velocity (vortex-ring state), where momentum
            theory does not hold and `induced` is a fit to measurements.
    """

    induced: Array
    wake: Array
    power: Array
    wake_area: Array
    valid: NDArray[np.bool_]


def hover_power(thrust: ArrayLike, area: ArrayLike, density: float = 1.225) -> Array:
    """Ideal power in hover, P = F^1.5 / √(2 ρ A) (W), of a thrust (N) on a disc (m²).

    >>> print(hover_power(6.67, 0.0314159).round(3))
    62.091
    """
    T, A = np.asarray(thrust, np.float64), np.asarray(area, np.float64)
    check_positive("density", density)
    return T**1.5 / np.sqrt(2 * density * A)


@renamed_arguments(climb="climb_rate")
def stream(
    thrust: ArrayLike,
    area: ArrayLike,
    climb_rate: ArrayLike = 0.0,
    forward: ArrayLike = 0.0,
    density: float = 1.225,
) -> Stream:
    """Induced velocity and ideal power of a rotor at a given thrust.

    Args:
        thrust: F (N), 0 or more.
        area: A of the disc (m²).
        climb_rate: airspeed V along the axis, negative in descent (m/s).
        forward: airspeed in the plane of the disc (m/s): Glauert's F = 2 ρ A u₁ √(V_x² + (V_z + u₁)²).

    >>> hover = stream(6.67, 0.0314159)
    >>> print(hover.induced.round(4), hover.wake.round(4), hover.wake_area.round(9), bool(hover.valid))
    9.309 18.6181 0.5 True
    """
    T, A, V, V_x = (np.asarray(x, np.float64) for x in (thrust, area, climb_rate, forward))
    T, A, V, V_x = np.broadcast_arrays(T, A, V, V_x)
    if np.any(T < 0) or np.any(A <= 0):
        raise InputError("momentum theory: thrust is 0 or more (N), and the area of the disc positive (m²)")
    check_positive("density", density)
    v_h = np.sqrt(T / (2 * density * A))
    x = np.divide(V, v_h, out=np.zeros_like(V), where=v_h > 0)
    axial = np.abs(V_x) <= 1e-12 * np.maximum(v_h, 1e-300)
    ring = axial & (x < 0) & (x > -2)
    mean = v_h * (1 + x * np.polyval(_DESCENT[::-1], x))
    brake = -V / 2 - np.sqrt(np.maximum(V**2 / 4 - v_h**2, 0))  # the windmill state
    induced = np.where(ring, mean, np.where(axial & (x <= -2), brake, _glauert(v_h, V, V_x)))
    through = np.hypot(V_x, V + induced)
    far = np.hypot(V_x, V + 2 * induced)
    wake_area = np.divide(through, far, out=np.full_like(far, np.nan), where=far > 0)
    return Stream(induced, 2 * induced, T * (V + induced), wake_area, ~ring)


def _glauert(v_h: Array, V: Array, V_x: Array) -> Array:
    """Solve u √(V_x² + (V + u)²) = v_h² by Newton's method from above, where the left side is convex."""
    u = np.maximum(v_h, np.where(V < 0, -V, 0) + v_h)
    for _ in range(60):
        W = np.sqrt(V_x**2 + (V + u) ** 2) + 1e-300
        u = np.maximum(u - (u * W - v_h**2) / (W + u * (V + u) / W), 0.0)
    return u
