"""Grounds and contact points in the description of a MuJoCo model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.geometry import quaternion
from helicoid.model.mjcf.origin import unedited_origin
from helicoid.model.mjcf.writing.writer import body_name
from helicoid.model.model import WORLD
from helicoid.robot import Robot
from helicoid.simulation.contacts.shapes import points_of
from helicoid.simulation.engines.mujoco.library import mujoco_module
from helicoid.simulation.ground import ContactPoint, Ground

_BASE_THICKNESS = 1.0  # m, of the ground below the lowest point of a height field
_MIN_ELEVATION = 1e-6  # m: MuJoCo's height fields are not flat
_POINT_RADIUS = 1e-6  # m, of a contact point: MuJoCo's spheres are not points


def add_grounds(spec: Any, grounds: Sequence[Ground], touching: bool) -> list[str]:
    """Add planes and height fields to the world; names of their geoms.

    Args:
        touching: whether they touch all colliding geoms, with their own friction; else only in pairs.

    Raises:
        InputError: MuJoCo has no such ground.
    """
    kinds, names = mujoco_module().mjtGeom, []
    for number, ground in enumerate(grounds):
        if ground.restitution > 0:
            raise InputError("MuJoCo has no coefficient of restitution: Ground(restitution=0)")
        if not np.isfinite(ground.friction):
            raise InputError("MuJoCo's friction is finite: Ground(friction=...)")
        names.append(f"helicoid_ground_{number}")
        geom = spec.worldbody.add_geom(name=names[-1], condim=3)
        geom.friction = [float(ground.friction), 0.0, 0.0]
        geom.contype = geom.conaffinity = int(touching)
        geom.priority = 1 + max((one.priority for one in spec.geoms), default=0)
        if ground.heights is None:
            normal = np.array(ground.normal)
            geom.type, geom.size = kinds.mjGEOM_PLANE, [0, 0, 1]
            geom.pos, geom.quat = ground.height * normal, _turned(normal)
            continue
        geom.type, geom.hfieldname = kinds.mjGEOM_HFIELD, names[-1]
        _add_field(spec, geom, names[-1], ground)
    return names


def _add_field(spec: Any, geom: Any, name: str, ground: Ground) -> None:
    h = np.asarray(ground.heights)
    rows, columns = h.shape
    (dx, dy), (x0, y0) = np.ravel(ground.spacing), np.ravel(np.asarray(ground.origin))
    half = np.array([dx * (columns - 1), dy * (rows - 1)]) / 2
    elevation = max(float(np.ptp(h)), _MIN_ELEVATION)
    spec.add_hfield(
        name=name,
        nrow=rows,
        ncol=columns,
        size=[*half, elevation, _BASE_THICKNESS],
        userdata=((h - h.min()) / elevation).ravel(),
    )
    geom.pos = [x0 + half[0], y0 + half[1], float(h.min()) + ground.height]


def add_points(
    spec: Any, robot: Robot, contacts: Sequence[ContactPoint], grounds: Sequence[Ground], names: Sequence[str]
) -> list[str]:
    """Add spheres that touch the grounds, and let nothing else touch anything; names of their geoms."""
    mujoco = mujoco_module()
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    for pair in list(spec.pairs):
        spec.delete(pair)
    found = []
    for number, one in enumerate(contacts):
        body, placement = robot.model.frame(one.link)
        name = robot.model.bodies[body].name
        carrier = spec.body(name if unedited_origin(robot.model) is not None else body_name(name))
        if carrier is None:
            raise InputError(f"MuJoCo's model has no body {name!r} for the contact of {one.link!r}")
        found.append(f"helicoid_contact_{number}")
        geom = carrier.add_geom(name=found[-1], type=mujoco.mjtGeom.mjGEOM_SPHERE, mass=0)
        geom.size = [max(float(one.radius), _POINT_RADIUS), 0, 0]
        geom.pos = placement.rotation @ np.array(one.point) + placement.translation
        geom.contype = geom.conaffinity = 0
        for ground, there in zip(grounds, names, strict=True):
            pair = spec.add_pair(geomname1=there, geomname2=found[-1], condim=3)
            pair.friction = [float(ground.friction)] * 2 + [0.0] * 3
    return found


def names_of_points(robot: Robot, contacts: Sequence[ContactPoint]) -> tuple[str, ...]:
    """Names of contacts, checked."""
    return points_of(robot, contacts).names


def touching_bodies(robot: Robot, model: Any) -> tuple[tuple[str, ...], Array]:
    """Links whose contacts are recorded, and the number of that of each geom, or -1."""
    wanted = {
        (one.name if unedited_origin(robot.model) is not None else body_name(one.name)): one.name
        for one in robot.model.bodies
    }
    names: list[str] = []
    slot = np.full(max(model.ngeom, 1), -1)
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        root = int(model.body_weldid[body])
        link = wanted.get(model.body(root).name)
        if link is None or not (model.geom_contype[geom] or model.geom_conaffinity[geom]):
            continue
        if link not in names:
            names.append(link)
        slot[geom] = names.index(link)
    return tuple(names), slot


def overlapping(robot: Robot, model: Any, data: Any, depth: float) -> list[tuple[str, str]]:
    """Pairs of bodies whose shapes overlap by more than `depth` (m) and that no floating joint separates."""
    index = {body_name(body.name): k for k, body in enumerate(robot.model.bodies)}
    found = []
    for one in data.contact:
        names = [model.body(int(model.geom_bodyid[geom])).name for geom in one.geom if geom >= 0]
        bodies = [index.get(name, WORLD) for name in names]
        if one.dist >= -depth or len(names) < 2 or "world" in names or _apart(robot, *bodies):
            continue
        pair = min(names), max(names)
        if pair not in found:
            found.append(pair)
    return found


def _apart(robot: Robot, a: int, b: int) -> bool:
    """Whether a joint of six degrees of freedom lies between two bodies."""
    chains = []
    for body in (a, b):
        chain = []
        while body != WORLD:
            chain.append(body)
            body = robot.model.bodies[body].parent
        chains.append(chain)
    between = set(chains[0]) ^ set(chains[1])
    return any(robot.model.bodies[k].joint.type.nv == 6 for k in between)


def _turned(normal: Array) -> Array:
    """Quaternion that turns z to a direction."""
    z = np.array([0.0, 0.0, 1.0])
    axis, cosine = np.cross(z, normal), float(z @ normal)
    size = float(np.linalg.norm(axis))
    axis = np.array([1.0, 0.0, 0.0]) if size < 1e-12 else axis / size
    angle = float(np.arctan2(size, cosine))
    return np.asarray(quaternion.from_angle_axis(np.array(angle), axis))
