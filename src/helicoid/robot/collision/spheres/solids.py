"""Signed distances of collision shapes to many points, for the fit of spheres."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.model.parts import Geometry
from helicoid.model.shapes import PRIMITIVES
from helicoid.robot.collision.meshes import mesh_points

_CHUNK = 4_000_000  # products of points and faces at once
_FLAT = 1e-5  # of its size: thickness that a flat mesh is given


class Solid(NamedTuple):
    """A closed set: its signed distance at points (n, 3), negative inside, and its bounding box (2, 3), m.

    The distance changes by at most that of the points. Inside it is exact or smaller in magnitude, outside
    exact or smaller, so that balls of the depth lie inside, and what is said to be outside is outside.
    """

    distance: Callable[[Array], Array]
    bounds: Array


def union(shapes: Sequence[Geometry]) -> Solid:
    """The union of shapes in the frame of their link."""
    solids = [_placed(shape) for shape in shapes]
    low = np.min([solid.bounds[0] for solid in solids], axis=0)
    high = np.max([solid.bounds[1] for solid in solids], axis=0)

    def distance(points: Array) -> Array:
        return np.min([solid.distance(points) for solid in solids], axis=0)

    return Solid(distance, np.stack([low, high]))


def _placed(shape: Geometry) -> Solid:
    R, p = shape.placement.rotation, shape.placement.translation
    if shape.kind == "mesh":
        corners = mesh_points(shape) @ R.T + p
        return polytope(corners)
    hull = PRIMITIVES[shape.kind].corners(shape.size)
    if hull is not None and shape.kind not in _PRIMITIVES:
        return polytope(hull @ R.T + p)
    own = _PRIMITIVES[shape.kind](*shape.size)
    extent = np.abs(R) @ own.bounds[1]

    def distance(points: Array) -> Array:
        return own.distance((points - p) @ R)

    return Solid(distance, np.stack([p - extent, p + extent]))


def _box(x: float, y: float, z: float) -> Solid:
    half = np.array([x, y, z]) / 2

    def distance(points: Array) -> Array:
        gap = np.abs(points) - half
        outside = np.linalg.norm(np.maximum(gap, 0.0), axis=1)
        return outside + np.minimum(gap.max(axis=1), 0.0)

    return Solid(distance, np.stack([-half, half]))


def _cylinder(radius: float, length: float) -> Solid:
    def distance(points: Array) -> Array:
        across = np.hypot(points[:, 0], points[:, 1]) - radius
        along = np.abs(points[:, 2]) - length / 2
        outside = np.hypot(np.maximum(across, 0.0), np.maximum(along, 0.0))
        return outside + np.minimum(np.maximum(across, along), 0.0)

    half = np.array([radius, radius, length / 2])
    return Solid(distance, np.stack([-half, half]))


def _capsule(radius: float, length: float) -> Solid:
    def distance(points: Array) -> Array:
        z = points[:, 2] - np.clip(points[:, 2], -length / 2, length / 2)
        return np.sqrt(points[:, 0] ** 2 + points[:, 1] ** 2 + z**2) - radius

    half = np.array([radius, radius, radius + length / 2])
    return Solid(distance, np.stack([-half, half]))


def _sphere(radius: float) -> Solid:
    half = np.full(3, radius)
    return Solid(lambda points: np.linalg.norm(points, axis=1) - radius, np.stack([-half, half]))


_PRIMITIVES: dict[str, Callable[..., Solid]] = {
    "box": _box,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "sphere": _sphere,
}


def polytope(points: Array) -> Solid:
    """The convex hull of points: its distance is the largest of those from its faces' planes."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        hull = ConvexHull(_thickened(points))
    planes = np.unique(np.round(hull.equations, 12), axis=0)
    # Planes are moved to the outermost point, so that rounding leaves none outside.
    offsets = (points @ planes[:, :3].T).max(axis=0)
    offsets = np.maximum(offsets, -planes[:, 3])

    def distance(points: Array) -> Array:
        step = max(1, _CHUNK // len(planes))
        parts = [points[k : k + step] @ planes[:, :3].T - offsets for k in range(0, len(points), step)]
        return np.concatenate([np.zeros(0), *(part.max(axis=1) for part in parts)])

    return Solid(distance, np.stack([points.min(axis=0), points.max(axis=0)]))


def _thickened(points: Array) -> Array:
    """Points of a plane, a line or a single one as the corners of a thin body."""
    centre = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - centre, full_matrices=True)
    thin = _FLAT * max(float(np.ptp(points, axis=0).max()), 1e-3)
    rank = int(np.sum(np.array([*sizes, 0, 0, 0])[:3] > thin * np.sqrt(len(points))))
    for axis in axes[rank:]:
        points = np.concatenate([points + thin * axis, points - thin * axis])
    return points
