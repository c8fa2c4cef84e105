"""From a name, a path or a text to a robot."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid.model import bundled
from random_trees import assert_close, state

PENDULUM = """<?xml version="1.0"?>
<robot name="swing">
  <link name="frame"/>
  <link name="rod">
    <inertial>
      <origin xyz="0 0 -0.5"/><mass value="2"/>
      <inertia ixx="0.2" iyy="0.2" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual>
      <geometry><mesh filename="package://swing_description/meshes/rod.stl"/></geometry>
    </visual>
    <collision>
      <geometry><mesh filename="package://elsewhere/rod.stl"/></geometry>
    </collision>
  </link>
  <joint name="pivot" type="continuous">
    <parent link="frame"/><child link="rod"/><axis xyz="0 1 0"/>
  </joint>
</robot>"""


def test_path_text_and_name_give_the_same_robot() -> None:
    path = bundled.path("ur5")
    robots = [hc.load(path), hc.load(str(path)), hc.load(bundled.text("ur5")), hc.load("ur5")]
    q, v, a = state(robots[0], 0)
    for robot in robots:
        np.testing.assert_array_equal(robot.inverse_dynamics(q, v, a), robots[0].inverse_dynamics(q, v, a))
        assert robot.joint_names == robots[0].joint_names


@pytest.mark.parametrize("start", ["", "\n\t ", "\ufeff", "<!-- a comment first -->"])
def test_text_is_recognised_by_its_first_sign(start: str) -> None:
    text = PENDULUM.partition("?>")[2].lstrip()
    robot = hc.load(start + text)
    assert (robot.name, robot.nv) == ("swing", 1)
    # A compound pendulum about its pivot: I + m l², m g l sin q.
    assert_close(robot.mass_matrix([0.0]), [[0.2 + 2 * 0.5**2]])
    assert_close(robot.gravity([0.3]), [2 * 9.81 * 0.5 * np.sin(0.3)])


def test_file_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is found by its bare name, with or without an ending."""
    monkeypatch.chdir(tmp_path)
    for name in ("swing.urdf", "swing"):
        Path(name).write_text(PENDULUM)
        assert hc.load(name).name == hc.load(Path(name)).name == "swing"


def test_bundled_name_wins_over_a_file_but_a_path_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("panda").write_text(PENDULUM)
    assert hc.load("panda").name == "panda"
    assert hc.load(Path("panda")).name == hc.load(os.path.join(".", "panda")).name == "swing"


@pytest.mark.parametrize("name", hc.robots())
def test_bundled_robots_raise_no_doubts(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = hc.load(name)
    assert robot.name == name


@pytest.mark.parametrize("name", ["quadruped", "ur5", "panda", "kuka_lwr4"])
def test_bundled_robots_that_can_float(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = hc.load(name, base="floating")
    assert robot.nv == hc.load(name).nv + 6
    weight = robot.gravity(robot.neutral())[:6]
    mass = sum(body.inertia.mass for body in robot.model.bodies)
    assert_close(weight[3:], [0, 0, mass * 9.81])


def test_list_of_robots_is_ours_to_change() -> None:
    hc.robots().clear()
    assert {"panda", "ur5", "snake", "quadruped"} <= set(hc.robots())


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("pnda", hc.ModelError, "no bundled robot is called 'pnda'; did you mean 'panda'"),
        ("zebra", hc.ModelError, "no bundled robot is called 'zebra'; known: double_pendulum, kuka_lwr4"),
        ("x" * 5000, hc.ModelError, "no bundled robot is called"),
        ("nowhere/robot.urdf", hc.RobotDescriptionError, "nowhere/robot.urdf: there is no such file"),
        ("robot.urdf", hc.RobotDescriptionError, "robot.urdf: there is no such file"),
        (Path("robot"), hc.RobotDescriptionError, "robot: there is no such file"),
        (".", hc.RobotDescriptionError, "is a folder, not a file"),
        ("", hc.ModelError, "no bundled robot is called ''"),
        ("<robot", hc.RobotDescriptionError, "<text>"),
        ("<html/>", hc.RobotDescriptionError, "<text>"),
        (None, hc.InputError, "MuJoCo model, not NoneType"),
        (b"panda", hc.InputError, "not bytes"),
        (7, hc.InputError, "not int"),
    ],
)
def test_what_cannot_be_loaded(source: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hc.load(source)  # type: ignore[arg-type]


@pytest.mark.parametrize("base", ["flying", "Fixed", None, True, []])
def test_base_is_one_of_two(base: object) -> None:
    with pytest.raises(hc.InputError, match="base is 'fixed' or 'floating', got"):
        hc.load("panda", base=base)  # type: ignore[arg-type]


def test_packages_say_where_meshes_are(tmp_path: Path) -> None:
    robot = hc.load(PENDULUM, packages={"swing_description": tmp_path, "unused": "elsewhere"})
    rod = robot.model.link("rod")
    assert rod.visuals[0].filename == str(tmp_path / "meshes" / "rod.stl")
    assert rod.collisions[0].filename == "package://elsewhere/rod.stl"  # not asked for: left as it is
    assert hc.load(PENDULUM).model.link("rod").visuals[0].filename.startswith("package://")
    assert_close(robot.mass_matrix([0.0]), hc.load(PENDULUM).mass_matrix([0.0]))


@pytest.mark.parametrize("n", [1, 6, pytest.param(60, marks=pytest.mark.slow)])
def test_serial_chain(n: int) -> None:
    robot = hc.serial_chain(n)
    assert (robot.nq, robot.nv, robot.n_bodies) == (n, n, n)
    assert robot.joint_names == [f"joint_{i + 1}" for i in range(n)]
    q, v, a = state(robot, n)
    tau = robot.inverse_dynamics(q, v, a)
    assert_close(robot.forward_dynamics(q, v, tau), a, 1e-8)


def test_serial_chain_of_six_moves_like_the_ur5() -> None:
    chain, ur5 = hc.serial_chain(6), hc.load("ur5")
    q, v, a = state(ur5, 1)
    assert_close(chain.inverse_dynamics(q, v, a), ur5.inverse_dynamics(q, v, a))
    assert_close(chain.pose("tool0")(q), ur5.pose("tool0")(q))


@pytest.mark.parametrize("n", [0, -1, 1.5, "6", None])
def test_serial_chain_needs_a_count(n: object) -> None:
    with pytest.raises(hc.InputError, match="whole number of joints, 1 or more"):
        hc.serial_chain(n)  # type: ignore[arg-type]
