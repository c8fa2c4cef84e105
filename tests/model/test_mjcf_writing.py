"""Robots written as MJCF: MuJoCo computes the same dynamics, and what is lost is named."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid.model.connections.semantics import Semantics
from helicoid.model.inertia import Inertia
from helicoid.model.joint_type import JointType
from helicoid.model.joints import Floating, Spherical
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link
from random_trees import KINDS, assert_close, few, inertia, joint_type, models, placement, state
from written_mjcf import WrittenRobot


def uniform(model: Model) -> Model:
    """The model whose balls have one number for all axes, and whose floating joints have no armature."""
    joints = []
    for joint in model.joints:
        if joint.type.quaternion is not None:
            J = 0.0 if joint.type.nv == 6 else joint.armature[0]
            same = {"damping": joint.damping[:1], "armature": np.array([J]), "friction": np.zeros(1)}
            joint = replace(joint, **same)
        joints.append(joint)
    return model.replaced(joints=joints)


def loaded(robot: hc.Robot, folder: Path) -> mujoco.MjModel:
    robot.to_mjcf(folder / "robot.xml")
    return mujoco.MjModel.from_xml_path(str(folder / "robot.xml"))


@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
@given(models(max_bodies=4))
@few
def test_dynamics_of_random_trees(tmp_path_factory: pytest.TempPathFactory, model: Model) -> None:
    robot = hc.Robot(uniform(model))
    written = WrittenRobot(robot, tmp_path_factory.mktemp("tree"))
    q, v, a = state(robot, 1)
    theirs = written.answer(q, v, a)
    assert_close(robot.mass_matrix(q), theirs.mass_matrix)
    assert_close(robot.bias(q, v), theirs.bias)
    assert_close(robot.inverse_dynamics(q, v, a), theirs.inverse_dynamics)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inside", [False, True])
def test_springs_and_damping_of_every_joint_type(
    kind: str, inside: bool, tmp_path: Path, rng: np.random.Generator
) -> None:
    own: JointType = joint_type(kind, rng)
    single = isinstance(own, (Spherical, Floating))
    k = np.full(own.nv, 3.0) if single else rng.uniform(1, 5, own.nv)
    numbers = {"damping": np.full(own.nv, 0.4), "stiffness": 0 * k if kind == "floating" else k}
    rest = own.neutral() if single else rng.normal(size=own.nq)
    links = [Link(name, inertia(rng)) for name in ("base", "middle", "end")]
    joints = [
        Joint("first", joint_type("revolute", rng), "base", "middle", placement(rng)),
        Joint("own", own, "middle" if inside else "base", "end", placement(rng), rest=rest, **numbers),
    ]
    robot = hc.Robot(Model("one", tuple(links), tuple(joints)))
    written = WrittenRobot(robot, tmp_path, damping=True)
    q, v, a = state(robot, rng)
    ours = robot.inverse_dynamics(q, v, a, friction=True)
    assert_close(ours, written.answer(q, v, a).inverse_dynamics)


def test_elastic_elements_are_tendons(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = hc.load("double_pendulum").with_joints(damping=0, friction=0)
    link = robot.link_names[-1]
    robot = robot.with_spring(link, "world", 300.0, 0.2, 5.0, point_a=(0, 0.1, 0.3), point_b=(1, 0, 1))
    written = WrittenRobot(robot, tmp_path, damping=True)
    q, v, a = state(robot, rng)
    theirs = written.answer(q, v, a).inverse_dynamics
    assert_close(robot.inverse_dynamics(q, v, a, friction=True), theirs)
    assert np.abs(robot.elastic_torque(q)).max() > 1


@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
@pytest.mark.parametrize(("kind", "rank"), [("point", 3), ("line", 5), ("pose", 6)])
def test_loops_are_equalities_with_the_same_free_directions(
    kind: str, rank: int, tmp_path: Path, rng: np.random.Generator
) -> None:
    bare = hc.load("panda")
    bare = bare.lock({name: 0.0 for name in bare.joint_names[7:]})
    q = bare.random(rng)
    robot = bare.close_loop("panda_link0", "panda_link7", kind, bare.pose("panda_link7")(q))  # type: ignore[arg-type]
    model = loaded(robot, tmp_path)
    model.dof_frictionloss[:] = model.jnt_limited[:] = 0
    data = mujoco.MjData(model)
    data.qpos[:] = q
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.efc_pos, 0.0, atol=1e-12)
    theirs, ours = data.efc_J.reshape(-1, 7), robot.constraint_jacobian(q)
    assert np.linalg.matrix_rank(theirs, tol=1e-9) == rank
    assert_close(np.linalg.pinv(theirs, rcond=1e-9) @ theirs, np.linalg.pinv(ours) @ ours, 1e-8)


def test_joints_keep_their_numbers(tmp_path: Path) -> None:
    robot = hc.load("ur5").with_joints(
        damping=2.0, friction=[6, 5, 4, 3, 2, 1], armature=0.3, effort={"elbow_joint": 44.0}
    )
    with pytest.warns(hc.DoubtfulModelWarning, match="velocity limit of joint 'elbow_joint'"):
        model = loaded(robot, tmp_path)
    np.testing.assert_array_equal(model.dof_damping, 2.0)
    np.testing.assert_array_equal(model.dof_frictionloss, [6, 5, 4, 3, 2, 1])
    np.testing.assert_array_equal(model.dof_armature, 0.3)
    np.testing.assert_array_equal(model.jnt_range, np.transpose(robot.limits[:2]))
    np.testing.assert_array_equal(model.actuator("elbow_joint").forcerange, [-44.0, 44.0])
    np.testing.assert_array_equal(model.opt.gravity, [0, 0, -9.81])
    assert model.nu == 6


def test_frames_are_sites(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = hc.load("panda", base="floating").with_frame("tcp", "panda_link8", [0.1, 0.2, 0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.DoubtfulModelWarning)
        model = loaded(robot, tmp_path)
    data, q = mujoco.MjData(model), robot.random(rng)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    for name in ("tcp", "panda_link8"):
        T = robot.pose(name)(q)
        np.testing.assert_allclose(data.site(name).xpos, T[:3, 3], atol=1e-12)
        np.testing.assert_allclose(data.site(name).xmat.reshape(3, 3), T[:3, :3], atol=1e-12)


def test_what_is_lost_is_named(tmp_path: Path) -> None:
    robot = hc.load("planar_2r").with_joints(friction=0.5, static_friction=1.0, root={"joint_2": 0.1})
    robot = robot.with_contact("tip", kind="normal", name="table")
    with pytest.warns(hc.DoubtfulModelWarning) as caught:
        robot.to_mjcf(tmp_path / "robot.xml")
    text = str(caught[0].message)
    for part in ("static friction of joint 'joint_1'", "root, static friction of joint 'joint_2'", "'table'"):
        assert part in text


def test_inertia_that_no_body_has_is_replaced_by_the_nearest_and_named(tmp_path: Path) -> None:
    robot = hc.load("planar_2r")
    wrong = replace(robot.model.links[1], inertia=Inertia.from_com(1.0, (0, 0, 0), np.diag([1, 2, 5.0])))
    links = [wrong if link.name == wrong.name else link for link in robot.model.links]
    with pytest.warns(hc.DoubtfulModelWarning, match="moments of inertia 1, 2, 5"):
        model = loaded(robot.with_model(robot.model.replaced(links=links)), tmp_path)
    assert_close(np.sort(model.body(wrong.name).inertia), [2.0, 3.0, 5.0])


def test_collision_shapes_keep_their_sizes_and_places(tmp_path: Path) -> None:
    text = """<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><origin xyz="1 2 3"/><geometry><box size="2 4 6"/></geometry></collision>
      <collision><geometry><cylinder radius="0.1" length="0.8"/></geometry></collision>
      <collision><geometry><capsule radius="0.2" length="0.6"/></geometry></collision>
      <collision><geometry><sphere radius="0.3"/></geometry></collision>
      <collision><geometry><mesh filename="nowhere.stl"/></geometry></collision></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""
    with pytest.warns(hc.DoubtfulModelWarning, match=r"a mesh of link 'arm' \(nowhere.stl\)"):
        model = loaded(hc.load(text), tmp_path)
    kinds = mujoco.mjtGeom
    assert list(model.geom_type) == [
        kinds.mjGEOM_BOX,
        kinds.mjGEOM_CYLINDER,
        kinds.mjGEOM_CAPSULE,
        kinds.mjGEOM_SPHERE,
    ]
    np.testing.assert_allclose(model.geom_size, [[1, 2, 3], [0.1, 0.4, 0], [0.2, 0.3, 0], [0.3, 0, 0]])
    np.testing.assert_allclose(model.geom_pos[0], [1, 2, 3])


def test_a_mesh_is_its_convex_hull(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.icosphere(radius=0.3).export(tmp_path / "ball.stl")
    text = """<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><origin xyz="0.5 0 0"/><geometry><mesh filename="ball.stl"/></geometry></collision></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""
    (tmp_path / "r.urdf").write_text(text)
    model = loaded(hc.load(tmp_path / "r.urdf"), tmp_path)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.geom_xpos[0], [0.5, 0, 0], atol=1e-6)
    np.testing.assert_allclose(model.geom_aabb[0], [0, 0, 0, 0.3, 0.3, 0.3], atol=0.01)


def with_semantics(robot: hc.Robot, **about: object) -> hc.Robot:
    return robot.with_model(replace(robot.model, semantics=Semantics(**about)))  # type: ignore[arg-type]


def test_disabled_collisions_are_exclusions(tmp_path: Path) -> None:
    text = """<robot name="r"><link name="base"><collision><geometry><sphere radius="1"/></geometry>
      </collision></link>{links}</robot>"""
    link = """<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
      iyz="0"/></inertial><collision><geometry><sphere radius="1"/></geometry></collision></link>
      <joint name="j{k}" type="continuous"><parent link="{on}"/><child link="l{k}"/></joint>"""
    chain = "".join(link.format(k=k, on=f"l{k - 1}" if k else "base") for k in range(4))
    robot = hc.load(text.format(links=chain))
    model = loaded(with_semantics(robot, disabled=frozenset({frozenset({"l0", "l2"})})), tmp_path)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    touching = {
        frozenset(model.body(model.geom_bodyid[geom]).name for geom in data.contact.geom[k])
        for k in range(data.ncon)
    }
    # Not: base-l0, by a joint to what stands still; l0-l1, l1-l2, l2-l3, by joints; l0-l2, disabled.
    assert touching == {frozenset(pair) for pair in [("base", "l1"), ("base", "l2"), ("base", "l3")]} | {
        frozenset(pair) for pair in [("l0", "l3"), ("l1", "l3")]
    }


def test_postures_are_keyframes_and_are_read_back(tmp_path: Path) -> None:
    bare = hc.load("planar_2r").with_joints(velocity=np.inf)
    robot = with_semantics(bare, postures={"ready": {"joint_1": (0.4,), "joint_2": (-0.7,)}})
    robot.to_mjcf(tmp_path / "robot.xml")
    np.testing.assert_allclose(hc.load(tmp_path / "robot.xml").keyframes["ready"].q, [0.4, -0.7])


@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
@given(models(max_bodies=4, kinds=("revolute", "prismatic", "planar", "universal", "spherical")))
@few
def test_reading_the_file_gives_the_same_dynamics(
    tmp_path_factory: pytest.TempPathFactory, model: Model
) -> None:
    """These joint types have the same coordinates after a round trip, though planar ones become three."""
    robot = hc.Robot(uniform(model))
    path = tmp_path_factory.mktemp("tree") / "robot.xml"
    robot.to_mjcf(path)
    again = hc.load(path)
    q, v, a = state(robot, 1)
    assert_close(again.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a))
    assert_close(again.mass_matrix(q), robot.mass_matrix(q))
