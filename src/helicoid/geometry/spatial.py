"""Spatial (6-D) vectors and matrices, angular part first: twists (ω, v) and wrenches (n, f).

A frame b seen from a is (R_ab, p_ab) or the 4×4 matrix T_ab. Vectors have shape (6,), matrices (6, 6).
Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 2; his transform ᴬX_B is X_ab here,
built from the pose of b in a.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helicoid.geometry import _array
from helicoid.geometry._array import (
    Array,
    as_array,
    assemble,
    blend,
    block,
    components,
    matrix,
    promote,
    vector,
)
from helicoid.geometry.so3 import hat, vee

LINEAR_FIRST = np.roll(np.eye(6), 3, axis=1)
"""P, 6 × 6, with P (ω, v) = (v, ω), and back: P P = 1.

For interchange with libraries whose spatial vectors are linear first, such as Pinocchio: a twist or wrench is
P x, a Jacobian P J, an inertia P I P. Drake's and RBDL's are angular first, as here."""

_ZERO = np.zeros((3, 3))
_NONE = (0.0, 0.0, 0.0)


def cross(a: Array, b: Array) -> Array:
    """The vector product a × b of two 3-vectors.

    >>> print(cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))
    [0. 0. 1.]
    """
    return _array.cross(*promote(as_array(a, (3,), "a"), as_array(b, (3,), "b")))


def motion_cross(v: Array) -> Array:
    """crm(v) = [[ω^, 0], [v^, ω^]]: the rate of a motion vector that the twist carries along (section 2.9).

    >>> twist = [0.1, 0.2, 0.3, 1.0, 2.0, 3.0]
    >>> print(motion_cross(twist) @ twist)
    [0. 0. 0. 0. 0. 0.]
    """
    v = as_array(v, (6,), "v")
    w = hat(v[:3])
    return block([[w, _ZERO], [hat(v[3:]), w]])


MOTION_CROSS_FACTOR = np.hstack([-motion_cross(unit) for unit in np.eye(6)])
"""W, 6 × 36, with crm(v) = W (1₆ ⊗ v): block k is the derivative of column k of crm(v) by the twist.

With it ∂crm(J v)/∂v_h = crm(J_h) (Garofalo, Ott and Albu-Schäffer 2013, propositions 3 and 4)."""


def force_cross(v: Array) -> Array:
    """crf(v) = −crm(v)ᵀ = [[ω^, v^], [0, ω^]]: the rate of a force vector carried along (section 2.9).

    >>> print(force_cross([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]) @ [0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    [0. 0. 1. 0. 0. 0.]
    """
    v = as_array(v, (6,), "v")
    w = hat(v[:3])
    return block([[w, hat(v[3:])], [_ZERO, w]])


def motion_transform(rotation: Array, translation: Array | None = None) -> Array:
    """X_ab = [[R, 0], [p^ R, R]], which maps twists from b to a; from (R_ab, p_ab) or from T_ab alone.

    >>> import numpy as np
    >>> print(motion_transform(np.eye(3), [1.0, 0.0, 0.0]) @ [0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    [ 0. 0. 1. 0. -1. 0.]
    """
    r, p, like = _rotation_translation(rotation, translation)
    first, second, third = r[:3], r[3:6], r[6:]
    a, b, c = _moved(r, p)
    entries = (*first, *_NONE, *second, *_NONE, *third, *_NONE, *a, *first, *b, *second, *c, *third)
    return assemble(entries, (6, 6), like)


def force_transform(rotation: Array, translation: Array | None = None) -> Array:
    """X*_ab = X_ab⁻ᵀ = [[R, p^ R], [0, R]], which maps wrenches from b to a; from (R_ab, p_ab) or T_ab.

    >>> import numpy as np
    >>> print(force_transform(np.eye(3), [1.0, 0.0, 0.0]) @ [0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    [0. 0. 1. 0. 1. 0.]
    """
    r, p, like = _rotation_translation(rotation, translation)
    first, second, third = r[:3], r[3:6], r[6:]
    a, b, c = _moved(r, p)
    entries = (*first, *a, *second, *b, *third, *c, *_NONE, *first, *_NONE, *second, *_NONE, *third)
    return assemble(entries, (6, 6), like)


def spatial_inertia(mass: Array, first_moment: Array, rotational_inertia: Array) -> Array:
    """I = [[Ī, h^], [h^ᵀ, m 1]] about the frame's origin, in kg, kg m and kg m² (section 2.13).

    `first_moment` is h = m·com, shape (3,). `rotational_inertia` is Ī about the origin, not about the center
    of mass, shape (3, 3): Ī = I_com + m com^ com^ᵀ.

    >>> import numpy as np
    >>> inertia = spatial_inertia(2.0, [0.0, 0.0, 1.0], np.diag([0.6, 0.6, 0.1]))
    >>> print(inertia @ [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    [ 0.6 0. 0. 0. -1. 0. ]
    """
    m, h, i_bar = promote(
        as_array(mass, (), "mass"),
        as_array(first_moment, (3,), "first_moment"),
        as_array(rotational_inertia, (3, 3), "rotational_inertia"),
    )
    return block([[i_bar, hat(h)], [hat(-h), m * np.eye(3)]])


def inertia_from_parameters(parameters: Array) -> Array:
    """The spatial inertia, shape (6, 6), of π = [m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz], shape (10,).

    >>> inertia = inertia_from_parameters([2.0, 0.0, 0.0, 1.0, 0.6, 0.0, 0.0, 0.6, 0.0, 0.1])
    >>> print(inertia.diagonal())
    [0.6 0.6 0.1 2. 2. 2. ]
    """
    pi = as_array(parameters, (10,), "parameters")
    m, h, xx, xy, xz, yy, yz, zz = pi[0], pi[1:4], *(pi[i] for i in range(4, 10))
    return spatial_inertia(m, h, matrix([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def inertia_to_parameters(inertia: Array) -> Array:
    """π of a spatial inertia: the inverse of `inertia_from_parameters`.

    >>> parameters = [2.0, 0.0, 0.0, 1.0, 0.6, 0.0, 0.0, 0.6, 0.0, 0.1]
    >>> print(inertia_to_parameters(inertia_from_parameters(parameters)))
    [2. 0. 0. 1. 0.6 0. 0. 0.6 0. 0.1]
    """
    i = as_array(inertia, (6, 6), "inertia")
    h = vee(i[:3, 3:])
    upper = [i[0, 0], i[0, 1], i[0, 2], i[1, 1], i[1, 2], i[2, 2]]
    return vector([i[3, 3], h[0], h[1], h[2], *upper])


def inertia_map(v: Array) -> Array:
    """A(v), 6 × 10, with I v = A(v) π: the momentum of a body is linear in its inertial parameters.

    (Garofalo, Ott and Albu-Schäffer 2013, proposition 1, here angular first and for our order of π.)

    >>> import numpy as np
    >>> pi = [2.0, 0.0, 0.0, 1.0, 0.6, 0.0, 0.0, 0.6, 0.0, 0.1]
    >>> twist = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
    >>> np.allclose(inertia_map(twist) @ pi, inertia_from_parameters(pi) @ twist)
    True
    """
    x, y, z, a, b, c = components(v, (6,), "v")
    o = 0.0 * x
    rows = (
        (o, o, c, -b, x, y, z, o, o, o),
        (o, -c, o, a, o, x, o, y, z, o),
        (o, b, -a, o, o, o, x, o, y, z),
        (a, o, -z, y, o, o, o, o, o, o),
        (b, z, o, -x, o, o, o, o, o, o),
        (c, -y, x, o, o, o, o, o, o, o),
    )
    return assemble(tuple(entry for row in rows for entry in row), (6, 10), x)


def _rotation_translation(
    rotation: Array, translation: Array | None
) -> tuple[Sequence[Any], Sequence[Any], Any]:
    """The components of R and p as given, or out of a 4×4 matrix, and a scalar of their kind."""
    if translation is None:
        xx, xy, xz, x, yx, yy, yz, y, zx, zy, zz, z, *_ = components(
            rotation, (4, 4), "rotation (alone, so the homogeneous matrix)"
        )
        return (xx, xy, xz, yx, yy, yz, zx, zy, zz), (x, y, z), x
    r, p = components(rotation, (3, 3), "rotation"), components(translation, (3,), "translation")
    return r, p, blend(r[0], p[0])


def _moved(r: Sequence[Any], p: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    """The rows of p^ R."""
    x, y, z = p
    xx, xy, xz, yx, yy, yz, zx, zy, zz = r
    return (
        (y * zx - z * yx, y * zy - z * yy, y * zz - z * yz),
        (z * xx - x * zx, z * xy - x * zy, z * xz - x * zz),
        (x * yx - y * xx, x * yy - y * xy, x * yz - y * xz),
    )
