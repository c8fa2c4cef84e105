"""Scenes read from MoveIt's YAML and text, and from MJCF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.geometry import so3

YAML = """
world:
  collision_objects:
    - id: can
      primitives: [{type: cylinder, dimensions: [0.14, 0.03]}]
      primitive_poses:
        - position: [0.3, -1.0, 0.5]
          orientation: [0, 0, 0.7071067811865476, 0.7071067811865476]
    - id: shelf
      pose: {position: {x: 1, y: 0, z: 0}, orientation: {x: 0, y: 0, z: 0, w: 1}}
      primitives: [{type: 1, dimensions: [1.2, 1, 0.04]}, {type: sphere, dimensions: [0.2]}]
      primitive_poses: [{position: [0, 0, 1]}, {position: [0, 0, 2]}]
    - id: wedge
      meshes: [{vertices: [[0,0,0],[1,0,0],[0,1,0],[0,0,1]], triangles: [[0,2,1],[0,1,3],[0,3,2],[1,2,3]]}]
    - id: floor
      planes: [{coef: [0, 0, 2, 0.5]}]
allowed_collision_matrix:
  entry_names: [can, shelf_link]
  entry_values: [[false, true], [true, false]]
"""
TEXT = """(noname)+
* can
0.3 -1 0.5
0 0 0 1
1
cylinder
0.03 0.14
0 0 0.1
0 0 0 1
0 0 0 0
0
* old
1
box
1 2 3
0 0 1
0 0 0.7071067811865476 0.7071067811865476
0 0 0 0
.
"""
MJCF = """<mujoco><asset>
<hfield name="h" nrow="3" ncol="4" size="1 0.5 0.3 0.1" elevation="0 0 0 0 0 1 1 0 0 0 0 0"/>
</asset><worldbody><geom name="floor" type="plane" size="1 1 0.1"/>
<geom name="ghost" type="box" size="1 1 1" contype="0" conaffinity="0"/>
<body name="table" pos="0.5 0 0.4" euler="0 0 90"><geom type="box" size="0.3 0.6 0.02"/>
<geom name="leg" type="capsule" size="0.02 0.2" pos="0 0 -0.2"/></body>
<geom name="hill" type="hfield" hfield="h" pos="3 0 0"/>
<body name="ball"><freejoint/><geom type="sphere" size="0.1"/></body></worldbody></mujoco>"""


def test_yaml_of_moveit(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "scene.yaml"
    path.write_text(YAML)
    scene = hc.Scene.from_moveit(path)
    assert list(scene.objects) == ["can", "shelf[0]", "shelf[1]", "wedge", "floor"]
    can = scene.objects["can"]
    assert can.shape == hc.Cylinder(radius=0.03, length=0.14)  # MoveIt states the height first
    np.testing.assert_allclose(can.pose[:3, :3], so3.exp([0, 0, np.pi / 2]), atol=1e-12)
    np.testing.assert_allclose(scene.objects["shelf[1]"].pose[:3, 3], [1, 0, 2])
    assert scene.objects["floor"].shape == hc.Plane([0, 0, 1], -0.25)
    assert scene.allowed == {frozenset(("can", "shelf_link"))}
    assert not hc.Scene.from_moveit(path, allowed=False).allowed


def test_text_of_rviz_in_both_versions(tmp_path: Path) -> None:
    path = tmp_path / "table.scene"
    path.write_text(TEXT)
    scene = hc.Scene.from_moveit(path)
    assert scene.objects["can"].shape == hc.Cylinder(0.03, 0.14)
    np.testing.assert_allclose(scene.objects["can"].pose[:3, 3], [0.3, -1, 0.6])
    assert scene.objects["old"].shape == hc.Box([1, 2, 3])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1, 2]", "no planning scene"),
        ("world: {a: 1}", "no `collision_objects`"),
        (YAML.replace("cylinder", "cone"), "a cone is not read"),
        (YAML.replace("[0.14, 0.03]", "[0.14]"), "2 dimensions; got 1"),
        (YAML.replace("[0.14, 0.03]", "[0.14, -0.03]"), "object 'can': the radius"),
        (YAML.replace("[0.3, -1.0, 0.5]", "[0.3, .nan, 0.5]"), "a position"),
        (
            YAML.replace(
                "sphere, dimensions: [0.2]}]", "sphere, dimensions: [0.2]}, {type: 2, dimensions: [1]}]"
            ),
            "but 2",
        ),
        ("a: [", "is no YAML"),
        ("robot_state: {attached_collision_objects: [1]}", "scene.attach"),
    ],
)
def test_invalid_yaml_raises(tmp_path: Path, text: str, told: str) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    with pytest.raises(hc.HelicoidError, match=told):
        hc.Scene.from_moveit(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TEXT.replace("0.03 0.14", "0.03"), "line 7: 2 numbers"),
        (TEXT.replace("\n.\n", "\n"), "ends within"),
        (TEXT.replace("* old", "old"), "begins with"),
        (TEXT.replace("cylinder", "cone"), "a cone is not read"),
    ],
)
def test_invalid_text_raises(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "table.scene"
    path.write_text(text)
    with pytest.raises(hc.HelicoidError, match=told):
        hc.Scene.from_moveit(path)


def test_a_missing_file_raises() -> None:
    with pytest.raises(hc.HelicoidError, match=r"nowhere\.yaml: cannot be read"):
        hc.Scene.from_moveit("nowhere.yaml")


def test_the_world_of_an_mjcf() -> None:
    mujoco = pytest.importorskip("mujoco")
    scene = hc.Scene.from_mjcf(MJCF)
    assert list(scene.objects) == ["floor", "hill", "table", "leg"]
    assert scene.objects["table"].shape == hc.Box([0.6, 1.2, 0.04])
    np.testing.assert_allclose(scene.objects["leg"].pose[:3, 3], [0.5, 0, 0.2])
    assert scene.objects["leg"].shape == hc.Capsule(0.02, 0.4)
    hill: Any = scene.objects["hill"].shape
    np.testing.assert_allclose(hill.bounds, [[-1, -0.5, -0.1], [1, 0.5, 0.3]])
    assert list(hc.Scene.from_mjcf(mujoco.MjModel.from_xml_string(MJCF)).objects) == list(scene.objects)
    with pytest.raises(hc.HelicoidError, match="MuJoCo does not read"):
        hc.Scene.from_mjcf("<mujoco><nothing/></mujoco>")
    egg = '<mujoco><worldbody><geom name="e" type="ellipsoid" size="1 2 3"/></worldbody></mujoco>'
    shape: Any = hc.Scene.from_mjcf(egg).objects["e"].shape
    np.testing.assert_allclose(shape.bounds[1], [1, 2, 3], rtol=0.02)
    compiled = mujoco.MjModel.from_xml_string(egg)
    compiled.geom_type[0] = int(mujoco.mjtGeom.mjGEOM_SDF)
    with pytest.raises(hc.HelicoidError, match="geom 'e' is of the kind 'other'"):
        hc.Scene.from_mjcf(compiled)
