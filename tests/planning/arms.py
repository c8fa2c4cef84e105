"""A small arm of spheres for tests of planning, and NumPy as the oracle of its contacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import helicoid as hc
from helicoid._typing import Array

RADIUS = 0.06
REACH = (0.05, 0.15, 0.25, 0.35)  # along each link
_LINK = """<link name="{name}"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>{spheres}</link>"""
_SPHERE = """<collision><origin xyz="{x} 0 0"/><geometry><sphere radius="{r}"/></geometry></collision>"""
_JOINT = """<joint name="joint_{k}" type="{kind}"><parent link="{parent}"/><child link="link_{k}"/>
  <origin xyz="{x} 0 0" rpy="{roll} 0 0"/><axis xyz="0 0 1"/>
  <limit {range} velocity="2" effort="50"/></joint>"""


def arm_urdf(joints: int = 4, kind: str = "revolute") -> str:
    """An arm whose axes turn by 1.5707963 (rounded) from joint to joint, four spheres a link."""
    spheres = "".join(_SPHERE.format(x=x, r=RADIUS) for x in REACH)
    parts = [_LINK.format(name="base", spheres="")]
    for k in range(joints):
        parent, x = ("base", 0.0) if k == 0 else (f"link_{k - 1}", 0.4)
        parts.append(_LINK.format(name=f"link_{k}", spheres=spheres))
        roll = 1.570796326 if k % 2 else -1.570796326 * (k > 0)
        limits = 'lower="-2.8" upper="2.8"' if kind == "revolute" else ""
        parts.append(_JOINT.format(k=k, kind=kind, parent=parent, x=x, roll=roll, range=limits))
    return f'<robot name="arm">{"".join(parts)}</robot>'


def arm() -> hc.Robot:
    """The arm with four joints."""
    return hc.load(arm_urdf())


def centers(robot: hc.Robot, q: Array) -> Mapping[str, Array]:
    """Centres of the spheres of each link, by the robot's own kinematics in double precision."""
    found = {}
    for link in robot.model.links:
        local = np.array([shape.placement.translation for shape in link.collisions]).reshape(-1, 3)
        T = np.asarray(robot.pose(link.name)(q))
        found[link.name] = local @ T[:3, :3].T + T[:3, 3]
    return found


def gap(kind: str, numbers: Any, pose: Array, x: Array) -> Array:
    """Signed distance of points x (n, 3) from a shape, written on its own."""
    y = (x - pose[:3, 3]) @ pose[:3, :3]
    if kind == "plane":
        return np.asarray(y @ numbers[0] - numbers[1])
    if kind == "point_cloud":
        return np.asarray(np.min(np.linalg.norm(y[:, None] - numbers[0], axis=-1), axis=1) - numbers[1])
    if kind == "sphere":
        return np.asarray(np.linalg.norm(y, axis=1) - numbers[0])
    if kind == "box":
        beyond = np.abs(y) - np.array(numbers) / 2
    elif kind == "capsule":
        on_axis = np.clip(y[:, 2], -numbers[1] / 2, numbers[1] / 2)
        return np.asarray(np.hypot(np.hypot(y[:, 0], y[:, 1]), y[:, 2] - on_axis) - numbers[0])
    else:
        beyond = np.stack([np.hypot(y[:, 0], y[:, 1]) - numbers[0], np.abs(y[:, 2]) - numbers[1] / 2], axis=1)
    return np.asarray(np.linalg.norm(np.maximum(beyond, 0), axis=1) + np.minimum(beyond.max(axis=1), 0))


def box_arm_urdf() -> str:
    """Two links with a box each; at zero the second one ends at x = 0.56 m."""
    box = '<collision><origin xyz="0.14 0 0"/><geometry><box size="0.24 0.06 0.06"/></geometry></collision>'
    parts = [_LINK.format(name="base", spheres="")]
    for k, parent in enumerate(("base", "link_0")):
        parts.append(_LINK.format(name=f"link_{k}", spheres=box))
        limits = 'lower="-2.8" upper="2.8"'
        parts.append(_JOINT.format(k=k, kind="revolute", parent=parent, x=0.3 * k, roll=0, range=limits))
    return f'<robot name="box arm">{"".join(parts)}</robot>'


def cubes_urdf() -> str:
    """Three cubes of one size on one axis: the first and the third always meet."""
    cube = '<collision><geometry><box size="0.3 0.3 0.3"/></geometry></collision>'
    parts = [_LINK.format(name="base", spheres="")]
    for k, parent in enumerate(("base", "link_0", "link_1")):
        parts.append(_LINK.format(name=f"link_{k}", spheres=cube))
        limits = 'lower="-2.8" upper="2.8"'
        parts.append(_JOINT.format(k=k, kind="revolute", parent=parent, x=0, roll=0, range=limits))
    return f'<robot name="cubes">{"".join(parts)}</robot>'
