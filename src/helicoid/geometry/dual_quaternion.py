"""Unit dual quaternions: a rigid motion in eight numbers, shape (8,), the real part then the dual part.

The real part is the unit quaternion r of the rotation, the dual part d = ½ (0, p) ⊗ r with p the
translation: T_ab and its dual quaternion map b-coordinates to a-coordinates alike. q and −q are the same
motion. Twists are (ω, v). Reference: Kenwright, Dual-Quaternions (2012); Daniilidis, IJRR 18(3), 1999.
"""

from __future__ import annotations

import numpy as np

from helicoid.errors import InputError
from helicoid.geometry import quaternion, se3, so3
from helicoid.geometry._array import (
    Array,
    as_array,
    block,
    concatenate,
    dot,
    is_symbolic,
    promote,
    sqrt,
    vector,
)
from helicoid.geometry._functions import stumpff


def multiply(a: Array, b: Array) -> Array:
    """a b = (r_a ⊗ r_b, r_a ⊗ d_b + d_a ⊗ r_b), the motion b followed by a.

    >>> import numpy as np
    >>> one = np.eye(8)[0]
    >>> print(multiply(one, [1.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]))
    [1. 0. 0. 0. 0. 0.5 0. 0. ]
    """
    a, b = promote(as_array(a, (8,), "a"), as_array(b, (8,), "b"))
    real = quaternion.multiply(a[:4], b[:4])
    return concatenate(real, quaternion.multiply(a[:4], b[4:]) + quaternion.multiply(a[4:], b[:4]))


def conjugate(q: Array) -> Array:
    """(r*, d*), the inverse of a unit dual quaternion.

    >>> print(conjugate([1.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0])[5])
    -0.5
    """
    q = as_array(q, (8,), "q")
    return concatenate(quaternion.conjugate(q[:4]), quaternion.conjugate(q[4:]))


def normalize(q: Array) -> Array:
    """The unit dual quaternion r/|r| + ε (d − r (r·d)/|r|²)/|r|, so that |r| = 1 and r·d = 0.

    >>> print(normalize([2.0, 0.0, 0.0, 0.0, 3.0, 1.0, 0.0, 0.0]))
    [1. 0. 0. 0. 0. 0.5 0. 0. ]
    """
    q = as_array(q, (8,), "q")
    r, d = q[:4], q[4:]
    s = dot(r, r)
    if not is_symbolic(q) and s == 0.0:
        raise InputError("the real part of q is zero, which is no motion; any other one can be normalized")
    return concatenate(r, d - r * (dot(r, d) / s)) / sqrt(s)


def from_pose(transform: Array) -> Array:
    """The unit dual quaternion of T, shape (4, 4), with its scalar part ≥ 0.

    >>> import numpy as np
    >>> print(from_pose(se3.pose(np.eye(3), [1.0, 2.0, 3.0])))
    [1. 0. 0. 0. 0. 0.5 1. 1.5]
    """
    r = quaternion.from_matrix(se3.rotation(transform))
    p = se3.translation(transform)
    return concatenate(r, 0.5 * quaternion.multiply(vector([0.0, p[0], p[1], p[2]]), r))


def to_pose(q: Array) -> Array:
    """T, shape (4, 4), of a unit dual quaternion: R = R(r), p = 2 d ⊗ r*.

    >>> print(to_pose([1.0, 0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.5])[:3, 3])
    [1. 2. 3.]
    """
    q = as_array(q, (8,), "q")
    return se3.pose(quaternion.to_matrix(q[:4]), _translation(q))


def exp(twist: Array) -> Array:
    """The unit dual quaternion of exp(ξ^): the motion along the screw of the twist ξ = (ω, v), shape (6,).

    It is the exponential of the quaternion with ω + ε v in the place of ω. With c_n the Stumpff functions
    of |ω|²/4 and k = ω·v: r = (c₀, c₁ ω/2), d = (−c₁ k/4, c₁ v/2 + (c₃ − c₂) k ω/8).

    >>> import numpy as np
    >>> twist = np.array([0.1, -0.2, 0.3, 1.0, 2.0, 3.0])
    >>> bool(np.allclose(to_pose(exp(twist)), se3.exp(twist)))
    True
    """
    xi = as_array(twist, (6,), "twist")
    w, v = xi[:3], xi[3:]
    c0, c1, c2, c3, *_ = stumpff(dot(w, w) / 4.0)
    k = dot(w, v)
    real, dual = 0.5 * c1 * w, 0.5 * c1 * v + (0.125 * (c3 - c2) * k) * w
    return vector([c0, real[0], real[1], real[2], -0.25 * c1 * k, dual[0], dual[1], dual[2]])


def log(q: Array) -> Array:
    """The twist ξ = (ω, v), shape (6,), with exp(ξ) = ± q and the shortest rotation.

    >>> print(log(exp([0.1, -0.2, 0.3, 1.0, 2.0, 3.0])).round(12))
    [ 0.1 -0.2 0.3 1. 2. 3. ]
    """
    q = as_array(q, (8,), "q")
    omega = quaternion.log(q[:4])
    return concatenate(omega, so3.left_jacobian_inverse(omega) @ _translation(q))


def transform_point(q: Array, point: Array) -> Array:
    """R(r) x + p: the point, shape (3,), in m, carried from b-coordinates to a-coordinates.

    >>> print(transform_point([1.0, 0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.5], [1.0, 0.0, 0.0]))
    [2. 2. 3.]
    """
    q, x = promote(as_array(q, (8,), "q"), as_array(point, (3,), "point"))
    return quaternion.rotate(q[:4], x) + _translation(q)


def rate_matrix(q: Array) -> Array:
    """G(q) of shape (8, 6) with q̇ = G ξ for the body twist ξ: q̇ = ½ q (0, ω, 0, v).

    >>> print((rate_matrix([1.0, 0, 0, 0, 0, 0, 0, 0]) @ [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]))
    [0. 1. 2. 3. 0. 4. 5. 6.]
    """
    q = as_array(q, (8,), "q")
    real, dual = quaternion.rate_matrix(q[:4]), quaternion.rate_matrix(q[4:])
    return block([[real, np.zeros((4, 3))], [dual, real]])


def _translation(q: Array) -> Array:
    return 2.0 * quaternion.multiply(q[4:], quaternion.conjugate(q[:4]))[1:]
