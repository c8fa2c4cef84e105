"""Paths in joint space: piecewise cubics of a parameter s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.control.timing import engine
from helicoid.errors import InputError

MIN_INTERVALS_PER_SEGMENT = 10  # of a grid


@dataclass(frozen=True, eq=False)
class JointPath:
    """q(s), without a time yet: cubics piece by piece.

    Where its direction changes at once, at a corner, a motion must stop; where only its curvature does, at a
    seam, a motion goes on.

    Args:
        breaks: (P + 1), the s at which pieces begin and end, ascending.
        coefficients: (P, 4, n): piece p is Σ_k c[p, k] (s - breaks[p])^k.
        seams: s of corners and seams inside of the path, ascending.
        corners: for each seam, whether it is a corner.

    >>> import helicoid as hc
    >>> path = hc.control.JointPath.through([[0, 0], [1, 0.5], [1.5, 1.5], [1, 2]])
    >>> path
    JointPath(2 joints, 3 pieces, length 2.943)
    >>> path(path.breaks[1])
    array([1. , 0.5])
    """

    breaks: Array
    coefficients: Array
    seams: tuple[float, ...] = ()
    corners: tuple[bool, ...] = ()

    @staticmethod
    def through(
        waypoints: ArrayLike, s: ArrayLike | None = None, shape: Literal["spline", "lines"] = "spline"
    ) -> JointPath:
        """A path through waypoints (k, n), k ≥ 2.

        Args:
            s: (k), the parameter at each waypoint; by default the length of the way, √(Σ Δq²).
            shape: "spline": one smooth curve, the cubic spline whose first two and last two pieces are one
                cubic each ("not a knot"); a parabola through three points, a line through two. "lines":
                straight from point to point, with a corner at each that is not on the line.

        Raises:
            InputError: fewer than two waypoints, numbers that are not finite, or two in a row that are equal.
        """
        q = _array("waypoints", waypoints, 2)
        if len(q) < 2:
            raise InputError(f"a path goes through at least two waypoints; got {len(q)}")
        if shape not in ("spline", "lines"):
            raise InputError(f"shape is 'spline' or 'lines'; got {shape!r}")
        found = engine.through(q) if shape == "spline" and s is None and q.shape[1] else None
        if found is not None:
            return JointPath(*found)
        _check_finite("waypoints", q)
        with np.errstate(over="ignore"):
            steps = np.sqrt(np.square(q[1:] - q[:-1]).sum(axis=1))
        if not np.isfinite(steps.sum()):
            raise InputError("waypoints are too far apart for the length of the way to be a number")
        if not steps.all():
            k = int(np.flatnonzero(steps == 0)[0])
            raise InputError(f"waypoints {k} and {k + 1} are equal: a path cannot stand still; leave one out")
        knots = np.concatenate([[0.0], np.cumsum(steps)]) if s is None else _knots(s, len(q))
        if shape == "spline":
            return JointPath(knots, engine.spline(knots, q))
        pieces = [
            JointPath(knots[k : k + 2], engine.spline(knots[k : k + 2], q[k : k + 2]))
            for k in range(len(steps))
        ]
        return JointPath.joined(pieces)

    @staticmethod
    def joined(parts: Sequence[JointPath]) -> JointPath:
        """Paths one after the other; each begins where the one before ends, at the same s."""
        seams: list[float] = []
        corners: list[bool] = []
        for k, part in enumerate(parts):
            if k:
                before, after = (
                    engine.evaluate(p.breaks, p.coefficients, np.array([part.start]))[1][0]
                    for p in (parts[k - 1], part)
                )
                seams.append(part.start)
                size = max(np.abs(before).max(), np.abs(after).max())
                corners.append(bool(np.abs(before - after).max() > 1e-6 * size))
            seams += part.seams
            corners += part.corners
        breaks = np.concatenate([parts[0].breaks, *(part.breaks[1:] for part in parts[1:])])
        c = np.concatenate([part.coefficients for part in parts])
        return JointPath(breaks, c, tuple(seams), tuple(corners))

    @property
    def n(self) -> int:
        """The number of joints."""
        return int(self.coefficients.shape[2])

    @property
    def start(self) -> float:
        """The first s."""
        return float(self.breaks[0])

    @property
    def end(self) -> float:
        """The last s."""
        return float(self.breaks[-1])

    def __call__(self, s: ArrayLike, order: int = 0) -> Array:
        """q at s (n) or (m, n), or with `order` 1 or 2 its derivative by s; at a seam that from the left."""
        if order not in (0, 1, 2):
            raise InputError(f"order is 0, 1 or 2; got {order!r}")
        wanted = np.asarray(s, dtype=np.float64)
        flat = np.ravel(wanted)
        if not np.all((flat >= self.start) & (flat <= self.end)):
            raise InputError(f"the path goes from s = {self.start:g} to {self.end:g}")
        values, at = np.unique(flat, return_inverse=True)
        found = engine.evaluate(self.breaks, self.coefficients, values)[order]
        return found[at].reshape(*wanted.shape, self.n)

    def grid(self, wanted: int | ArrayLike) -> Array:
        """Grid of s with so many intervals, or at given points; seams stand twice, for both sides."""
        if not isinstance(wanted, (int, np.integer)):
            return self._given(_numbers("grid", wanted, 1))
        if wanted < 2:
            raise InputError(f"grid is a number of intervals, at least 2; got {wanted}")
        if not self.seams:
            return _spaced(self.start, self.end, int(wanted))
        ends = np.array([self.start, *self.seams, self.end])
        counts = np.maximum(
            np.rint(wanted * np.diff(ends) / (self.end - self.start)), MIN_INTERVALS_PER_SEGMENT
        ).astype(int)
        return np.concatenate([np.linspace(ends[k], ends[k + 1], n + 1) for k, n in enumerate(counts)])

    def _given(self, s: Array) -> Array:
        close = 1e-9 * (self.end - self.start)
        if len(s) < 3 or abs(s[0] - self.start) > close or abs(s[-1] - self.end) > close:
            raise InputError(f"grid goes from s = {self.start:g} to {self.end:g} in at least three points")
        if not np.all(np.diff(s) > close):
            raise InputError("grid must be ascending")
        inner = s[1:-1]
        for seam in self.seams:
            inner = inner[np.abs(inner - seam) > close]
        return np.sort(np.concatenate([[self.start], inner, *2 * [self.seams], [self.end]]))

    def stops(self, grid: Array) -> Array:
        """Whether a motion must stop at each point of a grid."""
        found = np.zeros(len(grid), bool)
        for seam, corner in zip(self.seams, self.corners, strict=True):
            if corner:
                found |= grid == seam
        return found

    def __repr__(self) -> str:
        corners = f", {sum(self.corners)} corners" if any(self.corners) else ""
        pieces = len(self.coefficients)
        return f"JointPath({self.n} joints, {pieces} pieces, length {self.end - self.start:.4g}{corners})"


def _spaced(start: float, end: float, n: int) -> Array:
    """n intervals of one length; a fraction of what np.linspace costs."""
    s: Array = np.arange(n + 1, dtype=np.float64)
    s *= (end - start) / n
    s += start
    s[-1] = end
    return s


def _numbers(name: str, values: ArrayLike, axes: int) -> Array:
    found = _array(name, values, axes)
    _check_finite(name, found)
    return found


def _array(name: str, values: ArrayLike, axes: int) -> Array:
    found = np.ascontiguousarray(float_array(values, f"{name} must be numbers"))
    if found.ndim != axes:
        wanted = "(k, n)" if axes == 2 else "(k,)"
        raise InputError(f"{name} must have shape {wanted}; got {found.shape}")
    return found


def _check_finite(name: str, values: Array) -> None:
    if not np.isfinite(values).all():
        where = tuple(np.argwhere(~np.isfinite(values))[0].tolist())
        raise InputError(f"{name} must be finite; entry {where} is {values[where]}")


def _knots(s: ArrayLike, k: int) -> Array:
    knots = _numbers("s", s, 1)
    if len(knots) != k:
        raise InputError(f"s has one value for each of {k} waypoints; got {len(knots)}")
    if not np.all(np.diff(knots) > 0):
        raise InputError("s must be ascending")
    return knots
