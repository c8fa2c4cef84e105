"""Tendons around shapes: the shortest path over a sphere or a cylinder between two points outside of it.

The path lies in a plane: for a sphere in that of its centre and the two points, for a cylinder in the one
across its axis, z, where the third coordinate grows evenly along the path. In the plane it is two tangents to
a circle of radius r and the arc between them. The points of contact of the tangents from d are

    (r² d ± r √(|d|² - r²) d⊥) / |d|²,     d⊥ = (d_y, -d_x),

of the two paths, one on each side, the shorter one whose tangents do not cross. Where the straight line
misses the circle there is no contact. A point s states the side: where it is in the cone opposite to that
of the two points, s = -α a - β b with α, β > 0, the path is the other one, around the far side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import casadi as ca

from helicoid._typing import Expression
from helicoid.model.connections.tendons import Wrap

Point: TypeAlias = Expression

_SMALL = 1e-15
_CROSSING = 1e4  # subtracted from the merit of a path whose tangents cross


def wrapped_length(
    wrap: Wrap, start: Point, end: Point, point: Callable[[str, Expression], Point]
) -> Expression:
    """Length of the path from `start` to `end`, world axes, over the shape where that is in the way."""
    R = ca.SX(wrap.placement.rotation)
    centre = point(wrap.link, ca.SX(wrap.placement.translation))
    axes = [point(wrap.link, ca.SX(wrap.placement.translation) + R[:, k]) - centre for k in range(3)]

    def local(x: Point) -> Expression:
        return ca.vertcat(*(ca.dot(axis, x - centre) for axis in axes))

    p, q = local(start), local(end)
    if wrap.shape == "sphere":
        first = p / ca.norm_2(p)
        normal = ca.cross(p, q)
        normal = normal / ca.fmax(ca.norm_2(normal), _SMALL)
        second = ca.cross(normal, first)
    else:
        first, second = ca.SX([1, 0, 0]), ca.SX([0, 1, 0])

    def flat(x: Expression) -> Expression:
        return ca.vertcat(ca.dot(first, x), ca.dot(second, x))

    a, b = flat(p), flat(q)
    side = None if wrap.side is None else flat(ca.SX(wrap.side))
    touches, tangents, arc = _circle(a, b, wrap.radius, side)
    around = tangents + arc
    if wrap.shape == "cylinder":
        around = ca.sqrt(around**2 + (q[2] - p[2]) ** 2)
    return ca.if_else(touches, around, ca.norm_2(end - start))


def _circle(
    a: Expression, b: Expression, r: float, side: Expression | None
) -> tuple[Expression, Expression, Expression]:
    """Whether the path touches the circle; the lengths of both tangents, and of the arc."""
    aa, bb = ca.sumsqr(a), ca.sumsqr(b)
    δ = b - a
    t = ca.fmin(ca.fmax(-ca.dot(δ, a) / ca.fmax(ca.sumsqr(δ), _SMALL), 0), 1)
    nearest = a + t * δ
    misses = ca.sumsqr(nearest) > r * r
    ta, tb = (ca.sqrt(ca.fmax(x - r * r, _SMALL)) for x in (aa, bb))
    merits, arcs, crossings = [], [], []
    for sign in (1.0, -1.0):
        x = (r * r * a + sign * r * ta * ca.vertcat(a[1], -a[0])) / aa
        y = (r * r * b - sign * r * tb * ca.vertcat(b[1], -b[0])) / bb
        crossing = _intersect(a, x, b, y)
        merits.append(-ca.norm_2(x - y) - ca.if_else(crossing, _CROSSING, 0))
        turn = _cross(x, y)
        angle = ca.acos(ca.fmin(ca.fmax(ca.dot(x, y) / (r * r), -1), 1))
        backwards = turn > 0 if sign > 0 else turn < 0
        arcs.append(r * ca.if_else(backwards, 2 * ca.pi - angle, angle))
        crossings.append(crossing)
    first = merits[0] > merits[1]
    impossible = ca.if_else(first, crossings[0], crossings[1])
    inside = ca.logic_or(aa < r * r, bb < r * r)
    touches = ca.logic_not(ca.logic_or(misses, impossible))
    if side is not None:
        turn = _cross(a, b)
        far = ca.logic_and(turn * _cross(side, b) < 0, turn * _cross(a, side) < 0)
        first, touches = ca.if_else(far, turn > 0, first), ca.logic_or(far, touches)
    touches = ca.logic_and(touches, ca.logic_not(inside))
    return touches, ta + tb, ca.if_else(first, arcs[0], arcs[1])


def _cross(x: Expression, y: Expression) -> Expression:
    return x[0] * y[1] - x[1] * y[0]


def _intersect(p1: Expression, p2: Expression, p3: Expression, p4: Expression) -> Expression:
    """Whether the segments p1 p2 and p3 p4 cross."""
    det = (p4[1] - p3[1]) * (p2[0] - p1[0]) - (p4[0] - p3[0]) * (p2[1] - p1[1])
    safe = ca.if_else(ca.fabs(det) < _SMALL, 1.0, det)
    a = ((p4[0] - p3[0]) * (p1[1] - p3[1]) - (p4[1] - p3[1]) * (p1[0] - p3[0])) / safe
    b = ((p2[0] - p1[0]) * (p1[1] - p3[1]) - (p2[1] - p1[1]) * (p1[0] - p3[0])) / safe
    within = [a >= 0, a <= 1, b >= 0, b <= 1]
    crossing = ca.fabs(det) >= _SMALL
    for one in within:
        crossing = ca.logic_and(crossing, one)
    return crossing
