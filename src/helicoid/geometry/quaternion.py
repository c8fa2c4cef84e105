"""Unit quaternions q = (w, x, y, z), Hamilton's product, shape (4,).

q_ab rotates like R_ab: it maps b-coordinates to a-coordinates; q and −q are the same rotation.
Reference: Solà, Quaternion kinematics for the error-state Kalman filter (2017).
"""

from __future__ import annotations

from helicoid.errors import InputError
from helicoid.geometry._array import (
    Array,
    as_array,
    cos,
    cross,
    dot,
    is_symbolic,
    matrix,
    promote,
    sin,
    sqrt,
    vector,
    where,
)
from helicoid.geometry._functions import arctangent_ratio, magnitude_and_direction, stumpff, unit_axis
from helicoid.geometry._names import Frame, check_frame


def multiply(a: Array, b: Array) -> Array:
    """Hamilton's product a ⊗ b, the rotation b followed by a: R(a ⊗ b) = R(a) R(b).

    >>> print(multiply([0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]))  # i j = k
    [0. 0. 0. 1.]
    """
    a, b = promote(as_array(a, (4,), "a"), as_array(b, (4,), "b"))
    return vector(
        [
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ]
    )


def conjugate(q: Array) -> Array:
    """(w, −x, −y, −z), the inverse of a unit quaternion.

    >>> print(conjugate([0.5, 0.5, -0.5, 0.5]))
    [ 0.5 -0.5  0.5 -0.5]
    """
    q = as_array(q, (4,), "q")
    return vector([q[0], -q[1], -q[2], -q[3]])


def normalize(q: Array) -> Array:
    """q/|q|; a NumPy quaternion of length zero raises an InputError.

    >>> print(normalize([0.0, 3.0, 0.0, 4.0]))
    [0.  0.6 0.  0.8]
    """
    q = as_array(q, (4,), "q")
    s = dot(q, q)
    if not is_symbolic(q) and s == 0.0:
        raise InputError("q is the zero quaternion, which is no rotation; any other one can be normalized")
    return q / sqrt(s)


def rotate(q: Array, v: Array) -> Array:
    """The vector part of q ⊗ (0, v) ⊗ q*, which is R(q) v, for a unit q.

    >>> import numpy as np
    >>> print(rotate(np.sqrt([0.5, 0.0, 0.0, 0.5]), [1.0, 0.0, 0.0]).round(12))
    [0. 1. 0.]
    """
    q, v = promote(as_array(q, (4,), "q"), as_array(v, (3,), "v"))
    u = q[1:]
    t = 2.0 * cross(u, v)
    return v + q[0] * t + cross(u, t)


def to_matrix(q: Array) -> Array:
    """R = 1 + 2 w u^ + 2 u^², u = (x, y, z), of shape (3, 3), for a unit q.

    >>> print(to_matrix([0.0, 0.0, 0.0, 1.0]))
    [[-1.  0.  0.]
     [ 0. -1.  0.]
     [ 0.  0.  1.]]
    """
    q = as_array(q, (4,), "q")
    w, x, y, z = (q[i] for i in range(4))
    return matrix(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def from_matrix(rotation: Array) -> Array:
    """The unit quaternion of R, shape (3, 3), with w ≥ 0.

    The entries of R give the matrix 4 q qᵀ. Its column with the largest diagonal entry, made unit, is q
    without a small divisor (Shepperd 1978).

    >>> print(from_matrix([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]))
    [0. 0. 0. 1.]
    """
    r = as_array(rotation, (3, 3), "rotation")
    xx, yy, zz = r[0, 0], r[1, 1], r[2, 2]
    wx, wy, wz = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    xy, xz, yz = r[0, 1] + r[1, 0], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1]
    columns = [
        [1.0 + xx + yy + zz, wx, wy, wz],
        [wx, 1.0 + xx - yy - zz, xy, xz],
        [wy, xy, 1.0 - xx + yy - zz, yz],
        [wz, xz, yz, 1.0 - xx - yy + zz],
    ]
    # Choosing before dividing leaves one root, of a number that is at least 1: nothing to make safe.
    best, pivot = vector(columns[0]), columns[0][0]
    for i in (1, 2, 3):
        larger = columns[i][i] > pivot
        best, pivot = where(larger, vector(columns[i]), best), where(larger, columns[i][i], pivot)
    return normalize(where(best[0] < 0.0, -best, best))


def exp(rotvec: Array) -> Array:
    """q = (cos(θ/2), sin(θ/2) n) of the rotation vector φ = θ n, shape (3,), in radians.

    >>> import numpy as np
    >>> print(exp([0.0, 0.0, np.pi]).round(12))
    [0. 0. 0. 1.]
    """
    phi = as_array(rotvec, (3,), "rotvec")
    c0, c1, *_ = stumpff(dot(phi, phi) / 4.0)
    return vector([c0, *(0.5 * c1 * phi[i] for i in range(3))])


def log(q: Array) -> Array:
    """The shortest rotation vector of q: φ = 2 atan2(|u|, |w|) sign(w) u/|u|, u = (x, y, z), |φ| ≤ π.

    The length of q plays no part, so neither q nor −q nor an unnormalized q changes the result.

    >>> print(log(exp([0.1, -0.2, 0.3])).round(12))
    [ 0.1 -0.2  0.3]
    """
    q = as_array(q, (4,), "q")
    q = where(q[0] < 0.0, -q, q)
    u = q[1:]
    return 2.0 * arctangent_ratio(dot(u, u), q[0]) * u


def from_angle_axis(angle: Array, axis: Array) -> Array:
    """q = (cos(θ/2), sin(θ/2) n), with n the axis made a unit vector.

    >>> import numpy as np
    >>> print(from_angle_axis(np.pi, [0.0, 0.0, 2.0]).round(12))
    [0. 0. 0. 1.]
    """
    theta, n = promote(as_array(angle, (), "angle"), unit_axis(axis))
    return vector([cos(theta / 2.0), *(sin(theta / 2.0) * n[i] for i in range(3))])


def to_angle_axis(q: Array) -> tuple[Array, Array]:
    """The angle θ in [0, π] and the unit axis n of q; the axis of no rotation is (1, 0, 0) by choice.

    >>> angle, axis = to_angle_axis(exp([0.0, 0.0, 0.25]))
    >>> print(angle.round(12), axis)
    0.25 [0. 0. 1.]
    """
    return magnitude_and_direction(log(q))


def rate_matrix(q: Array, expressed_in: Frame = "body") -> Array:
    """G(q) of shape (4, 3) with q̇ = G ω.

    q̇ = ½ q ⊗ (0, ω) for ω expressed in the body, ½ (0, ω) ⊗ q in the world. G is linear in q.

    >>> print(rate_matrix([1.0, 0.0, 0.0, 0.0]) @ [2.0, 4.0, 6.0])
    [0. 1. 2. 3.]
    """
    check_frame(expressed_in)
    q = as_array(q, (4,), "q")
    w, x, y, z = (q[i] for i in range(4))
    if expressed_in == "body":
        return 0.5 * matrix([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
    return 0.5 * matrix([[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]])


def rate_matrix_inverse(q: Array, expressed_in: Frame = "body") -> Array:
    """H(q) = 4 G(q)ᵀ of shape (3, 4) with ω = H q̇, for a unit q.

    >>> print(rate_matrix_inverse([1.0, 0.0, 0.0, 0.0]) @ [0.0, 1.0, 2.0, 3.0])
    [2. 4. 6.]
    """
    return 4.0 * rate_matrix(q, expressed_in).T


def slerp(a: Array, b: Array, t: Array) -> Array:
    """The shortest path from a (t = 0) to b (t = 1) at constant angular velocity: a ⊗ exp(t log(a* ⊗ b)).

    The result is that of a times a rotation, so at t = 1 it may be −b, the same rotation as b.

    >>> print(log(slerp([1.0, 0.0, 0.0, 0.0], exp([0.0, 0.4, 0.0]), 0.25)).round(12))
    [0.  0.1 0. ]
    """
    a, b, t = promote(as_array(a, (4,), "a"), as_array(b, (4,), "b"), as_array(t, (), "t"))
    return multiply(a, exp(t * log(multiply(conjugate(a), b))))
