"""Attach, detach, rename and other bases: identities over random trees, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid.model.joints import TYPES, Prismatic
from helicoid.model.urdf.writer import to_urdf_text
from random_trees import assert_close, few, models, placement, rotation, seeds, state


def matrix(T: Any) -> Any:
    return np.vstack([np.c_[T.rotation, T.translation], [0, 0, 0, 1]])


@few
@given(models(max_bodies=3), models(max_bodies=3), seeds)
def test_attached_and_detached_is_the_same_robot(first: Any, second: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = hc.Robot(first), hc.Robot(second)
    kind = rng.choice([*TYPES])
    joint = None if rng.random() < 0.3 else str(kind)
    both = one.attach(other, str(rng.choice(one.link_names)), matrix(placement(rng)), "b_", joint)
    on_world = both.model.frame("b_base").body == -1  # the base itself does not move then
    carried = hc.with_base(other, "fixed" if on_world else "floating").mass
    assert both.mass == pytest.approx(one.mass + carried)
    assert to_urdf_text(both.detach("b_base").model) == to_urdf_text(one.model)
    assert [n for n in both.joint_names if n in one.joint_names] == one.joint_names


@few
@given(models(max_bodies=3, floating=False), seeds)
def test_a_robot_on_the_world_moves_as_alone(model: Any, seed: int) -> None:
    """Beside a robot in the world: its own block of M, the same bias; with it, nothing couples."""
    one, other = hc.load("planar_2r"), hc.Robot(model)
    both = one.attach(other, "world", matrix(placement(np.random.default_rng(seed))), prefix="b_")
    at = state(both, seed)
    M = both.mass_matrix(at.q)
    assert_close(M[:2, 2:], np.zeros((2, other.nv)))
    assert_close(M[2:, 2:], other.mass_matrix(at.q[2:]))
    T = both.pose("b_base")(at.q)
    down = T[:3, :3].T @ [0, 0, -9.81]
    assert_close(both.bias(at.q, at.v)[2:], other.bias(at.q[2:], at.v[2:], gravity=down))


def test_a_second_floating_robot_in_the_world_of_a_floating_one() -> None:
    drone = hc.load("quadruped", base="floating")
    both = drone.attach(drone, "world", prefix="b_", joint="floating")
    assert both.joint_names[0] == "floating_base" and both.nv == 2 * drone.nv
    at = state(drone, 0)
    M = both.mass_matrix(np.r_[at.q, at.q])
    assert_close(M[: drone.nv, : drone.nv], drone.mass_matrix(at.q))
    assert_close(M[drone.nv :, drone.nv :], drone.mass_matrix(at.q))
    assert_close(M[drone.nv :, : drone.nv], np.zeros((drone.nv, drone.nv)))
    assert both.motor_joints == [*drone.motor_joints, *(f"b_{name}" for name in drone.motor_joints)]


def test_joints_are_depth_first_after_the_children_of_the_link() -> None:
    arm = hc.load("planar_2r")
    both = arm.attach(arm, "link_1", prefix="b_").attach(arm, "base_link", prefix="c_", joint="prismatic")
    expected = ["joint_1", "joint_2", "b_joint_1", "b_joint_2", "c_base_link_joint", "c_joint_1", "c_joint_2"]
    assert both.joint_names == expected


def test_a_planar_base_moves_in_the_plane_as_a_floating_one() -> None:
    """The kinetic energy of a planar base is that of a floating base that moves alike."""
    ur5 = hc.load("ur5")
    planar, floating = hc.with_base(ur5, "planar"), hc.with_base(ur5, "floating")
    rng = np.random.default_rng(1)
    q, v, (x, y, angle) = rng.normal(size=6), rng.normal(size=9), rng.normal(size=3)
    c, s = np.cos(angle), np.sin(angle)
    body = [0, 0, v[2], c * v[0] + s * v[1], -s * v[0] + c * v[1], 0]
    half = [np.cos(angle / 2), 0, 0, np.sin(angle / 2)]
    ours = planar.kinetic_energy(np.r_[x, y, angle, q], v)
    assert ours == pytest.approx(
        floating.kinetic_energy(np.r_[x, y, 0, half, q], np.r_[body, v[3:]]), rel=1e-12
    )
    assert hc.with_base(floating, "fixed").nv == 6
    np.testing.assert_array_equal(hc.load("ur5", base="floating").neutral(), floating.neutral())


def test_everything_comes_along(tmp_path: Path) -> None:
    hand = hc.load("planar_2r").with_joints(
        damping=0.3, friction=0.2, armature=0.1, stiffness=2.0, offset=0.1
    )
    hand = hand.with_spring("world", "link_1", 250.0, 0.4, point_a=(0, 0, 1), point_b=(0.5, 0, 0))
    hand = hand.close_loop("base_link", "tip", "point", origin_a=(1, 0, 1)).with_actuators("joint_1")
    T = np.eye(4)
    T[:3, :3] = rotation(np.random.default_rng(2))
    both = hc.load("ur5").attach(hand, "tool0", T, prefix="h_")
    assert both.motor_joints == [*hc.load("ur5").joint_names, "h_joint_1"]
    assert [one.name for one in both.constraints] == ["h_base_link_tip"]
    assert both.model.elastic[0].links == ("h_base_link", "h_link_1")
    own = both.limits.effort[6:], both.limits.upper[6:]
    np.testing.assert_array_equal(own, [hand.limits.effort, hand.limits.upper])
    # The hand's gravity-free forces are its own, wherever the arm holds it still.
    q, v = np.array([0.3, -0.4]), np.array([0.5, 0.7])
    none = [0, 0, 0]
    alone = hand.inverse_dynamics(q, v, 0 * v, friction=True, gravity=none)
    arm = np.full(6, 0.4)
    held = both.inverse_dynamics(np.r_[arm, q], np.r_[0 * arm, v], np.zeros(8), friction=True, gravity=none)
    assert_close(held[6:], alone)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.DoubtfulModelWarning)
        both.to_urdf(tmp_path / "both.urdf")
        read = hc.load(tmp_path / "both.urdf")
    at = state(both, 3)
    assert_close(read.inverse_dynamics(*at, friction=True), both.inverse_dynamics(*at, friction=True))
    assert_close(read.constraint_position(at.q), both.constraint_position(at.q))


def test_names_that_clash_propose_a_prefix() -> None:
    arm = hc.load("planar_2r")
    with pytest.raises(hc.ModelError, match=r"links of the same name: 'base_link'.*prefix='planar_2r_'"):
        arm.attach(arm, "tip")
    twice = arm.attach(arm, "tip", prefix="planar_2r_")
    with pytest.raises(hc.ModelError, match=r"prefix='planar_2r2_'"):
        twice.attach(arm, "tip")
    assert twice.attach(arm, "tip", prefix="planar_2r2_").nv == 6


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"to": "tipp"}, "did you mean 'tip'"),
        ({"to": "tip", "pose": np.ones((4, 4))}, "is no pose"),
        ({"to": "tip", "joint": "slider"}, "joint type"),
        ({"to": "tip", "prefix": 3}, "prefix is a text"),
        ({"to": "tip", "other": "ur5"}, "takes a robot"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], text: str) -> None:
    arm = hc.load("planar_2r")
    with pytest.raises(hc.HelicoidError, match=text):
        arm.attach(**{"other": arm, "prefix": "b_"} | arguments)


def test_what_cannot_come_along_is_refused() -> None:
    arm = hc.load("planar_2r")
    with pytest.raises(hc.ModelError, match="constraints beside its loops"):
        arm.attach(arm.with_contact("tip", kind="normal"), "tip", prefix="b_")
    with pytest.raises(hc.ModelError, match="parametric"):
        arm.attach(arm.parametric("inertia"), "tip", prefix="b_")
    floats = hc.load("planar_2r", base="floating").with_spring("world", "tip", 10.0)
    with pytest.raises(hc.ModelError, match="ends in the world"):
        arm.attach(floats, "tip", prefix="b_")
    with pytest.raises(hc.ModelError, match="nothing is left"):
        arm.detach("base_link")
    with pytest.raises(hc.ModelError, match="cut the loop"):
        arm.close_loop("base_link", "tip", "point", origin_a=(1, 0, 1)).detach("tip")


def test_renamed_robots_keep_contacts_equations_actuators_and_theta() -> None:
    arm = hc.load("planar_2r").with_contact("tip", kind="normal").constrain(holonomic=lambda q: q[0] - q[1])
    arm = arm.with_actuators("joint_2").parametric("payload", payload_link="tip")
    other = arm.rename(links={"tip": "tool"}, joints={"joint_2": "elbow"}, prefix="left_", name="left")
    assert other.name == "left" and other.joint_names == ["left_joint_1", "elbow"]
    assert other.motor_joints == ["elbow"] and other.theta.payload_link == "tool"
    q = np.array([0.3, 0.8])
    np.testing.assert_array_equal(other.constraint_position(q), arm.constraint_position(q))
    with pytest.raises(hc.ModelError, match="did you mean 'tip'"):
        arm.rename(links={"tp": "x"})
    with pytest.raises(hc.ModelError, match="two links are called 'base_link'"):
        arm.rename(links={"tip": "base_link"})
    with pytest.raises(hc.InputError, match="maps old names"):
        arm.rename(links="tip")  # type: ignore[arg-type]


def test_a_rail_by_a_joint_type() -> None:
    rail = hc.with_base(hc.load("ur5"), Prismatic((0, 1, 0)))
    assert rail.joint_names[0] == "prismatic_base" and rail.model.root == "world"
    M = rail.mass_matrix(np.zeros(7))
    base = hc.load("ur5").model.links[0].inertia
    assert M[0, 0] == pytest.approx(rail.mass) and rail.mass >= hc.load("ur5").mass + (
        base.mass if base else 0
    )
