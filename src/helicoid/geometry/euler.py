"""Rotations as three angles about coordinate axes: roll, pitch, yaw and the twelve Euler orders.

An order is three letters. Intrinsic "xyz" turns about the axes of the moving body, first its x, then its
new y, then its new z: R = Rx(α₁) Ry(α₂) Rz(α₃). Extrinsic "xyz" turns about the fixed axes in that
order: R = Rz(α₃) Ry(α₂) Rx(α₁). The angles come in the order of the letters, in radians, shape (3,).

An order of three different letters (Tait-Bryan) is singular where cos α₂ = 0, one of the form "zxz"
(proper Euler) where sin α₂ = 0: the gimbal lock.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from helicoid.errors import InputError
from helicoid.geometry._array import (
    Array,
    as_array,
    atan2,
    block,
    column,
    cos,
    cross,
    dot,
    is_symbolic,
    matrix,
    sin,
    vector,
)
from helicoid.geometry._functions import polar
from helicoid.geometry._names import Frame, check_frame

Kind: TypeAlias = Literal["intrinsic", "extrinsic"]

ORDERS = ("xyz", "xzy", "yxz", "yzx", "zxy", "zyx", "xyx", "xzx", "yxy", "yzy", "zxz", "zyz")
"""The twelve orders: six Tait-Bryan, then six proper Euler."""

# Within this distance of the gimbal lock the entries that distinguish the first and third angle are noise.
_LOCK_TOLERANCE = 1e-14


def from_euler(angles: Array, order: str, kind: Kind = "intrinsic") -> Array:
    """The rotation matrix, shape (3, 3), of three angles.

    >>> import numpy as np
    >>> a = from_euler([0.1, 0.2, 0.3], "xyz", kind="extrinsic")
    >>> b = from_euler([0.3, 0.2, 0.1], "zyx", kind="intrinsic")
    >>> bool(np.allclose(a, b))
    True
    """
    axes, angles = _intrinsic(angles, order, kind)
    a, b, c = (_elementary(axis, angles[i]) for i, axis in enumerate(axes))
    return a @ b @ c


def to_euler(rotation: Array, order: str, kind: Kind = "intrinsic") -> Array:
    """Three angles of a rotation matrix; the middle one in [−π/2, π/2] (Tait-Bryan) or [0, π] (proper).

    At gimbal lock only the sum or difference of the outer angles is defined. The intrinsic first angle is
    then set to zero, and `from_euler` of the result still gives the same matrix.

    >>> print(to_euler(from_euler([0.1, 0.2, 0.3], "zxz"), "zxz").round(12))
    [0.1 0.2 0.3]
    """
    i, j, third = _axes(order, kind)
    r = as_array(rotation, (3, 3), "rotation")
    k = 3 - i - j
    e = _parity(i, j)
    if third == k:
        cos_b, a = polar(-e * r[j, k], r[k, k], _LOCK_TOLERANCE)
        b = atan2(e * r[i, k], cos_b)
    else:
        sin_b, a = polar(r[j, i], -e * r[k, i], _LOCK_TOLERANCE)
        b = atan2(sin_b, r[i, i])
    # Row j of Ri(a)ᵀ R = Rj(b) R₃(c) holds c alone. Taken from R itself, c would be independent
    # of a close to the lock, where a is uncertain; taken from here it compensates any error of a.
    row_i, row_j, row_k = (cos(a) * r[j, n] + e * sin(a) * r[k, n] for n in (i, j, k))
    c = atan2(e * row_i, row_j) if third == k else atan2(-e * row_k, row_j)
    return vector([a, b, c] if kind == "intrinsic" else [c, b, a])


def from_rpy(rpy: Array) -> Array:
    """R = Rz(yaw) Ry(pitch) Rx(roll) of (roll, pitch, yaw), as in URDF: extrinsic "xyz".

    >>> import numpy as np
    >>> print(from_rpy([0.0, 0.0, np.pi / 2]).round(12) @ [1.0, 0.0, 0.0])
    [0. 1. 0.]
    """
    return from_euler(rpy, "xyz", "extrinsic")


def to_rpy(rotation: Array) -> Array:
    """(roll, pitch, yaw) of R, the pitch in [−π/2, π/2]; at gimbal lock the yaw is set to zero.

    >>> print(to_rpy(from_rpy([0.1, 0.2, 0.3])).round(12))
    [0.1 0.2 0.3]
    """
    return to_euler(rotation, "xyz", "extrinsic")


def euler_rate_to_angular_velocity(
    angles: Array, order: str, expressed_in: Frame = "body", kind: Kind = "intrinsic"
) -> Array:
    """E(χ) of shape (3, 3) with ω = E χ̇, ω the angular velocity expressed in the body or the world.

    Each column is the axis that its angle turns about: in the world e_i, Ri e_j, Ri Rj e_k for the
    intrinsic order ijk. det E = ± cos α₂ (Tait-Bryan) or ± sin α₂ (proper).

    >>> print(euler_rate_to_angular_velocity([0.1, 0.2, 0.3], "zyx", "world")[:, 0])
    [0. 0. 1.]
    """
    check_frame(expressed_in)
    axes, angles = _intrinsic(angles, order, kind)
    first, second, third = (np.eye(3)[axis] for axis in axes)
    ra, rb, rc = (_elementary(axis, angles[i]) for i, axis in enumerate(axes))
    if expressed_in == "world":
        columns = [first, ra @ second, ra @ (rb @ third)]
    else:
        columns = [rc.T @ (rb.T @ first), rc.T @ second, third]
    return block([[column(x) for x in (columns if kind == "intrinsic" else columns[::-1])]])


def angular_velocity_to_euler_rate(
    angles: Array, order: str, expressed_in: Frame = "body", kind: Kind = "intrinsic"
) -> Array:
    """E(χ)⁻¹ of shape (3, 3) with χ̇ = E⁻¹ ω.

    It grows without bound towards gimbal lock. Where E is exactly singular NumPy input raises an
    InputError; CasADi gives the inf or NaN of the division.

    >>> import numpy as np
    >>> e = euler_rate_to_angular_velocity([0.1, 0.2, 0.3], "zyx")
    >>> bool(np.allclose(angular_velocity_to_euler_rate([0.1, 0.2, 0.3], "zyx") @ e, np.eye(3)))
    True
    """
    e = euler_rate_to_angular_velocity(angles, order, expressed_in, kind)
    a, b, c = (e[:, i] for i in range(3))
    bc = cross(b, c)
    determinant = dot(a, bc)
    if not is_symbolic(e) and determinant == 0.0:
        raise InputError(f"Euler angles {angles} of order {order!r} are at gimbal lock: no rates exist there")
    rows = [column(x / determinant).T for x in (bc, cross(c, a), cross(a, b))]
    return block([[row] for row in rows])


def _axes(order: str, kind: str) -> tuple[int, int, int]:
    """The axes 0, 1, 2 of the order, turned into intrinsic succession."""
    if order not in ORDERS:
        raise InputError(f"Euler order {order!r} is unknown; one of {', '.join(ORDERS)} is right")
    if kind not in ("intrinsic", "extrinsic"):
        raise InputError(f'kind is {kind!r}; "intrinsic" or "extrinsic" is right')
    i, j, k = ("xyz".index(letter) for letter in (order if kind == "intrinsic" else reversed(order)))
    return i, j, k


def _intrinsic(angles: Array, order: str, kind: str) -> tuple[tuple[int, int, int], Array]:
    """The intrinsic axes and angles of the same rotation."""
    angles = as_array(angles, (3,), "angles")
    return _axes(order, kind), (angles if kind == "intrinsic" else angles[::-1])


def _parity(i: int, j: int) -> float:
    """+1 if axis j follows axis i in the cycle x, y, z, else −1."""
    return 1.0 if j == (i + 1) % 3 else -1.0


def _elementary(axis: int, angle: Array) -> Array:
    """The rotation by the angle about a coordinate axis, with exact zeros and ones."""
    c, s = cos(angle), sin(angle)
    if axis == 0:
        return matrix([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    if axis == 1:
        return matrix([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    return matrix([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
