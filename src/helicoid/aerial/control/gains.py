"""Default gains of rotorcraft laws from inertia, rotors and motor lags, and the stability of given ones.

A motor that lags by τ turns the attitude dynamics s² θ = M/J into s² (τ s + 1) θ = M_d/J. With the natural
frequency ω_R and the damping ratio 0.8 of the law, ω_R τ = 1/3 leaves a phase margin of 41 degrees and a
damping ratio of at least 0.47 in every mode; the loop is unstable from ω_R τ = 2 ζ = 1.6 on.
"""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.aerial.multirotor import Multirotor
from helicoid.aerial.propulsion.motor import Motor
from helicoid.errors import InputError

MAX_LAG_RATIO = 1 / 3
"""Largest ω_R τ of default gains."""
_UNSATURATED_ERROR = 0.2
"""Attitude error (rad) up to which default gains ask for no more than the available moment."""
_INSTABILITY = 1e-6  # real part of a pole over its modulus


def motor_lag(vehicle: Multirotor) -> float:
    """Largest time constant of the rotor speeds about hover (s), the mean rate of lag up and lag down."""
    lags = [0.0]
    for rotor in vehicle.rotors:
        if isinstance(rotor.motor, Motor) and rotor.motor.lag_up > 0 and rotor.motor.lag_down:
            lags.append(2 / (1 / rotor.motor.lag_up + 1 / rotor.motor.lag_down))
    return max(lags)


def max_angular_acceleration(vehicle: Multirotor, inertia: Array) -> Array:
    """Angular acceleration (3, rad/s²) that the rotors can give to either side from hover, one axis each."""
    limits = np.array(list(vehicle.own_controls.values())) ** 2
    A = vehicle.allocation_matrix
    hover = np.linalg.pinv(A) @ [9.81 * vehicle.robot.mass, 0.0, 0.0, 0.0]
    hover = np.clip(hover, limits[:, 0], limits[:, 1])
    ends = A[1:, :, None] * (limits - hover[:, None])  # (axes, rotors, lower and upper)
    positive, negative = ends.max(axis=2).sum(axis=1), -ends.min(axis=2).sum(axis=1)
    return np.asarray(np.minimum(positive, negative) / np.diag(inertia))


def attitude_frequencies(vehicle: Multirotor, inertia: Array, nominal: tuple[float, float, float]) -> Array:
    """Natural frequencies of roll, pitch and yaw (rad/s): nominal ones, lowered for lag and inertia.

    ω_R is at most 1/(3 τ) and at most √(α_max / 0.2 rad), with the available angular acceleration α_max.

    Raises:
        InputError: the rotors give no moment about an axis.
    """
    available = max_angular_acceleration(vehicle, inertia)
    if not np.all(available > 1e-9):
        axes = [name for name, a in zip(("roll", "pitch", "yaw"), available, strict=True) if not a > 1e-9]
        raise InputError(f"{vehicle.robot.name!r}: its rotors give no moment about {', '.join(axes)}")
    lag = motor_lag(vehicle)
    from_lag = MAX_LAG_RATIO / lag if lag > 0 else np.inf
    return np.minimum(np.minimum(nominal, from_lag), np.sqrt(available / _UNSATURATED_ERROR))


def position_frequency(attitude: Array, nominal: float, nominal_attitude: float) -> float:
    """Natural frequency of the position (rad/s): the nominal one, in the same ratio to the attitude loop."""
    return nominal * min(float(np.min(attitude[:2])) / nominal_attitude, 1.0)


def check_stable(what: str, polynomial: Array, lag: float) -> None:
    """Refuse a closed loop, given by its characteristic polynomial (highest power first), that diverges."""
    poles = np.roots(np.trim_zeros(polynomial, "f"))
    if len(poles) and np.max(poles.real / np.maximum(np.abs(poles), 1e-300)) > _INSTABILITY:
        raise InputError(
            f"{what} are unstable with the motor lag of {1e3 * lag:.3g} ms: lower the frequencies "
            f"(defaults keep frequency × lag at most {MAX_LAG_RATIO:.2g}), or raise the damping ratios"
        )


def second_order_polynomial(frequency: float, damping_ratio: float) -> Array:
    """s² + 2 ζ ω s + ω²."""
    return np.array([1.0, 2 * damping_ratio * frequency, frequency**2])
