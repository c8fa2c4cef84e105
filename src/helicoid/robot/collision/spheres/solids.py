"""Signed distances of collision shapes to many points, for the fit of spheres."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.model.parts import Geometry
from helicoid.model.shapes import PRIMITIVES
from helicoid.robot.collision.meshes import mesh_points
from helicoid.robot.collision.spheres.hulls import few_planes, hull_planes

_CHUNK = 400_000  # products of points and faces at once


class Solid(NamedTuple):
    """A closed set: its signed distance at points (n, 3), negative inside, and its bounding box (2, 3), m.

    The distance changes by at most that of the points. Inside it is exact or smaller in magnitude, outside
    exact or smaller, so that balls of the depth lie inside, and what is said to be outside is outside.
    """

    distance: Callable[[Array], Array]
    bounds: Array


def union(shapes: Sequence[Geometry], tolerance: float | None = None) -> Solid:
    """The union of shapes in the frame of their link; with a tolerance, hulls of meshes have few planes."""
    solids = [_placed(shape, tolerance) for shape in shapes]
    low = np.min([solid.bounds[0] for solid in solids], axis=0)
    high = np.max([solid.bounds[1] for solid in solids], axis=0)

    def distance(points: Array) -> Array:
        return np.min([solid.distance(points) for solid in solids], axis=0)

    return Solid(distance, np.stack([low, high]))


def _placed(shape: Geometry, tolerance: float | None) -> Solid:
    R, p = shape.placement.rotation, shape.placement.translation
    if is_hull(shape):
        return polytope(_corners(shape) @ R.T + p, tolerance)
    own = _PRIMITIVES[shape.kind](*shape.size)
    extent = np.abs(R) @ own.bounds[1]

    def distance(points: Array) -> Array:
        return own.distance((points - p) @ R)

    return Solid(distance, np.stack([p - extent, p + extent]))


def is_hull(shape: Geometry) -> bool:
    """Whether a shape is taken as the convex hull of points."""
    return shape.kind not in _PRIMITIVES


def _corners(shape: Geometry) -> Array:
    corners = None if shape.kind == "mesh" else PRIMITIVES[shape.kind].corners(shape.size)
    return mesh_points(shape) if corners is None else corners


def bounds(shapes: Sequence[Geometry]) -> Array:
    """The box (2, 3) around shapes in the frame of their link (m)."""
    boxes = []
    for shape in shapes:
        R, p = shape.placement.rotation, shape.placement.translation
        if is_hull(shape):
            corners = _corners(shape) @ R.T + p
            boxes.append([corners.min(axis=0), corners.max(axis=0)])
        else:
            half = np.abs(R) @ _PRIMITIVES[shape.kind](*shape.size).bounds[1]
            boxes.append([p - half, p + half])
    return np.stack([np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)])


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


def _ellipsoid(x: float, y: float, z: float) -> Solid:
    """|p / s| - 1 grows by at most 1 / min(s) along a unit of length."""
    half = np.maximum(np.abs([x, y, z]), 1e-6)

    def distance(points: Array) -> Array:
        scaled = (np.linalg.norm(points / half, axis=1) - 1) * half.min()
        return np.maximum(scaled, (np.abs(points) - half).max(axis=1))

    return Solid(distance, np.stack([-half, half]))


_PRIMITIVES: dict[str, Callable[..., Solid]] = {
    "box": _box,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "sphere": _sphere,
    "ellipsoid": _ellipsoid,
}


def polytope(points: Array, tolerance: float | None = None) -> Solid:
    """The convex hull of points: its distance is the largest of those from its faces' planes.

    With a tolerance it is a polytope of fewer planes around the hull; see `hulls.few_planes`.
    """
    planes = hull_planes(points)
    if tolerance is not None:
        planes = few_planes(planes, tolerance)
    rows = (planes * (1, 1, 1, -1)).T.copy()

    def distance(points: Array) -> Array:
        found, step = np.empty(len(points)), max(1, _CHUNK // len(planes))
        for k in range(0, len(points), step):
            part = points[k : k + step]
            np.max(np.column_stack([part, np.ones(len(part))]) @ rows, axis=1, out=found[k : k + step])
        return found

    return Solid(distance, np.stack([points.min(axis=0), points.max(axis=0)]))
