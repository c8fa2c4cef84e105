"""Spheres on the links of a robot, in groups with a ball around each, and the pairs that are checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.geometry.shapes import Capsule, PointCloud, Sphere
from helicoid.model.model import WORLD, Model
from helicoid.robot import Robot
from helicoid.robot.collision.link_shapes import link_shapes
from helicoid.robot.collision.spheres.solids import bounds
from helicoid.robot.collision.spheres.spheres import Tolerance

MAX_SPHERES_PER_CLUSTER = 5  # of a group
MIN_DEFAULT_TOLERANCE = 0.01  # m
TOLERANCE_SHARE = 0.03  # of the extent of a link


@dataclass(frozen=True, eq=False)
class SphereGroup:
    """Spheres that move together, of one link or of one object that is carried.

    Args:
        name: of the link or of the object.
        link: that carries them.
        body: number of the moving body, or WORLD.
        spheres: (n, 4), x, y, z and radius (m) in the frame of the body.
        carried: whether it is an object.
    """

    name: str
    link: str
    body: int
    spheres: Array
    carried: bool = False

    @cached_property
    def clusters(self) -> list[Array]:
        """The spheres in clusters of a few that are near each other, by halving along the longest extent."""
        found, left = [], [self.spheres]
        while left:
            part = left.pop()
            if len(part) <= MAX_SPHERES_PER_CLUSTER:
                found.append(part)
                continue
            order = part[np.argsort(part[:, int(np.argmax(np.ptp(part[:, :3], axis=0)))], kind="stable")]
            left += [order[len(part) // 2 :], order[: len(part) // 2]]
        return found

    @cached_property
    def ball(self) -> Array:
        """Centre and radius (4) of a ball around all spheres."""
        return ball_around(self.spheres)


def ball_around(spheres: Array) -> Array:
    """Centre and radius (4) of a ball around spheres, nearly the smallest, by Badoiu and Clarkson's steps."""
    at, radii = spheres[:, :3], spheres[:, 3]
    center = at.mean(axis=0)
    best = np.append(center, np.inf)
    for k in range(1, 100 if len(spheres) > 1 else 2):
        reach = np.linalg.norm(at - center, axis=1) + radii
        far = int(np.argmax(reach))
        if reach[far] < best[3]:
            best = np.append(center, reach[far])
        center = center + (at[far] - center) / (k + 1)
    return best


def link_groups(robot: Robot, tolerance: Tolerance | None) -> list[SphereGroup]:
    """A group for each link with collision geometry, or visual geometry if none has the former.

    Where it is nothing but spheres they are used as they are; else `robot.spheres(tolerance)` contain it.
    Without a tolerance it is that of `link_tolerances`.

    Raises:
        InputError: the robot has no geometry.
    """
    shapes = link_shapes(robot.model)
    if any(shape.kind != Sphere.kind for own in shapes.values() for shape in own):
        return containing_groups(robot, link_tolerances(robot) if tolerance is None else tolerance)
    found = []
    for link, own in shapes.items():
        body, placement = robot.model.frame(link)
        at = [(placement @ shape.placement).translation for shape in own]
        radii = [shape.size[0] for shape in own]
        found.append(SphereGroup(link, link, body, np.column_stack([at, radii])))
    return found


def link_tolerances(robot: Robot) -> dict[str, float]:
    """Tolerances (m) of the spheres of each link: 10 mm, of large links 3 % of their largest extent."""
    return {
        link: max(MIN_DEFAULT_TOLERANCE, TOLERANCE_SHARE * float(np.ptp(bounds(shapes), axis=0).max()))
        for link, shapes in link_shapes(robot.model).items()
    }


def containing_groups(robot: Robot, tolerance: Tolerance) -> list[SphereGroup]:
    """A group for each link, of spheres that contain its geometry."""
    spheres = robot.spheres(tolerance)
    found = []
    for link in spheres.links:
        body, placement = robot.model.frame(link)
        centers, radii = spheres.of(link)
        at = centers @ placement.rotation.T + placement.translation
        found.append(SphereGroup(link, link, body, np.column_stack([at, radii])))
    return found


def carried_group(
    robot: Robot, name: str, frame: str, pose: Array, shape: Any, tolerance: float
) -> SphereGroup:
    """Spheres that contain an object that a frame of the robot carries at a pose in it."""
    body, placement = robot.model.frame(frame)
    balls = _cover(name, shape, tolerance)
    at = balls[:, :3] @ pose[:3, :3].T + pose[:3, 3]
    at = at @ placement.rotation.T + placement.translation
    return SphereGroup(name, frame, body, np.column_stack([at, balls[:, 3]]), carried=True)


def _cover(name: str, shape: Any, tolerance: float) -> Array:
    """Balls (n, 4) that contain a shape: about the cells of a grid, or the points of a cloud."""
    if shape.kind in _COVERS:
        return _COVERS[shape.kind](shape, tolerance)
    low, high = np.asarray(shape.bounds)
    if not np.all(np.isfinite(high - low)):
        raise InputError(f"object {name!r} is without end: no robot can carry it")
    # Cells of a size whose half diagonal is the least half extent and the tolerance: nothing is far outside.
    half = (high - low) / 2
    size = max(2 * (float(half.min()) + tolerance) / np.sqrt(3), float(half.max()) / 10)
    counts = np.maximum(np.ceil((high - low) / size), 1).astype(int)
    cell = (high - low) / counts
    grid = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, 3)
    centers = low + cell * (grid + 0.5)
    return np.column_stack([centers, np.full(len(centers), float(np.linalg.norm(cell)) / 2)])


def _of_sphere(shape: Any, tolerance: float) -> Array:
    return np.array([[0.0, 0.0, 0.0, shape.radius]])


def _of_capsule(shape: Any, tolerance: float) -> Array:
    r, half = shape.radius, shape.length / 2
    step = 2 * float(np.sqrt((r + tolerance) ** 2 - r**2))
    n = max(2, int(np.ceil(shape.length / step)) + 1)
    z = np.linspace(-half, half, n)
    return np.column_stack([np.zeros((n, 2)), z, np.full(n, float(np.hypot(r, half / (n - 1))))])


def _of_cloud(shape: Any, tolerance: float) -> Array:
    return np.column_stack([shape.points, np.full(len(shape.points), shape.radius)])


_COVERS = {Sphere.kind: _of_sphere, Capsule.kind: _of_capsule, PointCloud.kind: _of_cloud}


def group_pairs(model: Model, groups: Sequence[SphereGroup]) -> list[tuple[int, int]]:
    """Pairs of groups that could meet: not on one body or on neighbours, nor disabled by an SRDF."""

    def neighbours(a: int, b: int) -> bool:
        return any(one != WORLD and model.bodies[one].parent == other for one, other in ((a, b), (b, a)))

    return [
        (i, j)
        for i, a in enumerate(groups)
        for j, b in enumerate(groups[:i])
        if a.body != b.body
        and (a.carried or b.carried or not neighbours(a.body, b.body))
        and frozenset((a.link, b.link)) not in model.semantics.disabled
    ]
