"""Drawing of robots: geometry at the robot's poses, with any description."""

from __future__ import annotations

import sys
import warnings
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given

import helicoid as hc
from helicoid.errors import DoubtfulModelWarning
from helicoid.model.inertia import Inertia
from helicoid.model.model import WORLD
from helicoid.model.parts import Geometry
from helicoid.robot.collision.meshes import find_mesh
from helicoid.view.drawing.drawing import (
    bounds,
    capsule_parts,
    collision_parts,
    extent,
    inertia_parts,
    visual_parts,
)
from helicoid.view.drawing.meshes import read_mesh
from helicoid.view.drawing.stick_figure import JOINT_COLOR, sticks
from helicoid.view.poses import body_poses
from random_trees import Array, assert_close, few, robots, seeds, state

URDF = """<robot name="one"><link name="base"/>
<link name="arm"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{shapes}</link>
<joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
</robot>"""
MESH = '<visual><geometry><mesh filename="{file}" scale="2 2 2"/></geometry>{more}</visual>'
BALL = "<collision><geometry><sphere radius='0.3'/></geometry></collision>"


@given(robots(), seeds)
@few
def test_body_poses_are_those_of_the_frames(robot: hc.Robot, seed: int) -> None:
    q = np.array([state(robot, seed).q, state(robot, seed + 1).q])
    poses = body_poses(robot, q)
    assert_close(poses[1], body_poses(robot, q[1]))
    for i, body in enumerate(robot.model.bodies):
        T = robot.pose(body.name)(q[1])
        w, x, y, z = poses[1, i, 3:]
        columns = [[1 - 2 * (y * y + z * z)], [2 * (x * y + w * z)], [2 * (x * z - w * y)]]
        assert_close(np.array(columns), T[:3, :1])
        assert_close(poses[1, i, :3], T[:3, 3])


@given(robots())
@few
def test_a_robot_without_shapes_is_drawn_from_its_joints(robot: hc.Robot) -> None:
    parts = visual_parts(robot)
    assert {part.body for part in parts} >= set(range(robot.n_bodies))
    assert sum(color == JOINT_COLOR for _, _, color in sticks(robot)) == robot.n_bodies
    for part in parts:
        assert np.isfinite(part.triangles.vertices).all()
        assert part.triangles.faces.max() < len(part.triangles.vertices)


def test_the_box_around_a_motion_holds_every_vertex() -> None:
    robot = hc.load("panda")
    parts, q = visual_parts(robot), np.array([robot.random(k) for k in range(4)])
    low, high = bounds(parts, body_poses(robot, q))
    for part in parts:
        for configuration in q:
            T = (
                np.eye(4)
                if part.body == WORLD
                else robot.pose(robot.model.bodies[part.body].name)(configuration)
            )
            seen = part.triangles.vertices @ T[:3, :3].T + T[:3, 3]
            assert (seen >= low - 1e-9).all() and (seen <= high + 1e-9).all()
    assert (high - low).max() < 4.0


def test_the_extent_of_the_panda_is_its_height() -> None:
    robot = hc.load("panda")
    assert extent(robot, visual_parts(robot)) == pytest.approx(1.1, abs=0.1)


def test_the_inertia_of_an_ellipsoid_of_water_is_drawn_as_that_ellipsoid() -> None:
    semi_axes, com = np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.0, 0.1])
    mass = 1000 * 4 / 3 * np.pi * float(np.prod(semi_axes))
    squares = semi_axes**2
    moments = mass / 5 * np.diag(squares.sum() - squares)
    robot = hc.load("double_pendulum")
    pi = np.concatenate([Inertia.from_com(mass, com, moments).parameters] * 2)
    part = inertia_parts(robot.with_parameters(pi))[1]
    np.testing.assert_allclose(part.triangles.vertices.max(axis=0), com + semi_axes, rtol=1e-6)
    np.testing.assert_allclose(part.triangles.vertices.min(axis=0), com - semi_axes, rtol=1e-6)


def _urdf(folder: Path, shapes: str) -> hc.Robot:
    file = folder / "urdf" / "robot.urdf"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(URDF.format(shapes=shapes))
    return hc.load(file)


def _size(robot: hc.Robot) -> Array:
    return np.ptp(np.concatenate([part.triangles.vertices for part in visual_parts(robot)]), axis=0)


def test_meshes_are_found_by_the_package_around_the_description(tmp_path: Path) -> None:
    folder = tmp_path / "my_robot"
    (folder / "meshes").mkdir(parents=True)
    trimesh.creation.box((0.1, 0.2, 0.3)).export(folder / "meshes" / "arm.stl")
    for file in ("package://my_robot/meshes/arm.stl", "../meshes/arm.stl", str(folder / "meshes/arm.stl")):
        robot = _urdf(folder, MESH.format(file=file, more=""))
        np.testing.assert_allclose(_size(robot), [0.2, 0.4, 0.6], rtol=1e-6)


def test_meshes_are_found_where_ros_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ros" / "share" / "arms").mkdir(parents=True)
    mesh = tmp_path / "ros" / "share" / "arms" / "arm.stl"
    trimesh.creation.box((0.1, 0.2, 0.3)).export(mesh)
    shape = Geometry("mesh", (1.0, 1.0, 1.0), filename="package://arms/arm.stl", folder=str(tmp_path / "x"))
    assert find_mesh(shape) is None
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "ros"))
    assert find_mesh(shape) == mesh
    assert find_mesh(replace(shape, filename=f"file://{mesh}")) == mesh


def test_without_trimesh_plain_shapes_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "arm.stl")
    robot = _urdf(tmp_path, MESH.format(file=tmp_path / "arm.stl", more="") + BALL)
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.warns(hc.DoubtfulModelWarning, match=r"needs trimesh: pip install 'helicoid\[view\]'"):
        assert _size(robot).shape == (3,)


def test_a_missing_mesh_is_reported_and_replaced(tmp_path: Path) -> None:
    robot = _urdf(tmp_path, MESH.format(file="package://arms/arm.stl", more="") + BALL)
    with pytest.warns(
        hc.DoubtfulModelWarning, match=r"package://arms/arm.stl: not found; say where: .*'arms': folder"
    ):
        np.testing.assert_allclose(_size(robot), 0.6, rtol=0.01)
    robot = _urdf(tmp_path, MESH.format(file="arm.stl", more=""))
    with pytest.warns(hc.DoubtfulModelWarning, match="arm.stl: not found; plain"):
        assert visual_parts(robot)


def test_a_file_that_is_no_mesh_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.glb").write_bytes(b"no mesh at all")
    with pytest.raises(hc.HelicoidError, match=r"bad\.glb: cannot be read"):
        read_mesh(tmp_path / "bad.glb")
    (tmp_path / "empty.obj").write_text("v 0 0 0\n")
    with pytest.raises(hc.HelicoidError, match=r"empty\.obj: holds no triangles"):
        read_mesh(tmp_path / "empty.obj")


def test_colors_of_the_description_come_before_those_of_the_file(tmp_path: Path) -> None:
    mesh = trimesh.creation.box((1, 1, 1))
    mesh.visual.face_colors = [0, 255, 0, 255]
    (tmp_path / "urdf").mkdir()
    mesh.export(tmp_path / "urdf" / "arm.ply")
    plain = _urdf(tmp_path, MESH.format(file="arm.ply", more=""))
    assert visual_parts(plain)[0].color == pytest.approx((0, 1, 0, 1))
    red = '<material name="red"><color rgba="1 0 0 0.5"/></material>'
    assert visual_parts(_urdf(tmp_path, MESH.format(file="arm.ply", more=red)))[0].color == (1, 0, 0, 0.5)


def test_collision_shapes_are_drawn_apart(tmp_path: Path) -> None:
    box = "<visual><geometry><box size='1 1 1'/></geometry></visual>"
    robot = _urdf(tmp_path, box + BALL)
    np.testing.assert_allclose(_size(robot), 1.0)
    assert np.ptp(collision_parts(robot)[0].triangles.vertices[:, 2]) == pytest.approx(0.6)


def test_capsules_are_drawn_around_what_they_hold() -> None:
    robot = hc.load("planar_2r")
    shapes, held = capsule_parts(robot), visual_parts(robot)
    assert {part.body for part in shapes} == {part.body for part in held}
    poses = body_poses(robot, robot.neutral())[None]
    (low, high), (inner_low, inner_high) = bounds(shapes, poses), bounds(held, poses)
    assert np.all(low < inner_low + 1e-3) and np.all(high > inner_high - 1e-3)
    bare = hc.load('<robot name="bare"><link name="only"/></robot>')
    with pytest.warns(hc.DoubtfulModelWarning, match="no capsules are drawn: .* has no visual geometry"):
        assert capsule_parts(bare) == []


@pytest.mark.parametrize(
    ("file", "warned"),
    [
        ("{outside}", True),
        ("file://{outside}", True),
        ("../../secret.stl", True),
        ("package://my_robot/../secret.stl", True),
        ("../meshes/arm.stl", False),
        ("package://my_robot/meshes/arm.stl", False),
        ("file://{inside}", False),
    ],
)
def test_a_mesh_outside_of_its_package_is_reported(tmp_path: Path, file: str, warned: bool) -> None:
    package = tmp_path / "my_robot"
    inside, outside = package / "meshes" / "arm.stl", tmp_path / "secret.stl"
    (package / "urdf").mkdir(parents=True)
    (package / "package.xml").touch()
    inside.parent.mkdir()
    for path in (inside, outside):
        trimesh.creation.box((0.1, 0.2, 0.3)).export(path)
    name = file.format(inside=inside, outside=outside)
    shape = Geometry("mesh", (1.0, 1.0, 1.0), filename=name, folder=str(package / "urdf"))
    told = pytest.warns(DoubtfulModelWarning, match=r"secret\.stl, outside of") if warned else nullcontext()
    with told, warnings.catch_warnings():
        if not warned:
            warnings.simplefilter("error")
        found = find_mesh(shape)
    assert found is not None
    assert found.samefile(outside if warned else inside)


@pytest.mark.parametrize("package", ["..", ".", ""])
def test_a_package_has_a_name(tmp_path: Path, package: str) -> None:
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "arm.stl")
    shape = Geometry(
        "mesh", (1.0, 1.0, 1.0), filename=f"package://{package}/arm.stl", folder=str(tmp_path / "x")
    )
    assert find_mesh(shape) is None


def test_a_mesh_of_a_package_that_was_named_is_not_warned_of(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "here").mkdir()
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "elsewhere" / "arm.stl")
    file = tmp_path / "here" / "robot.urdf"
    file.write_text(URDF.format(shapes=MESH.format(file="package://arms/arm.stl", more="")))
    robot = hc.load(file, packages={"arms": tmp_path / "elsewhere"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        visual_parts(robot)
