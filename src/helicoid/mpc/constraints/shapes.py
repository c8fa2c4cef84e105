"""Spheres and capsules, and how far they are from each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.errors import InputError

_ROUNDING = 1e-9  # m²: keeps the distance differentiable where axes meet


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball about a point (m) of a link, or of the world where `link` is None."""

    radius: float
    point: ArrayLike = (0.0, 0.0, 0.0)
    link: str | None = None

    def __post_init__(self) -> None:
        _check_radius(self.radius)

    @property
    def points(self) -> dict[str, ArrayLike]:
        """The ends of its axis, one and the same."""
        return {"point": self.point}


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points within `radius` (m) of the segment from `start` to `end`, on a link or in the world."""

    radius: float
    start: ArrayLike
    end: ArrayLike
    link: str | None = None

    def __post_init__(self) -> None:
        _check_radius(self.radius)

    @property
    def points(self) -> dict[str, ArrayLike]:
        """The ends of its axis."""
        return {"start": self.start, "end": self.end}


Shape = Sphere | Capsule


def _check_radius(radius: float) -> None:
    if not isinstance(radius, Real) or not 0 <= radius < np.inf:
        raise InputError(f"the radius (m) of a shape is a number, zero or more; got {radius!r}")


def distance(one: Sequence[Expression], other: Sequence[Expression]) -> Expression:
    """Between two axes, each a point or the two ends of a segment (Ericson 2005, section 5.1.9)."""
    p, d = one[0], one[-1] - one[0]
    q, e = other[0], other[-1] - other[0]
    if len(one) == 1 and len(other) == 1:
        return _norm(p - q)
    if len(one) == 1:
        return _norm(p - q - e * _clamped(ca.dot(p - q, e) / _square(e)))
    if len(other) == 1:
        return distance(other, one)
    r = p - q
    a, b, f, dd, ee = _square(d), ca.dot(d, e), ca.dot(e, r), ca.dot(d, r), _square(e)
    denominator = a * ee - b * b
    parallel = denominator < 1e-12 * a * ee
    s = ca.if_else(parallel, 0.5, _clamped((b * f - dd * ee) / ca.if_else(parallel, 1.0, denominator)))
    t = _clamped((b * s + f) / ee)
    s = _clamped((b * t - dd) / a)
    return _norm(r + d * s - e * t)


def _square(d: Expression) -> Expression:
    """|d|², not zero where both ends of a capsule are the same point."""
    return ca.dot(d, d) + 1e-15


def _clamped(s: Expression) -> Expression:
    return ca.fmin(ca.fmax(s, 0), 1)


def _norm(x: Expression) -> Expression:
    return ca.sqrt(ca.dot(x, x) + _ROUNDING)
