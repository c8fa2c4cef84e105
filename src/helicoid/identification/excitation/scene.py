"""Smooth distances between a robot and a scene, for optimisation: containing spheres and primitives."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.dynamics.tree import joint_motions, world_poses
from helicoid.errors import InputError
from helicoid.geometry.shapes import Box, Capsule, Cylinder, Plane, Shape, Sphere
from helicoid.identification.excitation.collision import SHARPNESS, BodySphere
from helicoid.model.model import WORLD, Model
from helicoid.robot import Robot
from helicoid.robot.collision.distances.checker import checked_scene
from helicoid.robot.collision.scene import Scene

_TOLERANCE = 0.03  # m, of the spheres


class Surroundings(NamedTuple):
    """A scene, and spheres that contain the moving links of a robot."""

    scene: Scene
    spheres: list[BodySphere]


def surroundings(robot: Robot, scene: Any) -> Surroundings | None:
    """The scene that an excitation trajectory avoids, None without one.

    Raises:
        InputError: it is no scene, or an object is carried or of a kind without a smooth distance.
    """
    given = checked_scene(scene)
    if given is None or not len(given):
        return None
    for one in given.objects.values():
        if one.frame is not None or not isinstance(one.shape, (Box, Sphere, Capsule, Cylinder, Plane)):
            raise InputError(
                f"object {one.name!r} ({'carried' if one.frame else one.shape.kind}): an excitation "
                "trajectory avoids boxes, spheres, capsules, cylinders and planes that stand in the world"
            )
    fitted = robot.spheres(_TOLERANCE)
    found = []
    for center, radius, k in zip(fitted.centers, fitted.radii, fitted.link_index, strict=True):
        link = fitted.links[int(k)]
        body, placement = robot.model.frame(link)
        if body != WORLD:
            at = placement.translation + placement.rotation @ center
            found.append(BodySphere(body, at, float(radius), link))
    return Surroundings(given, found)


def scene_distances(model: Model, around: Surroundings, q: Expression) -> Expression:
    """For each body and object a lower bound of the distance (m), smooth in q."""
    poses = world_poses(model, joint_motions(model, q))
    allowed = around.scene.allowed
    found = []
    for body in sorted({sphere.body for sphere in around.spheres}):
        R, p = poses[body]
        for one in around.scene.objects.values():
            if frozenset((one.name, model.bodies[body].name)) in allowed:
                continue
            back, at = one.pose[:3, :3].T, one.pose[:3, 3]
            gaps = [
                distance_from(one.shape, back @ (p + R @ sphere.center - at)) - sphere.radius
                for sphere in around.spheres
                if sphere.body == body
            ]
            found.append(-ca.logsumexp(-SHARPNESS * ca.vertcat(*gaps)) / SHARPNESS)
    return ca.vertcat(*found)


def distance_from(shape: Shape, x: Expression) -> Expression:
    """Signed distance (m) of a point in the frame of a shape; inside, that of the nearest side."""
    if isinstance(shape, Plane):
        return ca.dot(ca.DM(shape.normal), x) - shape.offset
    if isinstance(shape, Sphere):
        return _norm(x) - shape.radius
    if isinstance(shape, Capsule):
        z = x[2] - ca.fmax(ca.fmin(x[2], shape.length / 2), -shape.length / 2)
        return _norm(ca.vertcat(x[0], x[1], z)) - shape.radius
    if isinstance(shape, Cylinder):
        gap = ca.vertcat(_norm(x[:2]) - shape.radius, ca.fabs(x[2]) - shape.length / 2)
    elif isinstance(shape, Box):
        gap = ca.fabs(x) - np.array(shape.size) / 2
    else:
        raise InputError(f"{shape!r} has no smooth distance")
    return _norm(ca.fmax(gap, 0)) + ca.fmin(ca.mmax(gap), 0)


def _norm(x: Expression) -> Expression:
    return ca.sqrt(ca.sumsqr(x) + 1e-12)
