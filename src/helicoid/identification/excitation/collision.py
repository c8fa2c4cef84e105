"""Smooth distances between a robot's own links, for optimisation: spheres that cover their shapes."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.dynamics.tree import joint_motions, world_poses
from helicoid.model.model import WORLD, Model
from helicoid.model.parts import Geometry
from helicoid.model.shapes import PRIMITIVES, is_solid

SHARPNESS = 200.0  # 1/m: the least of n distances is underestimated by at most log(n)/200 m


class BodySphere(NamedTuple):
    """A sphere fixed to a body: center in the body's frame (m), radius (m), and the link that it covers."""

    body: int
    center: Array
    radius: float
    link: str


def covering_spheres(model: Model) -> tuple[list[BodySphere], list[str]]:
    """Spheres that cover every primitive shape of the robot, and the links whose shape is a mesh."""
    spheres: list[BodySphere] = []
    meshes: list[str] = []
    for link in model.links:
        body, placement = model.frame(link.name)
        for shape in link.collisions:
            if shape.kind == "mesh":
                meshes.append(link.name)
                continue
            if not is_solid(shape):
                continue
            placed = placement @ shape.placement
            for center, radius in _cover(shape):
                at = placed.translation + placed.rotation @ center
                spheres.append(BodySphere(body, at, radius, link.name))
    return spheres, sorted(set(meshes))


def _cover(shape: Geometry) -> list[tuple[Array, float]]:
    """Spheres along the longest direction, in the shape's own frame."""
    primitive = PRIMITIVES[shape.kind]
    spheres, extent = primitive.spheres(*shape.size), primitive.extent(shape.size)
    long = 2 if len(primitive.circles(*shape.size)) else int(np.argmax(extent))
    length, thickness = 2 * extent[long], primitive.distance_from(long, shape.size)
    n = max(1, int(np.ceil(length / (2 * thickness))))
    half = length / (2 * n)
    places = (np.arange(n) + 0.5) * 2 * half - length / 2
    # A capsule ends in half spheres that reach further than its cylinder.
    radius = thickness + half if np.any(spheres[:, 3]) else float(np.hypot(thickness, half))
    return [(place * np.eye(3)[long], radius) for place in places]


def body_pairs(model: Model, spheres: list[BodySphere], q: Array) -> list[tuple[int, int]]:
    """Pairs of bodies that could collide: neither neighbours nor in contact at q."""
    owners = sorted({sphere.body for sphere in spheres})
    pairs = [
        (a, b)
        for i, a in enumerate(owners)
        for b in owners[i + 1 :]
        if model.bodies[b].parent != a and (a == WORLD or model.bodies[a].parent != b)
    ]
    if not pairs:
        return []
    apart = np.array(ca.evalf(distances(model, spheres, pairs, ca.SX(q)))).ravel()
    return [pair for pair, distance in zip(pairs, apart, strict=True) if distance > 0]


def distances(
    model: Model, spheres: list[BodySphere], pairs: list[tuple[int, int]], q: Expression
) -> Expression:
    """For each pair of bodies a lower bound of the distance between their spheres (m), smooth in q."""
    poses = world_poses(model, joint_motions(model, q))
    placed: dict[int, list[tuple[Expression, float]]] = {}
    for body, center, radius, _ in spheres:
        R, p = (ca.SX.eye(3), ca.SX.zeros(3)) if body == WORLD else poses[body]
        placed.setdefault(body, []).append((p + R @ center, radius))
    found = []
    for a, b in pairs:
        gaps = [ca.sqrt(ca.sumsqr(x - y) + 1e-12) - r - s for x, r in placed[a] for y, s in placed[b]]
        stacked = ca.vertcat(*gaps)
        found.append(-ca.logsumexp(-SHARPNESS * stacked) / SHARPNESS)
    return ca.vertcat(*found)
