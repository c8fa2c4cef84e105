"""The world of an MJCF as a scene: its colliding geoms that do not move."""

from __future__ import annotations

from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.arrays import file_name
from helicoid.errors import InputError, optional_import
from helicoid.geometry.shapes import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Shape, Sphere
from helicoid.model.mjcf.shapes import KINDS, collision_possible
from helicoid.model.shapes import PRIMITIVES
from helicoid.robot.collision.scene.scene import Scene


def read_mjcf_world(source: Any) -> Scene:
    """See `Scene.from_mjcf`."""
    mujoco = optional_import("mujoco", "reading MJCF", "helicoid[mujoco]")
    model = source if isinstance(source, mujoco.MjModel) else _compiled(mujoco, source)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    scene = Scene()
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        if model.body_weldid[body] or not collision_possible(model, geom):
            continue
        name = model.geom(geom).name or model.body(body).name
        name = name if name and name != "world" and name not in scene else f"geom_{geom}"
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = data.geom_xmat[geom].reshape(3, 3), data.geom_xpos[geom]
        shape, pose = _shape(model, geom, name)
        scene.add(name, shape, T @ pose)
    return scene


def _compiled(mujoco: Any, source: Any) -> Any:
    is_text = isinstance(source, str) and source.lstrip().startswith("<")
    try:
        if is_text:
            return mujoco.MjModel.from_xml_string(source)
        return mujoco.MjModel.from_xml_path(file_name(source))
    except ValueError as error:
        raise InputError(f"MuJoCo does not read this MJCF: {error}") from error


def _shape(model: Any, geom: int, name: str) -> tuple[Shape, Array]:
    """The shape of a geom, and its pose in the frame of the geom."""
    kind, here = KINDS.get(int(model.geom_type[geom]), "other"), np.eye(4)
    x, y, z = map(float, model.geom_size[geom])
    if kind == "plane":  # infinite for contacts, whatever is drawn
        return Plane(), here
    if kind == "sphere":
        return Sphere(x), here
    if kind == "capsule":
        return Capsule(x, 2 * y), here
    if kind == "cylinder":
        return Cylinder(x, 2 * y), here
    if kind == "box":
        return Box((2 * x, 2 * y, 2 * z)), here
    if kind == "ellipsoid":
        return Mesh(vertices=PRIMITIVES[kind].spheres(x, y, z)[:, :3], convex=True), here
    number = int(model.geom_dataid[geom])
    if kind == "mesh":
        first, count = int(model.mesh_vertadr[number]), int(model.mesh_vertnum[number])
        return Mesh(vertices=model.mesh_vert[first : first + count], convex=True), here
    if kind == "hfield":
        rows, columns = int(model.hfield_nrow[number]), int(model.hfield_ncol[number])
        first = int(model.hfield_adr[number])
        rx, ry, top, bottom = map(float, model.hfield_size[number])
        heights = top * np.array(model.hfield_data[first : first + rows * columns], float).reshape(
            rows, columns
        )
        spacing = 2 * rx / (columns - 1), 2 * ry / (rows - 1)
        return HeightField(heights, spacing, thickness=float(heights.min()) + max(bottom, 1e-6)), here
    raise InputError(f"geom {name!r} is of the kind {kind!r}, which a scene does not have")
