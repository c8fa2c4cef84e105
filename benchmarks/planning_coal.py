"""Paths checked against the meshes of the robot with coal."""

from __future__ import annotations

from typing import Any

import coal
import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.geometry.shapes import Shape
from helicoid.geometry.shapes.mesh import read_mesh
from helicoid.robot.collision.link_shapes import link_shapes
from helicoid.robot.collision.meshes import find_mesh


def contacts(path: Any, scene: hc.Scene, checks: float) -> tuple[int, int]:
    """Configurations along a path, `checks` a radian: how many touch an obstacle, and their number."""
    robot = path.planner.robot
    links = link_shapes(robot.model)
    moving = {link: own for link, own in links.items() if robot.model.frame(link).body >= 0}
    solids = {link: [(_solid(one), one.placement) for one in own] for link, own in moving.items()}
    objects = [(_object(one.shape), _transform(one.pose)) for one in scene.objects.values()]
    for body in [body for body, _ in objects] + [solid for own in solids.values() for solid, _ in own]:
        body.computeLocalAABB()
    request, touching, count = coal.CollisionRequest(), 0, 0
    for a, b in zip(path.q, path.q[1:], strict=False):
        steps = max(2, int(np.ceil(np.linalg.norm(b - a) * checks)))
        Q = a + np.linspace(0, 1, steps)[:, None] * (b - a)
        count, hit = count + steps, np.zeros(steps, bool)
        for link, own in solids.items():
            poses = np.asarray(robot.pose(link)(Q))
            for solid, at in own:
                for body, T in objects:
                    for k in np.flatnonzero(_near(poses, solid, at, body, T) & ~hit):
                        found = coal.CollisionResult()
                        hit[k] = coal.collide(solid, _transform(poses[k], at), body, T, request, found) > 0
        touching += int(hit.sum())
    return touching, count


def _near(poses: Array, solid: Any, at: Any, body: Any, T: Any) -> Array:
    """Where the bounding ball of a solid reaches the bounding box of an object: elsewhere they are apart."""
    middle = at.rotation @ solid.aabb_center + at.translation
    x = poses[:, :3, :3] @ middle + poses[:, :3, 3]
    local = (x - T.getTranslation()) @ T.getRotation() - body.aabb_center
    half = (body.aabb_local.max_ - body.aabb_local.min_) / 2
    beyond = np.maximum(np.abs(local) - half, 0.0)
    return np.asarray(np.linalg.norm(beyond, axis=1) <= solid.aabb_radius + 1e-6)


def _transform(pose: Array, placement: Any = None) -> Any:
    R, p = pose[:3, :3], pose[:3, 3]
    if placement is not None:
        R, p = R @ placement.rotation, p + R @ placement.translation
    return coal.Transform3s(np.ascontiguousarray(R), np.ascontiguousarray(p))


def _solid(shape: Any) -> Any:
    if shape.kind == hc.Box.kind:
        return coal.Box(*shape.size)
    path = find_mesh(shape)
    assert path is not None
    vertices, faces = read_mesh(path)
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(faces), len(vertices))
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in vertices:
        points.append(np.asarray(vertex * shape.size, dtype=float))
    for face in faces:
        triangles.append(coal.Triangle(*map(int, face)))
    model.addSubModel(points, triangles)
    model.endModel()
    return model


def _object(shape: Shape) -> Any:
    if isinstance(shape, hc.Box):
        return coal.Box(*shape.size)
    assert isinstance(shape, hc.Cylinder)
    return coal.Cylinder(shape.radius, shape.length)
