"""Drawable geometry of a robot: coloured triangles in the frame of each body."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import DoubtfulModelWarning, HelicoidError, warn
from helicoid.model.model import WORLD
from helicoid.model.parts import Geometry, Placement
from helicoid.robot import Robot
from helicoid.robot.collision.meshes import find_mesh
from helicoid.view.drawing import triangles
from helicoid.view.drawing.meshes import Color, MeshPiece, read_mesh
from helicoid.view.drawing.stick_figure import LINK_COLOR, sticks
from helicoid.view.drawing.triangles import Triangles, joined
from helicoid.view.poses import body_poses

COLLISION_COLOR: Color = (0.95, 0.45, 0.15, 0.4)
CAPSULE_COLOR: Color = (0.15, 0.65, 0.60, 0.4)

# Drawn with fewer or smoother triangles than as the hull of a primitive's spheres and circles.
_PRIMITIVES: Mapping[str, Callable[..., Triangles]] = {
    "box": lambda *edges: triangles.box(edges),
    "cylinder": triangles.cylinder,
    "capsule": triangles.capsule,
    "sphere": triangles.sphere,
    "ellipsoid": lambda *semi_axes: triangles.ellipsoid(np.diag(semi_axes)),
}


class Part(NamedTuple):
    """Triangles of one colour in the frame of a body, `WORLD` for fixed geometry."""

    body: int
    triangles: Triangles
    color: Color


def visual_parts(robot: Robot) -> list[Part]:
    """Visual geometry of a robot: one part per body and colour.

    A body whose meshes are missing is drawn by its collision shapes, or else as a stick figure; so are all
    bodies if the description has no visuals on a moving body. Missing meshes raise a warning.
    """
    parts, missing = _shapes(robot, "visuals")
    if missing:
        _warn_of_meshes([problem for problems in missing.values() for problem in problems])
    drawn = {part.body for part in parts}
    moving = set(range(robot.n_bodies))
    undrawn = set(missing) - drawn
    if not (drawn | undrawn) & moving:
        undrawn |= {WORLD, *moving} - drawn
    solid = [part._replace(color=LINK_COLOR) for part in collision_parts(robot) if part.body in undrawn]
    undrawn -= {part.body for part in solid}
    thin = [Part(*stick) for stick in (sticks(robot) if undrawn else ()) if stick[0] in undrawn]
    return _merged([*parts, *solid, *thin])


def collision_parts(robot: Robot) -> list[Part]:
    """Collision geometry of a robot; missing meshes are omitted."""
    found, _ = _shapes(robot, "collisions")
    return _merged(part._replace(color=COLLISION_COLOR) for part in found)


def capsule_parts(robot: Robot) -> list[Part]:
    """Capsules of `Robot.capsules`, around the visuals if there are no collision shapes.

    Missing meshes raise a warning, and no capsule is drawn.
    """
    collides = any(link.collisions for link in robot.model.links)
    try:
        capsules = robot.capsules("collision" if collides else "visual")
    except HelicoidError as error:
        warn(DoubtfulModelWarning(f"no capsules are drawn: {error}"))
        return []
    parts = []
    for one in capsules:
        body, placed = robot.model.frame(str(one.link))
        start, end = (np.asarray(point, dtype=np.float64) for point in (one.start, one.end))
        if one.length > 0:
            shape = triangles.rod(start, end, one.radius)
        else:
            shape = triangles.sphere(one.radius).moved(Placement(translation=start))
        parts.append(Part(body, shape.moved(placed), CAPSULE_COLOR))
    return _merged(parts)


def inertia_parts(robot: Robot) -> list[Part]:
    """Inertia ellipsoids: for each moving body the homogeneous one of its mass, inertia and water's density.

    A homogeneous ellipsoid with semi-axes a along the principal axes has ½ tr(I) 1 - I = m/5 diag(a²). Only
    the ratios of the semi-axes follow from the inertia; where I is not physically consistent they are at
    least 1/20 of the longest. The volume is m / (1000 kg/m³).
    """
    parts = []
    for i, body in enumerate(robot.model.bodies):
        inertia = body.inertia
        if inertia.mass <= 0:
            continue
        moments, axes = np.linalg.eigh(np.trace(inertia.at_com) / 2 * np.eye(3) - inertia.at_com)
        semi_axes = np.sqrt(np.maximum(moments, 0.0))
        longest = float(semi_axes.max()) or 1.0
        semi_axes = np.maximum(semi_axes, longest / 20)
        volume = inertia.mass / 1000.0
        semi_axes *= (volume / (4 / 3 * np.pi * float(np.prod(semi_axes)))) ** (1 / 3)
        shape = triangles.ellipsoid(axes * semi_axes)
        parts.append(Part(i, Triangles(shape.vertices + inertia.com, shape.faces), (0.20, 0.45, 0.90, 0.55)))
    return parts


def corners(parts: Iterable[Part], poses: Array, origin: bool = True) -> Array:
    """Corners (n, 3) of the bounding box of each part in the world, at all poses (N, n_bodies, 7).

    With `origin`, the world origin is included.
    """
    from scipy.spatial.transform import Rotation

    cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    found = [np.zeros((int(origin), 3))]
    for part in parts:
        low, high = part.triangles.vertices.min(axis=0), part.triangles.vertices.max(axis=0)
        points = low + cube * (high - low)
        if part.body != WORLD:
            pose = poses[:, part.body]
            R = Rotation.from_quat(pose[:, [4, 5, 6, 3]]).as_matrix()
            points = (pose[:, None, :3] + points @ R.transpose(0, 2, 1)).reshape(-1, 3)
        found.append(points)
    return np.concatenate(found)


def bounds(parts: Iterable[Part], poses: Array) -> tuple[Array, Array]:
    """Lower and upper corner of the axis-aligned bounding box of all parts at all poses."""
    points = corners(parts, poses)
    return points.min(axis=0), points.max(axis=0)


def extent(robot: Robot, parts: Iterable[Part]) -> float:
    """Longest edge (m) of the bounding box at the neutral configuration."""
    low, high = bounds(parts, body_poses(robot, robot.neutral())[None])
    return float((high - low).max()) or 1.0


def _shapes(robot: Robot, role: str) -> tuple[list[Part], dict[int, list[str]]]:
    """Parts of all shapes of a role, and the mesh errors of each body."""
    parts: list[Part] = []
    missing: dict[int, list[str]] = {}
    for link in robot.model.links:
        body, placed = robot.model.frames[link.name]
        for shape in getattr(link, role):
            try:
                pieces = _pieces(shape)
            except HelicoidError as error:
                missing.setdefault(body, []).append(str(error))
                continue
            for piece in pieces:
                moved = piece.triangles.moved(placed @ shape.placement)
                parts.append(Part(body, moved, shape.color or piece.color or LINK_COLOR))
    return parts, missing


def _pieces(shape: Geometry) -> tuple[MeshPiece, ...]:
    if shape.kind != "mesh":
        drawn = _PRIMITIVES.get(shape.kind)
        solid = triangles.primitive(shape) if drawn is None else drawn(*shape.size)
        return (MeshPiece(solid, None),)
    path = find_mesh(shape)
    if path is None:
        raise HelicoidError(f"{shape.filename}: not found")
    scale = np.array(shape.size)
    return tuple(
        piece._replace(triangles=Triangles(piece.triangles.vertices * scale, piece.triangles.faces))
        for piece in read_mesh(path)
    )


def _merged(parts: Iterable[Part]) -> list[Part]:
    groups: dict[tuple[int, Color], list[Triangles]] = {}
    for part in parts:
        groups.setdefault((part.body, part.color), []).append(part.triangles)
    return [Part(body, joined(pieces), color) for (body, color), pieces in groups.items()]


def _warn_of_meshes(problems: list[str]) -> None:
    distinct = list(dict.fromkeys(problems))
    packages = sorted(set(re.findall(r"^package://([^/]+)", "\n".join(distinct), re.MULTILINE)))
    where = "; say where: hc.load(..., packages={" + ", ".join(f"{p!r}: folder" for p in packages) + "})"
    more = f" (and {len(distinct) - 1} more meshes)" if len(distinct) > 1 else ""
    text = f"{distinct[0]}{more}{where if packages else ''}; plain shapes are drawn instead"
    warn(DoubtfulModelWarning(text))
