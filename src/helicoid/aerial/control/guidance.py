"""Ways over ground: lines and circles, Dubins' paths of them, and L1 guidance along both.

The plane is that of the world, z up: x north, y west. L1 guidance (Park, Deyst, How 2004) steers at the
point of the way at a distance L ahead: with η from the velocity to it, the turn a = 2 V² sin η / L meets it
on a circle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.errors import InputError

COLUMNS = 8
"""Numbers of a leg: kind (0 line, 1 circle), two points, signed radius (left is positive), sweep, height."""


@dataclass(frozen=True, eq=False)
class Line:
    """A straight leg from one point to another (m, world; x, y or x, y, z); heights are those of the end."""

    start: ArrayLike
    end: ArrayLike
    height: float | None = None

    @property
    def row(self) -> Array:
        """Its numbers."""
        a, b = np.asarray(self.start, np.float64), np.asarray(self.end, np.float64)
        if (
            a.shape not in ((2,), (3,))
            or b.shape not in ((2,), (3,))
            or not np.linalg.norm(b[:2] - a[:2]) > 0
        ):
            raise InputError(f"a line goes from a point to another one; got {self.start!r} and {self.end!r}")
        height = self.height if self.height is not None else (b[2] if len(b) == 3 else math.nan)
        return np.array([0.0, *a[:2], *b[:2], 0.0, 0.0, height])


@dataclass(frozen=True, eq=False)
class Circle:
    """A circle about a point (m, world), "left" or "right", for a number of turns; none for ever."""

    center: ArrayLike
    radius: float
    direction: str = "left"
    turns: float | None = None
    height: float | None = None

    @property
    def row(self) -> Array:
        """Its numbers."""
        c = np.asarray(self.center, np.float64)
        if c.shape not in ((2,), (3,)) or not self.radius > 0 or self.direction not in ("left", "right"):
            raise InputError(f"a circle has a center, a positive radius and goes left or right; got {self!r}")
        height = self.height if self.height is not None else (c[2] if len(c) == 3 else math.nan)
        sign = 1.0 if self.direction == "left" else -1.0
        sweep = 1e9 if self.turns is None else 2 * math.pi * self.turns
        return np.array([1.0, *c[:2], *c[:2], sign * self.radius, sweep, height])


Leg = Line | Circle


def table(legs: Sequence[Leg]) -> Array:
    """Numbers of all legs, one a row; a leg without a height keeps that of the one before."""
    rows = np.array([leg.row for leg in legs]).reshape(-1, COLUMNS)
    if not len(rows):
        raise InputError("a mission has legs: Line(...) and Circle(...)")
    if not np.isfinite(rows[0, 7]):
        raise InputError("the first leg says its height: Line(..., height=100.0)")
    for k in range(1, len(rows)):
        rows[k, 7] = rows[k, 7] if np.isfinite(rows[k, 7]) else rows[k - 1, 7]
    if not np.isfinite(rows).all():
        raise InputError("legs are finite numbers")
    return rows


def aim(leg: Expression, p: Expression, L: Expression) -> Expression:
    """The point of a leg (its numbers) at a distance L ahead of p (2); the nearest where that is too far."""
    a, b = leg[1:3], leg[3:5]
    along = b - a
    d = along / ca.sqrt(ca.sumsqr(along) + 1e-12)
    s, cross = ca.dot(p - a, d), d[0] * (p[1] - a[1]) - d[1] * (p[0] - a[0])
    ahead = ca.sqrt(ca.fmax(L**2 - cross**2, (0.2 * L) ** 2))
    on_line = a + (s + ahead) * d
    R, side = ca.fabs(leg[5]) + 1e-9, ca.sign(leg[5])
    away = p - a
    D = ca.sqrt(ca.sumsqr(away) + 1e-6)
    angle = ca.acos(ca.fmax(ca.fmin((R**2 + D**2 - L**2) / (2 * R * D), 1), -1))
    angle = ca.fmax(angle, 0.2 * L / R)
    bearing = ca.atan2(away[1], away[0]) + side * angle
    on_circle = a + R * ca.vertcat(ca.cos(bearing), ca.sin(bearing))
    return ca.if_else(leg[0] < 0.5, on_line, on_circle)


def turn_wanted(point: Expression, p: Expression, velocity: Expression, L: Expression) -> Expression:
    """Acceleration to the left (m/s²) that L1 guidance wants, for a velocity over ground (2)."""
    r = point - p
    V = ca.sqrt(ca.sumsqr(velocity) + 1e-6)
    size = V * ca.sqrt(ca.sumsqr(r) + 1e-6)
    sine = (velocity[0] * r[1] - velocity[1] * r[0]) / size
    behind = ca.dot(velocity, r) < 0
    sine = ca.if_else(behind, ca.if_else(sine >= 0, 1, -1), sine)
    return 2 * V**2 * sine / L


def cross_track(legs: Sequence[Leg], positions: ArrayLike, which: ArrayLike) -> Array:
    """Distance (m) of positions (n, 2 or more) from the leg that each follows, whole lines and circles."""
    rows, p = table(legs)[np.asarray(which, int)], np.asarray(positions, np.float64)[:, :2]
    a, b = rows[:, 1:3], rows[:, 3:5]
    away, along = p - a, b - a
    length = np.maximum(np.linalg.norm(along, axis=1), 1e-12)
    off_line = np.abs(along[:, 0] * away[:, 1] - along[:, 1] * away[:, 0]) / length
    off_circle = np.abs(np.linalg.norm(away, axis=1) - np.abs(rows[:, 5]))
    return np.where(rows[:, 0] < 0.5, off_line, off_circle)


def dubins(start: ArrayLike, end: ArrayLike, radius: float, height: float | None = None) -> list[Leg]:
    """The shortest way from one place and direction to another that turns no tighter than a radius.

    Args:
        start, end: x, y (m) and the direction of flight (rad, from x towards y, z up).
        radius: of the tightest turn (m).
        height: of all legs (m).

    Of Dubins' six words (left, straight, right turns), the shortest.

    >>> legs = dubins([0, 0, 0], [100, 0, 0], 20.0, height=50.0)
    >>> [type(leg).__name__ for leg in legs]
    ['Line']
    """
    s, e = np.asarray(start, np.float64), np.asarray(end, np.float64)
    if s.shape != (3,) or e.shape != (3,) or not np.isfinite([s, e]).all() or not 0 < radius < math.inf:
        raise InputError("dubins takes two places with directions (x, y, angle) and a positive radius")
    words = [_straight(s, e, radius, a, b) for a, b in itertools.product((1, -1), (1, -1))]
    words += [_three_turns(s, e, radius, side) for side in (1, -1)]
    best = min((word for word in words if word is not None), key=lambda word: word[0])
    return _legs(s, best[1], radius, height)


_Word = tuple[float, list[tuple[int, float]]]
"""Length, and parts: side (1 left, -1 right, 0 straight) with an angle (rad) or a length (m)."""


def _center(pose: Array, side: int, R: float) -> Array:
    return pose[:2] + side * R * np.array([-math.sin(pose[2]), math.cos(pose[2])])


def _sweep(angle: float) -> float:
    """An angle from 0 to below 2π; what is full but for rounding is none."""
    turned = angle % (2 * math.pi)
    return 0.0 if turned > 2 * math.pi - 1e-9 else turned


def _straight(s: Array, e: Array, R: float, first: int, last: int) -> _Word | None:
    between = _center(e, last, R) - _center(s, first, R)
    distance, bearing = float(np.hypot(*between)), math.atan2(between[1], between[0])
    if first == last:
        length, heading = distance, bearing
    else:
        if distance < 2 * R:
            return None
        length = math.sqrt(distance**2 - 4 * R**2)
        heading = bearing + first * math.asin(2 * R / distance)
    if first == last and distance < 1e-12:
        heading = s[2]
    turn = _sweep(first * (heading - s[2]))
    after = _sweep(last * (e[2] - heading))
    return R * (turn + after) + length, [(first, turn), (0, length), (last, after)]


def _three_turns(s: Array, e: Array, R: float, side: int) -> _Word | None:
    between = _center(e, side, R) - _center(s, side, R)
    distance, bearing = float(np.hypot(*between)), math.atan2(between[1], between[0])
    if distance > 4 * R:
        return None
    words = []
    for up in (1, -1):
        bend = up * math.acos(distance / (4 * R))
        # Directions of flight where the circles touch: across the lines between their centers.
        first = bearing + bend + side * math.pi / 2
        last = bearing - bend + math.pi + side * math.pi / 2
        turn, after = _sweep(side * (first - s[2])), _sweep(side * (e[2] - last))
        middle = _sweep(-side * (last - first))
        words.append((R * (turn + middle + after), [(side, turn), (-side, middle), (side, after)]))
    return min(words, key=lambda word: word[0])


def _legs(pose: Array, parts: list[tuple[int, float]], R: float, height: float | None) -> list[Leg]:
    legs: list[Leg] = []
    x = pose.copy()
    for side, amount in parts:
        if amount < 1e-9:
            continue
        if side == 0:
            end = x[:2] + amount * np.array([math.cos(x[2]), math.sin(x[2])])
            legs.append(Line(x[:2].copy(), end, height))
            x[:2] = end
        else:
            c = _center(x, side, R)
            legs.append(Circle(c, R, "left" if side > 0 else "right", amount / (2 * math.pi), height))
            x[2] += side * amount
            x[:2] = c + side * R * np.array([math.sin(x[2]), -math.cos(x[2])])
    return legs
