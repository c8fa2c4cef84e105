"""Formulas of SO(3) that several modules share, on components: floats, arrays of a batch, CasADi scalars."""

from __future__ import annotations

from math import atan2, sqrt
from typing import Any

from helicoid.geometry._array import where
from helicoid.geometry._functions import ZERO_SQUARED, arctangent_ratio


def polynomial(x: Any, y: Any, z: Any, a: Any, b: Any) -> tuple[Any, ...]:
    """The nine entries of 1 + a φ^ + b φ^², row by row, of the components of φ."""
    ax, ay, az = a * x, a * y, a * z
    bx, by, bz = b * x, b * y, b * z
    xx, yy, zz, xy, xz, yz = bx * x, by * y, bz * z, bx * y, bx * z, by * z
    return (
        1.0 - (yy + zz), xy - az, xz + ay,
        xy + az, 1.0 - (xx + zz), yz - ax,
        xz - ay, yz + ax, 1.0 - (xx + yy),
    )  # fmt: skip


def polynomial_times(x: Any, y: Any, z: Any, a: Any, b: Any, u: Any, v: Any, w: Any) -> tuple[Any, Any, Any]:
    """(1 + a φ^ + b φ^²) (u, v, w) = (u, v, w) + φ × (a (u, v, w) + b φ × (u, v, w)), by components."""
    s = a * u + b * (y * w - z * v)
    t = a * v + b * (z * u - x * w)
    r = a * w + b * (x * v - y * u)
    return u + (y * r - z * t), v + (z * s - x * r), w + (x * t - y * s)


def largest_column(
    xx: Any, xy: Any, xz: Any, yx: Any, yy: Any, yz: Any, zx: Any, zy: Any, zz: Any
) -> tuple[Any, Any, Any, Any]:
    """The column of 4 q qᵀ with the largest diagonal entry, from the entries of R: ± q but for its length."""
    w, x, y, z = 1.0 + xx + yy + zz, 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz
    wx, wy, wz = zy - yz, xz - zx, yx - xy
    if type(w) is float:  # straight on: this is called most
        if w >= x and w >= y and w >= z:
            return w, wx, wy, wz
        if x >= y and x >= z:
            return wx, x, xy + yx, xz + zx
        return (wy, xy + yx, y, yz + zy) if y >= z else (wz, xz + zx, yz + zy, z)
    sxy, sxz, syz = xy + yx, xz + zx, yz + zy
    # Choosing before dividing leaves one root, of a number that is at least 1: nothing to make safe.
    best, pivot = (w, wx, wy, wz), w
    for column in ((wx, x, sxy, sxz, x), (wy, sxy, y, syz, y), (wz, sxz, syz, z, z)):
        larger = column[4] > pivot
        best = tuple(where(larger, new, old) for new, old in zip(column[:4], best, strict=True))
        pivot = where(larger, column[4], pivot)
    return best


def rotation_vector(w: Any, x: Any, y: Any, z: Any) -> tuple[Any, Any, Any]:
    """φ = 2 atan2(|u|, |w|) sign(w) u/|u| of q = (w, u), which need not be a unit quaternion."""
    if type(w) is float:
        s = x * x + y * y + z * z
        if s > ZERO_SQUARED:
            n = sqrt(s)
            k = 2.0 * atan2(n, w) / n if w >= 0.0 else -2.0 * atan2(n, -w) / n
            return k * x, k * y, k * z
    backwards = w < 0.0
    k = where(backwards, -2.0, 2.0) * arctangent_ratio(x * x + y * y + z * z, where(backwards, -w, w))
    return k * x, k * y, k * z
