"""Axes and angles of flight.

Helicoid's world and body axes have z up: x forward (north), y left (west). Aeronautics has x forward (north),
y right (east), z down. The constant rotation F = diag(1, -1, -1), its own inverse, relates the two, for world
and body alike:

    v_down = F v_up,    R_down = F R_up F.

The state (q, v) is z up throughout. Angles are those of aeronautics, z down: roll φ (right
wing down), pitch θ (nose up), yaw ψ (to the right), R_down = Rz(ψ) Ry(θ) Rx(φ), the angle of attack α and
of sideslip β (wind from the right), the flight-path angle γ and heading ξ of the velocity through
the air, and the course χ of that over ground.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.geometry import quaternion

GRAVITY = 9.81
"""Gravitational acceleration (m/s²), the default of robots."""

FLIP = np.diag([1.0, -1.0, -1.0])
"""F, between axes with z up and z down."""


class Angles(NamedTuple):
    """Angles (rad) and speeds (m/s) of aeronautics; arrays where states were arrays."""

    roll: Array
    pitch: Array
    yaw: Array
    alpha: Array
    beta: Array
    gamma: Array
    heading: Array
    course: Array
    airspeed: Array
    groundspeed: Array


def to_z_down(vector: ArrayLike) -> Array:
    """Convert vectors (..., 3) from z up to z down, or back.

    >>> print(to_z_down([1.0, 2.0, 3.0]))
    [ 1. -2. -3.]
    """
    return np.asarray(vector, np.float64) * [1.0, -1.0, -1.0]


def attitude(roll: float, pitch: float, yaw: float) -> Array:
    """Quaternion (z up) of roll, pitch and yaw (rad, z down).

    >>> print(attitude(0.0, 0.1, 0.0).round(4))  # nose up: a rotation about -y
    [ 0.9988  0.     -0.05    0.    ]
    """
    c, s = np.cos(np.array([roll, pitch, yaw]) / 2), np.sin(np.array([roll, pitch, yaw]) / 2)
    x, y, z = (np.array([c[k], *(s[k] * FLIP[k])]) for k in range(3))
    return np.asarray(quaternion.multiply(quaternion.multiply(z, y), x))


def angles(q: ArrayLike, v: ArrayLike, wind: ArrayLike = (0.0, 0.0, 0.0)) -> Angles:
    """Angles and speeds of states q (..., 7 or more), v (..., 6 or more) in a wind (m/s, world axes, z up).

    >>> a = angles([0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 10.0, 0, -1.0])
    >>> print(a.alpha.round(4), a.gamma.round(4), a.airspeed.round(3))
    0.0997 -0.0997 10.05
    """
    q, v = np.asarray(q, np.float64), np.asarray(v, np.float64)
    R = FLIP @ _matrices(q[..., 3:7]) @ FLIP
    over_ground = np.einsum("...ij,...j->...i", R, to_z_down(v[..., 3:6]))
    through_air = over_ground - to_z_down(wind)
    body = np.einsum("...ji,...j->...i", R, through_air)
    speed = np.linalg.norm(through_air, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        beta = np.where(speed > 0, np.arcsin(np.clip(body[..., 1] / speed, -1, 1)), 0.0)
        gamma = np.where(speed > 0, np.arcsin(np.clip(-through_air[..., 2] / speed, -1, 1)), 0.0)
    return Angles(
        np.arctan2(R[..., 2, 1], R[..., 2, 2]),
        np.arcsin(np.clip(-R[..., 2, 0], -1, 1)),
        np.arctan2(R[..., 1, 0], R[..., 0, 0]),
        np.arctan2(body[..., 2], body[..., 0]),
        beta,
        gamma,
        np.arctan2(through_air[..., 1], through_air[..., 0]),
        np.arctan2(over_ground[..., 1], over_ground[..., 0]),
        speed,
        np.linalg.norm(over_ground, axis=-1),
    )


def _matrices(quaternions: Array) -> Array:
    w, x, y, z = np.moveaxis(quaternions, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
