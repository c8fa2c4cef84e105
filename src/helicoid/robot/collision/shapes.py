"""Spheres and capsules, and distances between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.errors import InputError

_ROUNDING = 1e-20  # m², added to squared distances: differentiable where axes meet


@dataclass(frozen=True, eq=False)
class PlacedSphere:
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
class PlacedCapsule:
    """All points within `radius` (m) of the segment from `start` to `end`, on a link or in the world."""

    radius: float
    start: ArrayLike
    end: ArrayLike
    link: str | None = None

    def __post_init__(self) -> None:
        _check_radius(self.radius)

    @property
    def length(self) -> float:
        """Length of its axis (m)."""
        return float(np.linalg.norm(np.subtract(self.end, self.start)))

    @property
    def volume(self) -> float:
        """π r² (l + 4/3 r), in m³."""
        return float(np.pi * self.radius**2 * (self.length + 4 / 3 * self.radius))

    @property
    def points(self) -> dict[str, ArrayLike]:
        """The ends of its axis."""
        return {"start": self.start, "end": self.end}


Shape = PlacedSphere | PlacedCapsule


def _check_radius(radius: float) -> None:
    if not isinstance(radius, Real) or not 0 <= radius < np.inf:
        raise InputError(f"the radius (m) of a shape is a number, zero or more; got {radius!r}")


def distance(one: Sequence[Expression], other: Sequence[Expression]) -> Expression:
    """Between two axes, each a point or the two ends of a segment."""
    p, q = closest_points(one, other)
    return norm(p - q)


def closest_points(
    one: Sequence[Expression], other: Sequence[Expression], squares: tuple[float, float] | None = None
) -> tuple[Expression, Expression]:
    """The points of two axes that are nearest to each other (Ericson 2005, section 5.1.9).

    `squares` are the squares of their lengths (m²) where these are known constants, which saves operations.
    """
    p, q = one[0], other[0]
    if len(one) == 1 and len(other) == 1:
        return p, q
    if len(other) == 1:
        there, here = closest_points(other, one, squares and (squares[1], squares[0]))
        return here, there
    e = other[-1] - q
    g = _square(e) if squares is None else squares[1]
    if len(one) == 1:
        return p, q + e * _clamped(ca.dot(p - q, e) / g)
    r, d = p - q, one[-1] - p
    a = _square(d) if squares is None else squares[0]
    b, f, c = ca.dot(d, e), ca.dot(e, r), ca.dot(d, r)
    denominator = a * g - b * b
    # For parallel segments any point may start: the two steps after it find the closest points.
    parallel = denominator < 1e-15 * a * g
    s = ca.if_else(parallel, 0.5, _clamped((b * f - c * g) / ca.if_else(parallel, 1.0, denominator)))
    t = _clamped((b * s + f) / g)
    s = _clamped((b * t - c) / a)
    return p + d * s, q + e * t


def _square(d: Expression) -> Expression:
    """|d|², not zero where both ends of a capsule are the same point."""
    return ca.dot(d, d) + 1e-30


def _clamped(s: Expression) -> Expression:
    return ca.fmin(ca.fmax(s, 0), 1)


def norm(x: Expression) -> Expression:
    """|x|, differentiable where that is zero, and too large there by 0.1 nm."""
    return ca.sqrt(ca.dot(x, x) + _ROUNDING)
