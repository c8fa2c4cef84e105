"""Spheres on the links of a robot, in groups with a ball around each, and the pairs that are checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.model.model import WORLD, Model
from helicoid.robot import Robot


@dataclass(frozen=True, eq=False)
class SphereGroup:
    """Spheres that move together, of one link or of one object that is carried.

    Args:
        name: of the link or of the object.
        link: that carries them.
        body: number of the moving body, or WORLD.
        spheres: (n, 4), x, y, z and radius (m) in the frame of the body.
    """

    name: str
    link: str
    body: int
    spheres: Array

    @property
    def ball(self) -> Array:
        """Centre and radius of a ball around all spheres, (4): nearly the smallest (Bădoiu and Clarkson 2003)."""
        at, radii = self.spheres[:, :3], self.spheres[:, 3]
        center = at.mean(axis=0)
        best = np.append(center, np.inf)
        for k in range(1, 200):
            reach = np.linalg.norm(at - center, axis=1) + radii
            far = int(np.argmax(reach))
            if reach[far] < best[3]:
                best = np.append(center, reach[far])
            center = center + (at[far] - center) / (k + 1)
        return best


def link_groups(robot: Robot, tolerance: float) -> list[SphereGroup]:
    """A group for each link with collision geometry.

    Where the collision geometry is spheres they are used as they are; else `robot.spheres(tolerance)`, which
    contain it.
    """
    model = robot.model
    found = []
    for link in model.links:
        if not link.collisions:
            continue
        body, placement = model.frame(link.name)
        if any(shape.kind != "sphere" for shape in link.collisions):
            found = _containing(robot, tolerance)
            break
        at = [(placement @ shape.placement).translation for shape in link.collisions]
        radii = [shape.size[0] for shape in link.collisions]
        found.append(SphereGroup(link.name, link.name, body, np.column_stack([at, radii])))
    if not found:
        raise InputError(f"robot {robot.name!r} has no collision geometry to plan with")
    return found


def _containing(robot: Robot, tolerance: float) -> list[SphereGroup]:
    model, by_link = robot.model, {}
    for sphere in robot.spheres(tolerance):
        by_link.setdefault(sphere.link, []).append((*sphere.center, sphere.radius))
    found = []
    for link, rows in by_link.items():
        body, placement = model.frame(link)
        spheres = np.array(rows)
        spheres[:, :3] = spheres[:, :3] @ placement.rotation.T + placement.translation
        found.append(SphereGroup(link, link, body, spheres))
    return found


def group_pairs(model: Model, groups: Sequence[SphereGroup]) -> list[tuple[int, int]]:
    """Pairs of groups that could meet: not on one body or on neighbours, nor disabled by an SRDF."""

    def neighbours(a: int, b: int) -> bool:
        return any(one != WORLD and model.bodies[one].parent == other for one, other in ((a, b), (b, a)))

    return [
        (i, j)
        for i, a in enumerate(groups)
        for j, b in enumerate(groups[:i])
        if a.body != b.body
        and not neighbours(a.body, b.body)
        and frozenset((a.link, b.link)) not in model.semantics.disabled
    ]
