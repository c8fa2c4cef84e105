"""Time parameterisation of paths: corners are rounded within certified clearance, then TOPP-RA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.control.timing import JointPath, PathMotion, time_optimal
from helicoid.errors import InputError
from helicoid.planning.path.jerk import jerk_limited
from helicoid.planning.space import NUMBER
from helicoid.simulation import Trajectory

if TYPE_CHECKING:
    from helicoid.planning.path.path import PlannedPath
    from helicoid.planning.planner import Planner

MAX_HALVINGS = 6  # of the size of a rounding; then the motion stops at the corner
_MAX_SHARE_OF_EDGE = 0.499  # for the rounding at either end


def timed(
    path: PlannedPath,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
    torque: ArrayLike | None,
    jerk: ArrayLike | None,
    options: dict[str, Any],
) -> PathMotion | Trajectory:
    """See `PlannedPath.timed`."""
    if not path.success:
        raise InputError(f"there is no path to time: {path.message}")
    if len(path.q) < 2:
        raise InputError("start and goal are the same: there is nothing to time")
    space, manifold = path.planner.space, path.planner.manifold
    rounded = round_corners(path.planner, path.q) if manifold is None else smooth(path.planner, path.q)
    free = space.kind == NUMBER
    ends = [np.where(free, limit, wide) for limit, wide in ((space.lower, -np.inf), (space.upper, np.inf))]
    low, high = np.minimum(ends[0], path.q.min(axis=0) - 1e-6), np.maximum(ends[1], path.q.max(axis=0) + 1e-6)
    options = {"position": np.stack([low, high]), **options}
    if manifold is not None:
        options = {"grid": max(200, 4 * (len(rounded.breaks) - 1)), **options}
    if jerk is not None:
        return jerk_limited(path.planner, rounded, jerk, velocity, acceleration, torque, options)
    return time_optimal(rounded, path.planner.robot, velocity, acceleration, torque, **options)


def smooth(planner: Planner, q: Array) -> JointPath:
    """A cubic spline near a path on a constraint manifold: free, and within the tolerance of the constraints.

    It goes through the waypoints and as many more, on the manifold, as that takes.

    Raises:
        InputError: no spline was found that keeps both.
    """
    manifold = planner.manifold
    assert manifold is not None
    share = 1.0
    for _ in range(MAX_HALVINGS):
        share /= 4
        finer = manifold.refined(q, share * manifold.tolerance)
        if finer is None:
            break
        lengths = np.linalg.norm(np.diff(finer, axis=0), axis=1)
        made = JointPath.through(finer[np.append(True, lengths > 1e-9)])
        c, h = made.coefficients, np.diff(made.breaks)[:, None]
        points = [c[:, 0], c[:, 0] + c[:, 1] * h / 3, c[:, 0] + 2 * c[:, 1] * h / 3 + c[:, 2] * h**2 / 3]
        points.append(c[:, 0] + c[:, 1] * h + c[:, 2] * h**2 + c[:, 3] * h**3)
        t = h * np.arange(9)[:, None, None] / 8
        along = c[:, 0] + t * (c[:, 1] + t * (c[:, 2] + t * c[:, 3]))
        off = manifold.error(along.reshape(-1, q.shape[1])).max()
        if off <= manifold.tolerance and planner.cubics_free(np.stack(points, axis=1)).all():
            return made
    raise InputError(
        "no smooth motion along this path keeps the constraints and is free: plan with a larger "
        "constraint_tolerance or a margin"
    )


def round_corners(planner: Planner, q: Array) -> JointPath:
    """The path through waypoints q (k, nq) with a parabola at each corner, as large as is free.

    The parabola begins and ends at the same distance from the corner, tangent to both edges, so that the
    direction is continuous. Each is certified as a curve. Where not even the smallest is free a corner stays.
    """
    edges = np.diff(q, axis=0)
    lengths = np.linalg.norm(edges, axis=1)
    q, edges, lengths = q[np.append(True, lengths > 1e-9)], edges[lengths > 1e-9], lengths[lengths > 1e-9]
    along = edges / lengths[:, None]
    largest = _MAX_SHARE_OF_EDGE * np.minimum(lengths[:-1], lengths[1:])
    sizes = largest[:, None] * 0.5 ** np.arange(MAX_HALVINGS)  # (corners, halvings)
    free = planner.cubics_free(_parabolas(q[1:-1], along, sizes)).reshape(sizes.shape)
    first = np.argmax(free, axis=1)
    taken = np.where(free.any(axis=1), sizes[np.arange(len(sizes)), first], 0.0)
    return _path(q, along, lengths, taken)


def _parabolas(corners: Array, along: Array, sizes: Array) -> Array:
    """Bézier points (corners × halvings, 4, nq), as cubics."""
    v = corners[:, None]
    p, s = v - sizes[..., None] * along[:-1, None], v + sizes[..., None] * along[1:, None]
    v = np.broadcast_to(v, p.shape)
    return np.stack([p, (p + 2 * v) / 3, (s + 2 * v) / 3, s], axis=2).reshape(-1, 4, corners.shape[1])


def _path(q: Array, along: Array, lengths: Array, sizes: Array) -> JointPath:
    """Lines and parabolas one after the other: a parabola of size d is 2 d long in s, and |dq/ds| ≤ 1."""
    zero = np.zeros(q.shape[1])
    at, breaks, rows, seams, corners = 0.0, [0.0], [], [], []
    before = 0.0
    for k, length in enumerate(lengths):
        after = sizes[k] if k < len(sizes) else 0.0
        line = length - before - after
        if line > 1e-12:
            rows.append(np.stack([q[k] + before * along[k], along[k], zero, zero]))
            at += line
            breaks.append(at)
        if k < len(sizes):
            seams.append(at)
            corners.append(after == 0.0)
            if after > 0.0:
                start = q[k + 1] - after * along[k]
                rows.append(np.stack([start, along[k], (along[k + 1] - along[k]) / (4 * after), zero]))
                at += 2 * after
                breaks.append(at)
                seams.append(at)
                corners.append(False)
        before = after
    return JointPath(np.array(breaks), np.array(rows), tuple(seams), tuple(corners))
