"""Legs over ground (lines and circles), Dubins paths of them, and L1 guidance along both.

The plane is horizontal, z up: x north, y west. L1 guidance (Park, Deyst, How 2004) aims at the reference
point on the path at a distance L ahead: with η the angle from the velocity to it, the lateral acceleration
a = 2 V² sin η / L leads there on a circular arc.
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
from helicoid.aerial.checks import check_positive, is_number
from helicoid.errors import InputError

COLUMNS = 8
"""Row of a leg: kind (0 line, 1 circle), two points, signed radius (left is positive), sweep, height."""


@dataclass(frozen=True, eq=False)
class Line:
    """Straight leg from a point to another (m, world; x, y or x, y, z) at the height of the end."""

    start: ArrayLike
    end: ArrayLike
    height: float | None = None

    def __post_init__(self) -> None:
        a, b = _point("a line's start", self.start), _point("a line's end", self.end)
        if not np.linalg.norm(b[:2] - a[:2]) > 0:
            raise InputError(f"a line goes from a point to another one; got {self.start!r} and {self.end!r}")
        _check_height(self.height)

    @property
    def row(self) -> Array:
        """The leg as a row of `leg_table`."""
        a, b = np.asarray(self.start, np.float64), np.asarray(self.end, np.float64)
        height = self.height if self.height is not None else (b[2] if len(b) == 3 else math.nan)
        return np.array([0.0, *a[:2], *b[:2], 0.0, 0.0, height])


@dataclass(frozen=True, eq=False)
class Circle:
    """Circular leg about a centre (m, world), "left" or "right"; `turns` None is without end."""

    center: ArrayLike
    radius: float
    direction: str = "left"
    turns: float | None = None
    height: float | None = None

    def __post_init__(self) -> None:
        _point("a circle's centre", self.center)
        check_positive("the radius of a circle", self.radius, "m")
        if not isinstance(self.direction, str) or self.direction not in ("left", "right"):
            raise InputError(f"a circle goes left or right; got {self.direction!r}")
        if self.turns is not None:
            check_positive("the number of turns of a circle", self.turns)
        _check_height(self.height)

    @property
    def row(self) -> Array:
        """The leg as a row of `leg_table`."""
        c = np.asarray(self.center, np.float64)
        height = self.height if self.height is not None else (c[2] if len(c) == 3 else math.nan)
        sign = 1.0 if self.direction == "left" else -1.0
        sweep = 1e9 if self.turns is None else 2 * math.pi * self.turns
        return np.array([1.0, *c[:2], *c[:2], sign * self.radius, sweep, height])


Leg = Line | Circle


def _point(name: str, given: ArrayLike) -> Array:
    try:
        point = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        point = np.zeros(0)
    if point.shape not in ((2,), (3,)) or not np.isfinite(point).all():
        raise InputError(f"{name} is two or three finite numbers (m); got {given!r}")
    return point


def _check_height(height: float | None) -> None:
    if height is not None and not (is_number(height)):
        raise InputError(f"the height of a leg is a finite number (m), or None; got {height!r}")


def leg_table(legs: Sequence[Leg]) -> Array:
    """Rows of all legs; a leg without a height has that of the previous one."""
    rows = np.array([leg.row for leg in legs]).reshape(-1, COLUMNS)
    if not len(rows):
        raise InputError("a mission has legs: Line(...) and Circle(...)")
    if not np.isfinite(rows[0, 7]):
        raise InputError("the first leg says its height: Line(..., height=100.0)")
    for k in range(1, len(rows)):
        rows[k, 7] = rows[k, 7] if np.isfinite(rows[k, 7]) else rows[k - 1, 7]
    return rows


def l1_reference_point(leg: Expression, p: Expression, L: Expression) -> Expression:
    """Point of a leg (its row) at a distance L ahead of p (2), or the nearest one if p is farther away."""
    a, b = leg[1:3], leg[3:5]
    along = b - a
    d = along / ca.sqrt(ca.sumsqr(along) + 1e-12)
    s, cross = ca.dot(p - a, d), d[0] * (p[1] - a[1]) - d[1] * (p[0] - a[0])
    ahead = ca.sqrt(ca.fmax(L**2 - cross**2, (0.2 * L) ** 2))
    on_line = a + (s + ahead) * d
    R, side = ca.fabs(leg[5]) + 1e-9, ca.sign(leg[5])
    offset = p - a
    D = ca.sqrt(ca.sumsqr(offset) + 1e-6)
    angle = ca.acos(ca.fmax(ca.fmin((R**2 + D**2 - L**2) / (2 * R * D), 1), -1))
    angle = ca.fmax(angle, 0.2 * L / R)
    bearing = ca.atan2(offset[1], offset[0]) + side * angle
    on_circle = a + R * ca.vertcat(ca.cos(bearing), ca.sin(bearing))
    return ca.if_else(leg[0] < 0.5, on_line, on_circle)


def l1_acceleration(point: Expression, p: Expression, velocity: Expression, L: Expression) -> Expression:
    """Lateral acceleration of L1 guidance (m/s², to the left), for a velocity over ground (2)."""
    r = point - p
    V = ca.sqrt(ca.sumsqr(velocity) + 1e-6)
    size = V * ca.sqrt(ca.sumsqr(r) + 1e-6)
    sine = (velocity[0] * r[1] - velocity[1] * r[0]) / size
    behind = ca.dot(velocity, r) < 0
    sine = ca.if_else(behind, ca.if_else(sine >= 0, 1, -1), sine)
    return 2 * V**2 * sine / L


def cross_track(legs: Sequence[Leg], positions: ArrayLike, which: ArrayLike) -> Array:
    """Cross-track error (m) of positions (n, 2 or more), each from the line or circle of its leg `which`."""
    rows, p = leg_table(legs)[np.asarray(which, int)], np.asarray(positions, np.float64)[:, :2]
    a, b = rows[:, 1:3], rows[:, 3:5]
    offset, along = p - a, b - a
    length = np.maximum(np.linalg.norm(along, axis=1), 1e-12)
    off_line = np.abs(along[:, 0] * offset[:, 1] - along[:, 1] * offset[:, 0]) / length
    off_circle = np.abs(np.linalg.norm(offset, axis=1) - np.abs(rows[:, 5]))
    return np.where(rows[:, 0] < 0.5, off_line, off_circle)


def dubins(start: ArrayLike, end: ArrayLike, radius: float, height: float | None = None) -> list[Leg]:
    """Dubins path: the shortest path between two poses in the plane with a bounded turn radius.

    Args:
        start, end: x, y (m) and heading (rad, from x towards y, z up).
        radius: minimum turn radius (m).
        height: of all legs (m).

    It is the shortest of Dubins' six candidates (LSL, LSR, RSL, RSR, LRL, RLR).

    >>> legs = dubins([0, 0, 0], [100, 0, 0], 20.0, height=50.0)
    >>> [type(leg).__name__ for leg in legs]
    ['Line']
    """
    s, e = np.asarray(start, np.float64), np.asarray(end, np.float64)
    if s.shape != (3,) or e.shape != (3,) or not np.isfinite([s, e]).all() or not 0 < radius < math.inf:
        raise InputError("dubins takes two poses (x, y, heading) and a positive radius")
    candidates = [_turn_straight_turn(s, e, radius, a, b) for a, b in itertools.product((1, -1), (1, -1))]
    candidates += [_three_turns(s, e, radius, side) for side in (1, -1)]
    best = min((one for one in candidates if one is not None), key=lambda one: one[0])
    return _legs(s, best[1], radius, height)


_DubinsPath = tuple[float, list[tuple[int, float]]]
"""Length, and segments: side (1 left, -1 right, 0 straight) with an angle (rad) or a length (m)."""


def _center(pose: Array, side: int, R: float) -> Array:
    return pose[:2] + side * R * np.array([-math.sin(pose[2]), math.cos(pose[2])])


def _sweep(angle: float) -> float:
    """Angle in [0, 2π), where a full turn up to rounding is zero."""
    turned = angle % (2 * math.pi)
    return 0.0 if turned > 2 * math.pi - 1e-9 else turned


def _turn_straight_turn(s: Array, e: Array, R: float, first: int, last: int) -> _DubinsPath | None:
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


def _three_turns(s: Array, e: Array, R: float, side: int) -> _DubinsPath | None:
    between = _center(e, side, R) - _center(s, side, R)
    distance, bearing = float(np.hypot(*between)), math.atan2(between[1], between[0])
    if distance > 4 * R:
        return None
    candidates = []
    for up in (1, -1):
        angle = up * math.acos(distance / (4 * R))
        # Headings where the circles touch: perpendicular to the lines between their centres.
        first = bearing + angle + side * math.pi / 2
        last = bearing - angle + math.pi + side * math.pi / 2
        turn, after = _sweep(side * (first - s[2])), _sweep(side * (e[2] - last))
        middle = _sweep(-side * (last - first))
        candidates.append((R * (turn + middle + after), [(side, turn), (-side, middle), (side, after)]))
    return min(candidates, key=lambda one: one[0])


def _legs(pose: Array, segments: list[tuple[int, float]], R: float, height: float | None) -> list[Leg]:
    legs: list[Leg] = []
    x = pose.copy()
    for side, amount in segments:
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
