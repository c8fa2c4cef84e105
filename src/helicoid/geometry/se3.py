"""Rigid motions: homogeneous matrices T in SE(3), twists ξ = (ω, v), screws.

T_ab, shape (4, 4), maps the coordinates of a point from b to a. A twist has shape (6,), angular part first.
`pose`, `rotation`, `translation`, `inverse`, `hat`, `vee`, `exp`, `log`, `adjoint` and `dual_adjoint` also
take NumPy batches, (N, 4, 4) or (N, 6), and give as many results.
SE(3) is SO(3) over the dual numbers, with ω + ε v in the place of ω; its Jacobians therefore follow from
those of SO(3) by one differentiation, and need no series of their own.
References: Barfoot, State Estimation for Robotics (2017), chapter 7; Lynch and Park, Modern Robotics
(2017), chapters 3 and 4.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from helicoid.errors import InputError
from helicoid.geometry import so3, spatial
from helicoid.geometry._array import (
    Array,
    as_array,
    as_arrays,
    assemble,
    blend,
    block,
    components,
    concatenate,
    cross,
    dot,
    is_symbolic,
    promote,
    where,
)
from helicoid.geometry._components import (
    largest_column,
    polynomial,
    polynomial_times,
    rotation_vector,
)
from helicoid.geometry._functions import (
    exponential_coefficients,
    inverse_coefficient,
    inverse_jacobian_coefficient,
    magnitude_and_direction,
    stumpff,
    unit_axis,
)

_ZERO = np.zeros((3, 3))


def pose(rotation: Array, translation: Array) -> Array:
    """T = [[R, p], [0, 1]].

    >>> import numpy as np
    >>> print(pose(np.eye(3), [1.0, 2.0, 3.0])[:, 3])
    [1. 2. 3. 1.]
    """
    r, p = components(rotation, (3, 3), "rotation"), components(translation, (3,), "translation")
    like = blend(r[0], p[0])
    return assemble((*r[:3], p[0], *r[3:6], p[1], *r[6:], p[2], 0.0, 0.0, 0.0, 1.0), (4, 4), like)


def rotation(transform: Array) -> Array:
    """R of T, shape (3, 3).

    >>> import numpy as np
    >>> rotation(np.eye(4)).shape
    (3, 3)
    """
    t = as_arrays(transform, (4, 4), "transform")
    return t[:3, :3] if is_symbolic(t) else t[..., :3, :3]


def translation(transform: Array) -> Array:
    """p of T, shape (3,).

    >>> import numpy as np
    >>> print(translation(np.eye(4)))
    [0. 0. 0.]
    """
    t = as_arrays(transform, (4, 4), "transform")
    return t[:3, 3] if is_symbolic(t) else t[..., :3, 3]


def inverse(transform: Array) -> Array:
    """T⁻¹ = [[Rᵀ, −Rᵀ p], [0, 1]].

    >>> import numpy as np
    >>> print(inverse(pose(np.eye(3), [1.0, 2.0, 3.0]))[:3, 3])
    [-1. -2. -3.]
    """
    xx, xy, xz, x, yx, yy, yz, y, zx, zy, zz, z, _, _, _, _ = components(transform, (4, 4), "transform")
    entries = (
        xx, yx, zx, -(xx * x + yx * y + zx * z),
        xy, yy, zy, -(xy * x + yy * y + zy * z),
        xz, yz, zz, -(xz * x + yz * y + zz * z),
        0.0, 0.0, 0.0, 1.0,
    )  # fmt: skip
    return assemble(entries, (4, 4), x)


def hat(twist: Array) -> Array:
    """ξ^ = [[ω^, v], [0, 0]], shape (4, 4), with d/dt T = ξ^ T for the twist ξ of T in the world.

    >>> print(hat([0.0, 0.0, 1.0, 2.0, 3.0, 4.0])[:3, 3])
    [2. 3. 4.]
    """
    x, y, z, u, v, w = components(twist, (6,), "twist")
    entries = (0.0, -z, y, u, z, 0.0, -x, v, -y, x, 0.0, w, 0.0, 0.0, 0.0, 0.0)
    return assemble(entries, (4, 4), x)


def vee(matrix: Array) -> Array:
    """The twist ξ of ξ^, shape (6,).

    >>> print(vee(hat([0.0, 0.0, 1.0, 2.0, 3.0, 4.0])))
    [0. 0. 1. 2. 3. 4.]
    """
    _, xy, xz, u, yx, _, yz, v, zx, zy, _, w, *_ = components(matrix, (4, 4), "matrix")
    return assemble(((zy - yz) / 2.0, (xz - zx) / 2.0, (yx - xy) / 2.0, u, v, w), (6,), u)


def exp(twist: Array) -> Array:
    """T = exp(ξ^) = [[exp(ω^), J(ω) v], [0, 1]], with J the left Jacobian of SO(3).

    >>> import numpy as np
    >>> print(exp([0.0, 0.0, np.pi, 0.0, -np.pi, 0.0])[:3, 3].round(12))  # half a turn about x = 1
    [2. 0. 0.]
    """
    x, y, z, u, v, w = components(twist, (6,), "twist")
    c1, c2, c3 = exponential_coefficients(x * x + y * y + z * z)
    a, b, c = polynomial_times(x, y, z, c2, c3, u, v, w)
    xx, xy, xz, yx, yy, yz, zx, zy, zz = polynomial(x, y, z, c1, c2)
    return assemble((xx, xy, xz, a, yx, yy, yz, b, zx, zy, zz, c, 0.0, 0.0, 0.0, 1.0), (4, 4), x)


def log(transform: Array) -> Array:
    """The twist ξ = (ω, v) with exp(ξ) = T and the shortest rotation, |ω| ≤ π.

    >>> print(log(exp([0.1, -0.2, 0.3, 1.0, 2.0, 3.0])).round(12))
    [ 0.1 -0.2  0.3  1.   2.   3. ]
    """
    xx, xy, xz, u, yx, yy, yz, v, zx, zy, zz, w, _, _, _, _ = components(transform, (4, 4), "transform")
    x, y, z = rotation_vector(*largest_column(xx, xy, xz, yx, yy, yz, zx, zy, zz))
    d = inverse_coefficient(x * x + y * y + z * z)
    a, b, c = polynomial_times(x, y, z, -0.5, d, u, v, w)
    return assemble((x, y, z, a, b, c), (6,), u)


def left_jacobian(twist: Array) -> Array:
    """𝒥(ξ) = [[J, 0], [Q, J]]: the twist in the world is 𝒥 ξ̇, that is d/dt exp(ξ) = (𝒥 ξ̇)^ exp(ξ).

    J is that of SO(3), J = 1 + c₂ ω^ + c₃ ω^², and Q its derivative along v:
    Q = c₂ v^ + c₃ (ω^ v^ + v^ ω^) + 2 (ω·v)(c₂′ ω^ + c₃′ ω^²), ′ = d/dθ².

    >>> import numpy as np
    >>> bool(np.allclose(left_jacobian(np.zeros(6)), np.eye(6)))
    True
    """
    xi = as_array(twist, (6,), "twist")
    w, v = xi[:3], xi[3:]
    _, _, c2, c3, c4, c5 = stumpff(dot(w, w))
    q = _slope(w, v, c2, (2.0 * c4 - c3) / 2.0, c3, (3.0 * c5 - c4) / 2.0)
    return _lower(so3.left_jacobian(w), q)


def left_jacobian_inverse(twist: Array) -> Array:
    """𝒥(ξ)⁻¹ = [[J⁻¹, 0], [−J⁻¹ Q J⁻¹, J⁻¹]]; singular at |ω| = 2π.

    The lower left block is the derivative of J⁻¹ along v, as Q is that of J.

    >>> import numpy as np
    >>> xi = np.array([0.1, -0.2, 0.3, 1.0, 2.0, 3.0])
    >>> bool(np.allclose(left_jacobian_inverse(xi) @ left_jacobian(xi), np.eye(6)))
    True
    """
    xi = as_array(twist, (6,), "twist")
    w, v = xi[:3], xi[3:]
    d, d_slope = inverse_jacobian_coefficient(dot(w, w))
    return _lower(so3.left_jacobian_inverse(w), _slope(w, v, -0.5, 0.0, d, d_slope))


def right_jacobian(twist: Array) -> Array:
    """𝒥(−ξ): the twist in the body is 𝒥(−ξ) ξ̇.

    >>> import numpy as np
    >>> xi = np.array([0.1, -0.2, 0.3, 1.0, 2.0, 3.0])
    >>> bool(np.allclose(adjoint(exp(xi)) @ right_jacobian(xi), left_jacobian(xi)))
    True
    """
    return left_jacobian(-as_array(twist, (6,), "twist"))


def right_jacobian_inverse(twist: Array) -> Array:
    """𝒥(−ξ)⁻¹; singular at |ω| = 2π.

    >>> import numpy as np
    >>> xi = np.array([0.1, -0.2, 0.3, 1.0, 2.0, 3.0])
    >>> bool(np.allclose(right_jacobian_inverse(xi) @ right_jacobian(xi), np.eye(6)))
    True
    """
    return left_jacobian_inverse(-as_array(twist, (6,), "twist"))


def adjoint(transform: Array) -> Array:
    """Ad(T) = [[R, 0], [p^ R, R]], shape (6, 6): T_ab gives the map of twists from b to a.

    >>> import numpy as np
    >>> bool(np.allclose(adjoint(np.eye(4)), np.eye(6)))
    True
    """
    return spatial.motion_transform(transform)


def dual_adjoint(transform: Array) -> Array:
    """Ad(T)⁻ᵀ = [[R, p^ R], [0, R]], shape (6, 6): T_ab gives the map of wrenches from b to a.

    >>> import numpy as np
    >>> t = exp([0.1, -0.2, 0.3, 1.0, 2.0, 3.0])
    >>> bool(np.allclose(dual_adjoint(t).T @ adjoint(t), np.eye(6)))
    True
    """
    return spatial.force_transform(transform)


class Screw(NamedTuple):
    """A line, a pitch and a magnitude.

    `axis` is the unit direction, shape (3,); `point` the point of the line closest to the origin, in m;
    `pitch` the advance along the axis in m per radian, infinite for pure translation; `magnitude` the
    speed of rotation in rad/s, or of translation in m/s if the pitch is infinite.
    """

    axis: Array
    point: Array
    pitch: Array
    magnitude: Array


def twist_from_screw(axis: Array, point: Array, pitch: Array) -> Array:
    """The twist of unit magnitude about a screw: (n, p × n + h n), or (0, n) for infinite pitch h.

    The axis is made a unit vector n; any point p of the line does. A CasADi pitch must be finite.

    >>> print(twist_from_screw([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], 0.5))
    [ 0. 0. 1. 0. -1. 0.5]
    >>> print(twist_from_screw([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], float("inf")))
    [0. 0. 0. 0. 0. 1.]
    """
    n, p, h = promote(unit_axis(axis), as_array(point, (3,), "point"), as_array(pitch, (), "pitch"))
    if not is_symbolic(pitch) and math.isinf(pitch):
        return concatenate(0.0 * n, n)
    return concatenate(n, cross(p, n) + h * n)


def screw_from_twist(twist: Array) -> Screw:
    """The screw of a twist: n = ω/|ω|, p = ω × v/|ω|², h = ω·v/|ω|².

    Without rotation the axis is that of v, the point the origin and the pitch inf. The twist zero has the
    axis (1, 0, 0) by choice, and magnitude 0.

    >>> screw = screw_from_twist([0.0, 0.0, 2.0, 0.0, -2.0, 1.0])
    >>> print(screw.axis, screw.point[0], screw.pitch, screw.magnitude)
    [0. 0. 1.] 1.0 0.5 2.0
    """
    xi = as_array(twist, (6,), "twist")
    w, v = xi[:3], xi[3:]
    speed, direction = magnitude_and_direction(v)
    rate, axis = magnitude_and_direction(w)
    turns = rate > 0.0
    safe = where(turns, dot(w, w), 1.0)
    return Screw(
        axis=where(turns, axis, direction),
        point=where(turns, cross(w, v) / safe, 0.0 * v),
        pitch=where(turns, dot(w, v) / safe, math.inf),
        magnitude=where(turns, rate, speed),
    )


def product_of_exponentials(screws: Array, q: Array, home: Array) -> Array:
    """T(q) = exp(ξ₁ q₁) ⋯ exp(ξₙ qₙ) M, the pose of the tip of a chain (Lynch and Park, section 4.1).

    `screws`, shape (6, n), holds the joint twists in the base frame at q = 0 as columns; `q`, shape (n,),
    the joint coordinates; `home`, shape (4, 4), the pose M of the tip at q = 0.

    >>> import numpy as np
    >>> screws = np.column_stack([[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -1, 0]])  # planar 2R, links of 1 m
    >>> tip = product_of_exponentials(screws, [np.pi / 2, -np.pi / 2], pose(np.eye(3), [2.0, 0.0, 0.0]))
    >>> print(translation(tip).round(12))
    [1. 1. 0.]
    """
    shape = screws.shape if is_symbolic(screws) else np.shape(screws)
    if len(shape) != 2 or shape[0] != 6:
        raise InputError(f"screws has shape {shape}; (6, n) is right, a twist in each column")
    columns, q, transform = promote(
        as_array(screws, shape, "screws"), as_array(q, shape[1:], "q"), as_array(home, (4, 4), "home")
    )
    for i in reversed(range(shape[1])):
        transform = exp(columns[:, i] * q[i]) @ transform
    return transform


def _slope(w: Array, v: Array, a: Array, a_slope: Array, b: Array, b_slope: Array) -> Array:
    """The derivative along v of 1 + a(s) w^ + b(s) w^², s = w·w, given a, da/ds, b and db/ds."""
    w_, v_ = so3.hat(w), so3.hat(v)
    ds = 2.0 * dot(w, v)
    return a * v_ + (ds * a_slope) * w_ + b * (w_ @ v_ + v_ @ w_) + (ds * b_slope) * (w_ @ w_)


def _lower(diagonal: Array, corner: Array) -> Array:
    """[[diagonal, 0], [corner, diagonal]]."""
    return block([[diagonal, _ZERO], [corner, diagonal]])
