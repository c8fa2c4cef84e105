"""Unit quaternions q = (w, x, y, z), Hamilton's product, shape (4,).

Products, conjugates, rotations, exp, log and the way to matrices and back also take NumPy batches, (N, 4).
q_ab rotates like R_ab: it maps b-coordinates to a-coordinates; q and −q are the same rotation.
Reference: Solà, Quaternion kinematics for the error-state Kalman filter (2017).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from helicoid.errors import InputError
from helicoid.geometry._array import (
    Array,
    as_array,
    as_arrays,
    assemble,
    blend,
    components,
    cos,
    is_symbolic,
    matrix,
    promote,
    sin,
    sqrt,
    vector,
    where,
)
from helicoid.geometry._components import largest_column, rotation_vector
from helicoid.geometry._functions import half_angle_coefficients, magnitude_and_direction, unit_axis
from helicoid.geometry._names import Frame, check_frame


def multiply(a: Array, b: Array) -> Array:
    """Hamilton's product a ⊗ b, the rotation b followed by a: R(a ⊗ b) = R(a) R(b).

    >>> print(multiply([0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]))  # i j = k
    [0. 0. 0. 1.]
    """
    p0, p1, p2, p3 = components(a, (4,), "a")
    q0, q1, q2, q3 = components(b, (4,), "b")
    like = blend(p0, q0)
    return assemble(_product(p0, p1, p2, p3, q0, q1, q2, q3), (4,), like)


def left_matrix(q: Array) -> Array:
    """M_l(q), 4 × 4, of the product from the left: q ⊗ p = M_l(q) p.

    >>> import numpy as np
    >>> q, p = np.array([0.5, 0.5, -0.5, 0.5]), np.array([0.0, 1.0, 0.0, 0.0])
    >>> np.allclose(left_matrix(q) @ p, multiply(q, p))
    True
    """
    w, x, y, z = components(q, (4,), "q")
    return assemble((w, -x, -y, -z, x, w, -z, y, y, z, w, -x, z, -y, x, w), (4, 4), w)


def right_matrix(q: Array) -> Array:
    """M_r(q), 4 × 4, of the product from the right: p ⊗ q = M_r(q) p.

    >>> import numpy as np
    >>> q, p = np.array([0.5, 0.5, -0.5, 0.5]), np.array([0.0, 1.0, 0.0, 0.0])
    >>> np.allclose(right_matrix(q) @ p, multiply(p, q))
    True
    """
    w, x, y, z = components(q, (4,), "q")
    return assemble((w, -x, -y, -z, x, w, z, -y, y, -z, w, x, z, y, -x, w), (4, 4), w)


def conjugate(q: Array) -> Array:
    """(w, −x, −y, −z), the inverse of a unit quaternion.

    >>> print(conjugate([0.5, 0.5, -0.5, 0.5]))
    [ 0.5 -0.5  0.5 -0.5]
    """
    w, x, y, z = components(q, (4,), "q")
    return assemble((w, -x, -y, -z), (4,), w)


def normalize(q: Array) -> Array:
    """q/|q|; a NumPy quaternion of length zero raises an InputError.

    >>> print(normalize([0.0, 3.0, 0.0, 4.0]))
    [0.  0.6 0.  0.8]
    """
    w, x, y, z = components(q, (4,), "q")
    s = w * w + x * x + y * y + z * z
    if s == 0.0 if type(s) is float else not is_symbolic(s) and np.any(s == 0.0):
        raise InputError("q is the zero quaternion, which is no rotation; any other one can be normalized")
    length = sqrt(s)
    return assemble((w / length, x / length, y / length, z / length), (4,), w)


def rotate(q: Array, v: Array) -> Array:
    """The vector part of q ⊗ (0, v) ⊗ q*, which is R(q) v, for a unit q.

    >>> import numpy as np
    >>> print(rotate(np.sqrt([0.5, 0.0, 0.0, 0.5]), [1.0, 0.0, 0.0]).round(12))
    [0. 1. 0.]
    """
    w, x, y, z = components(q, (4,), "q")
    a, b, c = components(v, (3,), "v")
    like = blend(w, a)
    r, s, t = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    turned = a + w * r + (y * t - z * s), b + w * s + (z * r - x * t), c + w * t + (x * s - y * r)
    return assemble(turned, (3,), like)


def to_matrix(q: Array) -> Array:
    """R = 1 + 2 w u^ + 2 u^², u = (x, y, z), of shape (3, 3), for a unit q.

    >>> print(to_matrix([0.0, 0.0, 0.0, 1.0]))
    [[-1.  0.  0.]
     [ 0. -1.  0.]
     [ 0.  0.  1.]]
    """
    w, x, y, z = components(q, (4,), "q")
    entries = (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip
    return assemble(entries, (3, 3), w)


def from_matrix(rotation: Array) -> Array:
    """The unit quaternion of R, shape (3, 3), with w ≥ 0.

    The entries of R give the matrix 4 q qᵀ. Its column with the largest diagonal entry, made unit, is q
    without a small divisor (Shepperd 1978).

    >>> print(from_matrix([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]))
    [0. 0. 0. 1.]
    """
    r = components(rotation, (3, 3), "rotation")
    w, x, y, z = largest_column(*r)
    k = where(w < 0.0, -1.0, 1.0) / sqrt(w * w + x * x + y * y + z * z)
    return assemble((k * w, k * x, k * y, k * z), (4,), r[0])


def exp(rotvec: Array) -> Array:
    """q = (cos(θ/2), sin(θ/2) n) of the rotation vector φ = θ n, shape (3,), in radians.

    >>> import numpy as np
    >>> print(exp([0.0, 0.0, np.pi]).round(12))
    [0. 0. 0. 1.]
    """
    x, y, z = components(rotvec, (3,), "rotvec")
    c, k = half_angle_coefficients(x * x + y * y + z * z)
    return assemble((c, k * x, k * y, k * z), (4,), x)


def log(q: Array) -> Array:
    """The shortest rotation vector of q: φ = 2 atan2(|u|, |w|) sign(w) u/|u|, u = (x, y, z), |φ| ≤ π.

    The length of q plays no part, so neither q nor −q nor an unnormalized q changes the result.

    >>> print(log(exp([0.1, -0.2, 0.3])).round(12))
    [ 0.1 -0.2  0.3]
    """
    w, x, y, z = components(q, (4,), "q")
    return assemble(rotation_vector(w, x, y, z), (3,), w)


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
    a, b, t = promote(as_arrays(a, (4,), "a"), as_arrays(b, (4,), "b"), as_array(t, (), "t"))
    return multiply(a, exp(t * log(multiply(conjugate(a), b))))


def _product(
    p0: Any, p1: Any, p2: Any, p3: Any, q0: Any, q1: Any, q2: Any, q3: Any
) -> tuple[Any, Any, Any, Any]:
    return (
        p0 * q0 - p1 * q1 - p2 * q2 - p3 * q3,
        p0 * q1 + p1 * q0 + p2 * q3 - p3 * q2,
        p0 * q2 - p1 * q3 + p2 * q0 + p3 * q1,
        p0 * q3 + p1 * q2 - p2 * q1 + p3 * q0,
    )
