"""The table of primitive shapes: convex hulls of spheres and of circles about z.

URDF, contacts, enclosing capsules, spheres of excitation trajectories and the viewer read a row; meshes are
no primitives and have no row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product

import numpy as np

from helicoid._typing import Array
from helicoid.model.parts import Geometry

Size = tuple[float, ...]


@dataclass(frozen=True)
class Primitive:
    """A kind of shape, centred in its own frame; all functions take its numbers in the order of `attributes`.

    Args:
        attributes: what a URDF states, with how many numbers each: `{"radius": 1, "length": 1}`.
        volume: in m³.
        spheres: centres and radii, rows (x, y, z, r), (n, 4); a corner is a sphere of radius zero.
        circles: circles about the z axis, rows (z, r), (n, 2).
    """

    attributes: dict[str, int]
    volume: Callable[..., float]
    spheres: Callable[..., Array] = field(default=lambda *_: np.zeros((0, 4)))
    circles: Callable[..., Array] = field(default=lambda *_: np.zeros((0, 2)))

    def extent(self, size: Size) -> Array:
        """Largest |x|, |y| and |z| of the shape without the radii of its spheres (3)."""
        z, r = self.circles(*size).T
        reach = np.concatenate([np.abs(self.spheres(*size)[:, :3]), np.column_stack([r, r, np.abs(z)])])
        return np.asarray(reach.max(axis=0), np.float64)

    def corners(self, size: Size) -> Array | None:
        """Corners (n, 3) of a polytope; None of a shape with a radius."""
        spheres = self.spheres(*size)
        return None if len(self.circles(*size)) or spheres[:, 3].any() else spheres[:, :3]

    def distance_from(self, axis: int, size: Size) -> float:
        """Largest distance of a point of the shape from the x, y or z axis, between its ends."""
        spheres, (z, r) = self.spheres(*size), self.circles(*size).T
        from_spheres = np.linalg.norm(np.delete(spheres[:, :3], axis, axis=1), axis=1) + spheres[:, 3]
        from_circles = r if axis == 2 else np.hypot(z, r)
        return float(np.concatenate([from_spheres, from_circles]).max())


def _box(x: float, y: float, z: float) -> Array:
    corners = np.array(list(product((-0.5, 0.5), repeat=3))) * [x, y, z]
    return np.column_stack([corners, np.zeros(8)])


def _ellipsoid(x: float, y: float, z: float) -> Array:
    """Corners of a polytope around an ellipsoid, at most 2 % larger."""
    corners = _around_unit_ball() * np.abs([x, y, z])
    return np.column_stack([corners, np.zeros(len(corners))])


@cache
def _around_unit_ball() -> Array:
    """Corners (162, 3) of a geodesic polyhedron around the unit ball: an icosahedron, each edge in four."""
    from scipy.spatial import ConvexHull

    golden = (1 + np.sqrt(5)) / 2
    signs = list(product((-1, 1), repeat=2))
    points = np.array([np.roll([0, a, b * golden], k) for a, b in signs for k in range(3)])
    for _ in range(2):
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        edges = {tuple(sorted(e)) for face in ConvexHull(points).simplices for e in combinations(face, 2)}
        points = np.vstack([points, [(points[a] + points[b]) / 2 for a, b in sorted(edges)]])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.abs(ConvexHull(points).equations[:, 3]).min(), np.float64)


PRIMITIVES: dict[str, Primitive] = {
    "box": Primitive({"size": 3}, lambda x, y, z: x * y * z, _box),
    "cylinder": Primitive(
        {"radius": 1, "length": 1},
        lambda r, length: np.pi * r**2 * length,
        circles=lambda r, length: np.array([[-length / 2, r], [length / 2, r]]),
    ),
    "capsule": Primitive(
        {"radius": 1, "length": 1},
        lambda r, length: np.pi * r**2 * (length + 4 / 3 * r),
        lambda r, length: np.array([[0, 0, -length / 2, r], [0, 0, length / 2, r]]),
    ),
    "ellipsoid": Primitive({"radii": 3}, lambda x, y, z: 4 / 3 * np.pi * x * y * z, _ellipsoid),
    "sphere": Primitive({"radius": 1}, lambda r: 4 / 3 * np.pi * r**3, lambda r: np.array([[0, 0, 0, r]])),
}


def is_solid(shape: Geometry) -> bool:
    """Whether a shape has an extent: a mesh, or a primitive whose numbers are not all zero."""
    return shape.kind == "mesh" or any(shape.size)
