"""The collision geometry of a robot as points that may touch a ground."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.model.model import WORLD
from helicoid.model.parts import Geometry
from helicoid.model.shapes import PRIMITIVES, is_solid
from helicoid.robot import Robot
from helicoid.robot.collision.meshes import mesh_points

BALL, RIM = 0, 1  # of runtime/surfaces.h
MAX_CORNERS = 40  # of a convex hull
_Z = (0.0, 0.0, 1.0)
PointRow = tuple[int, Any, Any, float, float]
Contact = tuple[str, str, list[PointRow]]
"""The link, the name, and the points of a contact, each (kind, center, axis, radius, angle)."""


def collision_points(robot: Robot) -> list[Contact]:
    """A contact for each collision shape of each link that moves.

    Raises:
        InputError: there is no such shape, or a mesh is not found.
    """
    found: list[Contact] = []
    for link in robot.model.links:
        if robot.model.frame(link.name).body == WORLD:
            continue
        shapes = [shape for shape in link.collisions if is_solid(shape)]
        found += [(link.name, link.name, shape_points(robot, shape)) for shape in shapes]
    if not found:
        raise InputError(
            f"robot {robot.name!r} has no collision geometry on links that move: name points, "
            "contacts=[hc.ContactPoint(link, point, radius), ...]"
        )
    return found


def shape_points(robot: Robot, shape: Geometry) -> list[PointRow]:
    """The points of a collision shape in the frame of its link, cached."""
    return robot.memo(("contact points", shape), lambda: _points(shape))


def _points(shape: Geometry) -> list[PointRow]:
    R, p = shape.placement.rotation, shape.placement.translation

    def balls(centers: Array, radii: Array) -> list[PointRow]:
        return [(BALL, R @ c + p, _Z, float(radius), 0.0) for c, radius in zip(centers, radii, strict=True)]

    if shape.kind == "mesh":
        corners = _corners(mesh_points(shape))
        return balls(corners, np.zeros(len(corners)))
    primitive = PRIMITIVES[shape.kind]
    spheres = primitive.spheres(*shape.size)
    if len(spheres) > MAX_CORNERS:
        spheres = np.column_stack([corners := _corners(spheres[:, :3]), np.zeros(len(corners))])
    # Of each circle the lowest point, and three more, so that a cylinder can stand on its end.
    rims: list[PointRow] = [
        (RIM, p + R[:, 2] * z, R[:, 2], float(radius), k * np.pi / 2)
        for z, radius in primitive.circles(*shape.size)
        for k in range(4)
    ]
    return balls(spheres[:, :3], spheres[:, 3]) + rims


def _corners(points: Array) -> Array:
    """Corners of the convex hull; of more than `MAX_CORNERS`, the furthest and others far from them."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):  # flat
        hull = np.unique(points, axis=0)
    if len(hull) <= MAX_CORNERS:
        return hull
    directions = np.array([d for d in product((-1, 0, 1), repeat=3) if any(d)])
    chosen = sorted({int(np.argmax(hull @ d)) for d in directions})
    while len(chosen) < MAX_CORNERS:
        away = np.linalg.norm(hull[:, None] - hull[chosen], axis=2).min(axis=1)
        chosen.append(int(np.argmax(away)))
    return hull[sorted(chosen)]
