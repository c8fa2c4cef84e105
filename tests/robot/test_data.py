"""Properties of a robot: mass, indices of joints, random configurations; frames of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from random_trees import assert_close, fewer, robots, seeds, state

PLANAR = hc.load("planar_2r")


@fewer
@given(robots(max_bodies=3), seeds)
def test_mass_is_what_the_momentum_has(robot: hc.Robot, seed: int) -> None:
    """Linear momentum is the mass times the velocity of the center of mass."""
    q, v = state(robot, seed)[:2]
    linear = robot.centroidal_momentum(q, v)[3:]
    assert_close(robot.mass * robot.com_jacobian(q) @ v, linear, 1e-9)


def test_a_fixed_base_is_not_part_of_what_moves() -> None:
    fixed, floating = hc.load("ur5"), hc.load("ur5", base="floating")
    assert fixed.mass == pytest.approx(17.05, abs=0.01)
    assert floating.mass == pytest.approx(18.4, abs=0.01)  # the catalogue's, with the base


def test_places_of_joints() -> None:
    dog = hc.load("quadruped", base="floating")
    q, v = dog.random(0), np.arange(float(dog.nv))
    parts = [dog.index(name) for name in dog.joint_names]
    np.testing.assert_array_equal(np.concatenate([q[own] for own, _ in parts]), q)
    np.testing.assert_array_equal(np.concatenate([v[own] for _, own in parts]), v)
    with pytest.raises(hc.ModelError, match="no moving joint of 'planar_2r' is called 'joint_3'"):
        PLANAR.index("joint_3")


def test_a_mimic_is_where_it_follows() -> None:
    arm = hc.serial_chain(2)
    drives = dict.fromkeys(arm.joint_names, hc.Drive(gear_ratio=50, rotor_inertia=1e-6))
    geared = arm.with_drives(drives, full_rotor=True)
    follower = next(joint for joint in geared.model.joints if joint.mimic is not None)
    assert follower.mimic is not None
    assert geared.index(follower.name) == geared.index(follower.mimic.joint)


@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_many_random_configurations(base: str) -> None:
    dog = hc.load("quadruped", base=base)  # type: ignore[arg-type]
    Q = dog.random(1, size=500)
    assert Q.shape == (500, dog.nq)
    assert np.all((dog.limits.lower <= Q) & (dog.limits.upper >= Q))
    if base == "floating":
        assert_close(np.linalg.norm(Q[:, 3:7], axis=1), np.ones(500), 1e-14)
        # Uniform over rotations: no axis is preferred.
        assert np.abs(np.mean(Q[:, 3:7], axis=0)).max() < 5 * 0.5 / np.sqrt(500)
    joints = Q[:, 7:] if base == "floating" else Q
    lower, upper = (limit[-joints.shape[1] :] for limit in (dog.limits.lower, dog.limits.upper))
    share = (joints - lower) / (upper - lower)
    assert np.all(np.abs(share.mean(axis=0) - 0.5) < 5 / np.sqrt(12 * 500))
    assert np.linalg.matrix_rank(Q - Q.mean(axis=0)) == Q.shape[1]  # samples and coordinates are independent
    assert dog.random(1, size=0).shape == (0, dog.nq)
    np.testing.assert_array_equal(dog.random(np.random.default_rng(1), size=500), Q)


@pytest.mark.parametrize(
    "wrong", [{"size": -1}, {"size": 2.5}, {"size": "many"}, {"rng": "abc"}, {"rng": -1}]
)
def test_wrong_draws_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(hc.InputError, match=f"random: {next(iter(wrong))} is a .* got"):
        PLANAR.random(**wrong)


def test_notebooks_show_a_table_of_joints() -> None:
    shown = hc.load("double_pendulum", base="fixed")._repr_html_()
    for name in hc.load("double_pendulum").joint_names:
        assert f"<td>{name}</td>" in shown
    odd = hc.load('<robot name="a&lt;b"><link name="top"/></robot>')
    assert "a&lt;b" in odd._repr_html_() and "<b>a<b" not in odd._repr_html_()


# --- frames of one's own ----------------------------------------------------------------------------


def test_a_frame_sits_where_it_is_put(rng: np.random.Generator) -> None:
    T = np.array([[0.0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]])
    robot = PLANAR.with_frame("tcp", "tip", T)
    q, v = rng.normal(size=(2, 2))
    assert_close(robot.pose("tcp")(q), PLANAR.pose("tip")(q) @ T)
    ω = robot.velocity("tcp", "world_aligned")(q, v)
    of_link = PLANAR.velocity("tip", "world_aligned")(q, v)
    arm = robot.pose("tcp")(q)[:3, 3] - PLANAR.pose("tip")(q)[:3, 3]
    assert_close(ω[3:], of_link[3:] + np.cross(of_link[:3], arm))
    assert_close(robot.mass_matrix(q), PLANAR.mass_matrix(q))
    assert robot.link_names == [*PLANAR.link_names, "tcp"] and robot.joint_names == PLANAR.joint_names


def test_a_frame_carries_loads_and_more_frames() -> None:
    robot = PLANAR.with_frame("flange", "tip", [0.1, 0, 0]).with_frame("tcp", "flange", [0, 0, 0.2])
    q = np.array([0.2, 0.5])
    loaded = robot.with_payload("tcp", 2.0, [0, 0, 0], np.zeros((3, 3)))
    same = PLANAR.with_payload("tip", 2.0, [0.1, 0, 0.2], np.zeros((3, 3)))
    assert_close(loaded.mass_matrix(q), same.mass_matrix(q))
    parametric = robot.parametric("payload", payload_link="tcp")
    theta = np.array([2.0] + [0.0] * 9)
    assert_close(parametric.mass_matrix(q, theta), same.mass_matrix(q))


def test_a_frame_is_written_and_read(tmp_path: Path) -> None:
    robot = PLANAR.with_frame("tcp", "tip", [0.1, 0.0, -0.2])
    robot.to_urdf(tmp_path / "planar.urdf")
    again = hc.load(tmp_path / "planar.urdf")
    q = np.array([0.2, 0.5])
    assert_close(again.pose("tcp")(q), robot.pose("tcp")(q))
    assert again.model.joint("tcp_joint").child == "tcp"


def test_edits_after_a_frame_keep_it_and_constraints_stay() -> None:
    robot = PLANAR.with_actuators("joint_1").with_contact("tip", kind="normal").with_frame("tcp", "tip")
    assert robot.actuators == ("joint_1",) and len(robot.constraints) == 1
    assert "tcp" in robot.with_joints(damping=1).link_names


@pytest.mark.parametrize(
    ("name", "link", "pose", "message"),
    [
        ("tip", "tip", [0, 0, 0], "has a link called 'tip' already"),
        ("tcp", "tap", [0, 0, 0], "no link of 'planar_2r' is called 'tap'; did you mean 'tip'"),
        ("", "tip", [0, 0, 0], "a frame needs a name"),
        ("tcp", "tip", [0, 0], "its pose"),
        ("tcp", "tip", np.full(3, np.nan), "its pose"),
        ("tcp", "tip", 2 * np.eye(4), "its pose"),
        ("tcp", "tip", "there", "its pose"),
    ],
)
def test_wrong_frames_are_refused(name: str, link: str, pose: object, message: str) -> None:
    with pytest.raises(hc.HelicoidError, match=message):
        PLANAR.with_frame(name, link, pose)  # type: ignore[arg-type]


# --- the package ------------------------------------------------------------------------------------


def test_the_package_lists_what_it_has() -> None:
    assert set(hc.__all__) <= set(dir(hc)) and {"identify", "mpc", "__version__"} <= set(dir(hc))
    assert hc.__version__[0].isdigit()
    for name in hc.__all__:
        assert getattr(hc, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'indentify'"):
        hc.indentify  # noqa: B018
