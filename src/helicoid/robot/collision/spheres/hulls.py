"""Convex hulls as few half-spaces, for fast distances.

The hull of a finely tessellated mesh has thousands of faces. A polytope of few of its planes contains it; it
is used in the place of the hull where everything within a smaller tolerance of the polytope is within the
tolerance of the hull, which the corners of the polytope, moved outwards, decide.
"""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array

SHARE = 0.97  # of the tolerance that is left beside the polytope
_MAX_COSINE = 0.995  # between normals that are added at once
_MAX_ROUNDS = 40
_FLAT = 1e-5  # of its size: thickness that a flat mesh is given
_MIN_FACES = 40  # below which a hull stays as it is


def hull_planes(points: Array) -> Array:
    """Planes (n, 4) of the convex hull of points, normal and offset: n x ≤ offset for all points.

    Points of a plane, a line or a single one are the corners of a thin body.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        points = _thickened(points)
        hull = ConvexHull(points)
    planes = np.unique(np.round(hull.equations, 12), axis=0)
    corners = points[hull.vertices]
    # Planes are moved to the outermost point, so that rounding leaves none outside.
    offsets = (corners @ planes[:, :3].T).max(axis=0)
    return np.column_stack([planes[:, :3], np.maximum(offsets, -planes[:, 3])])


def few_planes(planes: Array, tolerance: float) -> Array:
    """Some of the planes, such that what is within `SHARE` of the tolerance of these is within it of all.

    Beginning with the planes nearest to the six directions of the axes, those are added that the corners of
    the polytope, moved outwards by `SHARE * tolerance`, are too far beyond.
    """
    from scipy.spatial import HalfspaceIntersection

    if len(planes) < _MIN_FACES:
        return planes
    normals, offsets = planes[:, :3], planes[:, 3]
    kept = _spread(normals, [int(np.argmax(normals @ axis)) for axis in (*np.eye(3), *-np.eye(3))], [])
    inside = _interior(planes)
    for _ in range(_MAX_ROUNDS):
        moved = np.column_stack([normals[kept], -(offsets[kept] + SHARE * tolerance)])
        try:
            corners = HalfspaceIntersection(moved, inside).intersections
        except ValueError:  # without bounds, or thinner than Qhull can tell
            return planes
        if not np.all(np.isfinite(corners)):
            return planes
        beyond = corners @ normals.T - offsets
        worst = np.argmax(beyond, axis=1)
        excess = beyond[np.arange(len(corners)), worst]
        order = np.argsort(-excess)
        wanted = worst[order[excess[order] > tolerance]]
        if not len(wanted):
            return planes[kept]
        kept = kept + _spread(normals, list(dict.fromkeys(wanted.tolist())), kept)
    return planes


def _spread(normals: Array, wanted: list[int], kept: list[int]) -> list[int]:
    """Those of the wanted planes whose normals differ from one another, in their order; none that is kept."""
    found: list[int] = []
    for one in wanted:
        if one not in kept and (not found or (normals[found] @ normals[one]).max() < _MAX_COSINE):
            found.append(one)
    return found


def _interior(planes: Array) -> Array:
    """A point inside: the centre of the largest ball, by linear programming."""
    from scipy.optimize import linprog

    rows = np.column_stack([planes[:, :3], np.ones(len(planes))])
    found = linprog([0, 0, 0, -1], A_ub=rows, b_ub=planes[:, 3], bounds=[(None, None)] * 3 + [(0, None)])
    return np.asarray(found.x[:3])


def _thickened(points: Array) -> Array:
    """Points of a plane, a line or a single one as the corners of a thin body."""
    centre = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - centre, full_matrices=True)
    thin = _FLAT * max(float(np.ptp(points, axis=0).max()), 1e-3)
    rank = int(np.sum(np.array([*sizes, 0, 0, 0])[:3] > thin * np.sqrt(len(points))))
    for axis in axes[rank:]:
        points = np.concatenate([points + thin * axis, points - thin * axis])
    return points
