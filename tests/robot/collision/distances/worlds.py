"""Random shapes at random poses, as ours and as coal's, and robots of one free body."""

from __future__ import annotations

from typing import Any

import numpy as np

import helicoid as hc
from helicoid.geometry import quaternion, so3

CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CUBE_FACES = [t for a, b, c, d in _QUADS for t in ((a, b, c), (a, c, d))]

LINK_KINDS = ("box", "sphere", "capsule", "cylinder")
KINDS = (*LINK_KINDS, "plane", "hull")


def random_pose(rng: np.random.Generator, reach: float = 0.5) -> Any:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = so3.exp(rng.normal(size=3)), rng.uniform(-reach, reach, 3)
    return T


def random_shape(kind: str, rng: np.random.Generator) -> Any:
    a, b, c = rng.uniform(0.05, 0.4, 3)
    if kind == "hull":
        return hc.Mesh(vertices=rng.normal(size=(12, 3)) * [a, b, c])
    return {
        "box": lambda: hc.Box([a, b, c]),
        "sphere": lambda: hc.Sphere(a),
        "capsule": lambda: hc.Capsule(a, b),
        "cylinder": lambda: hc.Cylinder(a, b),
        "plane": lambda: hc.Plane(rng.normal(size=3), rng.uniform(-0.5, 0)),
    }[kind]()


def of_coal(coal: Any, shape: Any) -> Any:
    if isinstance(shape, hc.Box):
        return coal.Box(*shape.size)
    if isinstance(shape, hc.Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, hc.Capsule):
        return coal.Capsule(shape.radius, shape.length)
    if isinstance(shape, hc.Cylinder):
        return coal.Cylinder(shape.radius, shape.length)
    if isinstance(shape, hc.Plane):
        return coal.Halfspace(np.array(shape.normal), shape.offset)
    points = coal.StdVec_Vec3s()
    for point in shape.hull:
        points.append(point)
    return coal.Convex.convexHull(points, True, "Qt")


def by_coal(coal: Any, one: Any, T: Any, other: Any, S: Any) -> float:
    """Signed distance."""
    request, result = coal.DistanceRequest(True, True), coal.DistanceResult()
    request.gjk_tolerance = 1e-9
    request.epa_tolerance = 1e-9
    a, b = coal.Transform3s(T[:3, :3], T[:3, 3]), coal.Transform3s(S[:3, :3], S[:3, 3])
    return float(coal.distance(of_coal(coal, one), a, of_coal(coal, other), b, request, result))


def urdf_geometry(shape: Any) -> str:
    if isinstance(shape, hc.Box):
        return f'<box size="{" ".join(map(repr, shape.size))}"/>'
    if isinstance(shape, hc.Sphere):
        return f'<sphere radius="{shape.radius!r}"/>'
    return f'<{shape.kind} radius="{shape.radius!r}" length="{shape.length!r}"/>'


def free_body(shape: Any) -> hc.Robot:
    """A robot whose only body moves freely and has this shape."""
    return hc.load(
        '<robot name="free"><link name="body"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
        f'ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>{urdf_geometry(shape)}</geometry>'
        "</collision></link></robot>",
        base="floating",
    )


def configuration(T: Any) -> Any:
    """The coordinates of a free body at a pose."""
    return np.concatenate([T[:3, 3], quaternion.from_matrix(T[:3, :3])])
