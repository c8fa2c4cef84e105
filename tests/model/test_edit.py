"""Edits change the description, never the physics of what is left."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid.geometry import quaternion
from helicoid.model.inertia import Inertia
from helicoid.model.joint_type import JointType
from helicoid.model.joints import Fixed, Planar, Revolute, Spherical, Universal
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Limits, Link, Mimic
from random_trees import (
    Array,
    assert_close,
    fewer,
    fewest,
    inertia,
    models,
    moving_links,
    robots,
    seeds,
    spans,
    state,
)

Edit = Callable[[hc.Robot], hc.Robot]


@pytest.fixture(scope="module")
def ur5() -> hc.Robot:
    return hc.load("ur5")


def transferred(from_robot: hc.Robot, to_robot: hc.Robot, *vectors: Array) -> list[Array]:
    """q or v-sized vectors of one robot in the order of another, joint by joint; the rest stays neutral."""
    results = []
    for vector in vectors:
        k = 0 if len(vector) == from_robot.nq and vector is vectors[0] else 1
        result = to_robot.neutral() if k == 0 else np.zeros(to_robot.nv)
        own, other = spans(from_robot), spans(to_robot)
        for name in own.keys() & other.keys():
            result[other[name][k]] = vector[own[name][k]]
        results.append(result)
    return results


# --- lock -------------------------------------------------------------------------------------------


@fewer
@given(robots(max_bodies=4), seeds)
def test_lock_is_a_joint_that_does_not_move(robot: hc.Robot, seed: int) -> None:
    """The rows of the others in τ at v = a = 0 of the locked joint, whatever follows it by mimic."""
    names = [name for name in robot.joint_names if name != "floating_base"]
    name = names[seed % len(names)]
    q, v, a = state(robot, seed)
    at_q, at_v = spans(robot)[name]
    locked = robot.lock({name: q[at_q]})
    v[at_v] = a[at_v] = 0.0
    assert locked.joint_names == [one for one in robot.joint_names if one != name]
    assert locked.link_names == robot.link_names
    others = np.delete(np.arange(robot.nv), at_v)
    q_rest = np.delete(q, at_q)
    tau = robot.inverse_dynamics(q, v, a, friction=True)[others]
    assert_close(locked.inverse_dynamics(q_rest, v[others], a[others], friction=True), tau, scale=1.0)
    frame = robot.link_names[-1]
    assert_close(locked.pose(frame)(q_rest), robot.pose(frame)(q), scale=1.0)


def test_lock_several_at_once(ur5: hc.Robot) -> None:
    q, _, _ = state(ur5, 0)
    locked = ur5.lock(dict(zip(ur5.joint_names[1:], q[1:], strict=True)))
    assert locked.joint_names == ["shoulder_pan_joint"] and locked.n_bodies == 1
    assert_close(locked.mass_matrix(q[:1]), ur5.mass_matrix(q)[:1, :1])
    everything = locked.lock({"shoulder_pan_joint": [q[0]]})
    assert everything.nv == 0
    assert_close(everything.pose("tool0")(np.zeros(0)), ur5.pose("tool0")(q))


def test_lock_takes_followers_along() -> None:
    """a -> b -> c by mimics: all three stand where a's value puts them."""
    links = [Link("w"), *(Link(name, inertia(np.random.default_rng(0))) for name in "abc")]
    joints = [
        Joint("ja", Revolute([0, 0, 1]), "w", "a"),
        Joint("jb", Revolute([0, 0, 1]), "a", "b", mimic=Mimic("ja", 2.0, 0.1)),
        Joint("jc", Revolute([0, 0, 1]), "b", "c", mimic=Mimic("jb", -1.0, 0.2)),
    ]
    robot = hc.Robot(Model("gears", tuple(links), tuple(joints)))
    locked = robot.lock({"ja": 0.5})
    assert locked.nv == 0
    assert_close(locked.pose("c")(np.zeros(0)), robot.pose("c")([0.5]))
    with pytest.raises(hc.ModelError, match="joint 'jb' mimics 'ja': lock that one instead"):
        robot.lock({"jb": 0.5})


def test_lock_rounds_a_quaternion_to_unit_length() -> None:
    robot = one_joint(Spherical())
    locked = robot.lock({"joint": [0.7071, 0.0, 0.0, 0.7071]})
    R = locked.pose("body")(np.zeros(0))[:3, :3]
    assert_close(R @ R.T, np.eye(3), 1e-14)


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ({"elbow": 0.0}, "no joint of 'ur5' is called 'elbow'; did you mean 'elbow_joint'"),
        (
            {"elbow_joint": [0.0, 1.0]},
            r"coordinates of joint 'elbow_joint': expected shape \(1,\), got \(2,\)",
        ),
        ({"elbow_joint": np.nan}, r"coordinates of joint 'elbow_joint' cannot be \[nan\]: they are finite"),
        ({"elbow_joint": np.inf}, "they are finite"),
        ({"elbow_joint": "bent"}, "coordinates of joint 'elbow_joint' must be numbers"),
    ],
)
def test_lock_refuses(ur5: hc.Robot, positions: dict[str, object], message: str) -> None:
    with pytest.raises(hc.ModelError, match=message):
        ur5.lock(positions)  # type: ignore[arg-type]


@pytest.mark.parametrize("q", [[2.0, 0, 0, 0], [0, 0, 0, 0], [1.0, 1.0, 0, 0]])
def test_lock_refuses_what_is_no_quaternion(q: list[float]) -> None:
    with pytest.raises(hc.ModelError, match="a quaternion has length 1"):
        one_joint(Spherical()).lock({"joint": q})


def test_lock_refuses_the_base() -> None:
    robot = hc.load("ur5", base="floating")
    with pytest.raises(
        hc.ModelError, match="'floating_base' cannot be locked: load the robot with base='fix"
    ):
        robot.lock({"floating_base": robot.neutral()[:7]})


def one_joint(kind: JointType, **properties: object) -> hc.Robot:
    links = (Link("base", inertia(np.random.default_rng(1))), Link("body", inertia(np.random.default_rng(2))))
    return hc.Robot(Model("one", links, (Joint("joint", kind, "base", "body", **properties),)))  # type: ignore[arg-type]


# --- payload and parameters -------------------------------------------------------------------------


@fewer
@given(robots(max_bodies=3), seeds)
def test_payload_is_a_link_fixed_there(robot: hc.Robot, seed: int) -> None:
    load = inertia(np.random.default_rng(seed))
    link = moving_links(robot)[seed % len(moving_links(robot))]
    model = robot.model
    attached = hc.Robot(
        model.replaced(
            [*model.links, Link("load", load)], [*model.joints, Joint("weld", Fixed(), link, "load")]
        )
    )
    loaded = robot.with_payload(link, load.mass, load.com, load.at_com)
    q, v, a = state(robot, seed)
    assert_close(loaded.inverse_dynamics(q, v, a), attached.inverse_dynamics(q, v, a))
    assert loaded.link_names == robot.link_names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tool", 1.0, [0, 0, 0], np.eye(3)), "did you mean 'tool0'"),
        (
            ("base", 1.0, [0, 0, 0], np.eye(3)),
            "link 'base' does not move: a payload on it would change nothing",
        ),
        (("tool0", 0.0, [0, 0, 0], np.zeros((3, 3))), "payload on 'tool0' is impossible: mass 0.0 kg"),
        (("tool0", -1.0, [0, 0, 0], np.eye(3)), "negative mass -1 kg"),
        (("tool0", 1.0, [0, 0, 0], np.diag([1, 1, 5])), "break the triangle inequality"),
        (("tool0", 1.0, [0, 0], np.eye(3)), r"center of mass: expected shape \(3,\)"),
        (("tool0", 1.0, [0, 0, 0], np.ones(3)), r"rotational inertia: expected shape \(3, 3\)"),
        (("tool0", np.nan, [0, 0, 0], np.eye(3)), "finite"),
        (("tool0", 1.0, [0, 0, 0], np.full((3, 3), np.inf)), "finite"),
        (("tool0", 1.0, [0, 0, 0], np.eye(3) + np.eye(3, k=1)), "symmetric"),
    ],
)
def test_payload_refuses(ur5: hc.Robot, arguments: tuple[str, float, Array, Array], message: str) -> None:
    with pytest.raises(hc.ModelError, match=message):
        ur5.with_payload(*arguments)


@fewest
@given(robots(max_bodies=3), seeds)
def test_parameters_round_trip(robot: hc.Robot, seed: int) -> None:
    """The robot with its own parameters is the robot, though its fixed links no longer share the mass."""
    again = robot.with_parameters(robot.parameters.values)
    np.testing.assert_array_equal(again.parameters.values, robot.parameters.values)
    assert again.parameters.names == robot.parameters.names
    q, v, a = state(robot, seed)
    assert_close(again.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a))
    assert_close(again.potential_energy(q), robot.potential_energy(q), scale=10.0)
    doubled = robot.with_parameters(2 * robot.parameters.values.reshape(-1, 10))
    assert_close(doubled.gravity(q), 2 * robot.gravity(q), scale=1.0)


@pytest.mark.parametrize(
    ("pi", "message"),
    [
        (np.zeros(50), r"inertial parameters of 6 bodies: expected shape \(60,\), got \(50,\)"),
        (np.full(60, np.nan), "inertial parameters must be finite"),
        ("light", "inertial parameters of 6 bodies: expected"),
    ],
)
def test_parameters_refuse(ur5: hc.Robot, pi: Array, message: str) -> None:
    with pytest.raises(hc.ModelError, match=message):
        ur5.with_parameters(pi)


# --- chain ------------------------------------------------------------------------------------------


@fewer
@given(models(mimics=False, floating=False), seeds)
def test_chain_is_the_tree_without_the_mass_of_its_other_branches(model: Model, seed: int) -> None:
    robot = hc.Robot(model)
    tip = robot.link_names[-1 - seed % len(robot.link_names)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.DoubtfulModelWarning)
        chain = robot.chain(model.root, tip)
    kept = set(chain.link_names)
    light = hc.Robot(
        model.replaced(links=[x if x.name in kept else replace(x, inertia=None) for x in model.links])
    )
    q, v, a = state(robot, seed)
    q_chain, v_chain, a_chain = transferred(robot, chain, q, v, a)
    tau = light.inverse_dynamics(q, v, a)
    expected = np.concatenate([np.zeros(0), *(tau[spans(robot)[name][1]] for name in chain.joint_names)])
    assert_close(chain.inverse_dynamics(q_chain, v_chain, a_chain), expected, scale=1.0)
    assert_close(chain.pose(tip)(q_chain), robot.pose(tip)(q), scale=1.0)


@fewer
@given(models(mimics=False, floating=False), seeds)
def test_chain_from_a_link_to_one_below_it(model: Model, seed: int) -> None:
    """Root and tip may be any two links: the tip seen from the root is as in the whole tree."""
    robot = hc.Robot(model)
    root, tip = np.random.default_rng(seed).choice(robot.link_names, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.DoubtfulModelWarning)
        chain = robot.chain(str(root), str(tip))
    q, _, _ = state(robot, seed)
    seen = np.linalg.inv(robot.pose(str(root))(q)) @ robot.pose(str(tip))(q)
    assert_close(chain.pose(str(tip))(turned_coordinates(robot, chain, q)), seen, scale=1.0)
    assert chain.model.root == root


def turned_coordinates(robot: hc.Robot, other: hc.Robot, q: Array) -> Array:
    """q for a robot in which some joints are turned around."""
    result = other.neutral()
    types = {body.joint.name: body.joint.type for body in robot.model.bodies}
    for name, (at, _) in spans(other).items():
        own = q[spans(robot)[name][0]]
        turned = f"{name}_reversed" in other.model.frames
        result[at] = types[name].reversed_coordinates(own) if turned else own
    return result


def test_chain_keeps_what_is_fixed_and_says_what_it_cuts() -> None:
    robot = hc.load("quadruped", base="floating")
    with pytest.warns(
        hc.DoubtfulModelWarning, match=r"chain\('trunk', 'FL_foot'\) .* cuts moving branches of"
    ) as seen:
        leg = robot.chain("trunk", "FL_foot")
    assert seen[0].filename == __file__
    kilograms = sum(
        link.inertia.mass
        for link in robot.model.links
        if link.inertia is not None and link.name[:2] in ("FR", "RL", "RR")
    )
    assert f"of {kilograms:.3g} kg in all" in str(seen[0].message)
    assert leg.joint_names == ["floating_base", "FL_hip_joint", "FL_thigh_joint", "FL_calf_joint"]
    assert leg.link_names == ["trunk", "FL_hip", "FL_thigh", "FL_calf", "FL_foot"]


def test_chain_of_an_arm_is_the_arm(ur5: hc.Robot) -> None:
    q, v, a = state(ur5, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = ur5.chain("base_link", "tool0")
    assert_close(whole.inverse_dynamics(q, v, a), ur5.inverse_dynamics(q, v, a))
    with pytest.warns(hc.DoubtfulModelWarning):
        hand = ur5.chain("wrist_3_link", "tool0")
    assert (hand.nv, hand.link_names) == (0, ["wrist_3_link", "tool0"])


def test_chain_refuses(ur5: hc.Robot) -> None:
    with pytest.raises(hc.ModelError, match="no link of 'ur5' is called 'tool'; did you mean 'tool0'"):
        ur5.chain("base_link", "tool")
    with pytest.raises(
        hc.ModelError, match="no link of 'ur5' is called 'bas_link'; did you mean 'base_link'"
    ):
        ur5.chain("bas_link", "tool0")


def test_chain_refuses_to_keep_a_mimic_without_its_source() -> None:
    links = [Link("w"), *(Link(name, inertia(np.random.default_rng(0))) for name in "ab")]
    joints = [
        Joint("left", Revolute([0, 0, 1]), "w", "a"),
        Joint("right", Revolute([0, 0, 1]), "w", "b", mimic=Mimic("left")),
    ]
    hand = hc.Robot(Model("hand", tuple(links), tuple(joints)))
    message = r"chain\('w', 'b'\) would keep joint 'right' but not 'left', which it mimics"
    with pytest.warns(hc.DoubtfulModelWarning), pytest.raises(hc.ModelError, match=message):
        hand.chain("w", "b")
    with pytest.warns(hc.DoubtfulModelWarning):
        assert hand.chain("w", "a").joint_names == ["left"]


# --- reroot -----------------------------------------------------------------------------------------


@fewest
@given(models(max_bodies=3, floating=True), seeds)
def test_reroot_of_a_floating_robot_is_the_same_robot(model: Model, seed: int) -> None:
    """Same energies and, falling freely, the same acceleration of every link.

    Armature belongs to coordinates: joints whose rates change when turned around have none here.
    """
    joints = [x if x.type.nv < 3 else replace(x, armature=0.0) for x in model.joints]
    robot = hc.Robot(model.replaced(joints=joints))
    rng = np.random.default_rng(seed)
    root = str(rng.choice(robot.link_names))
    other = robot.reroot(root)
    assert other.model.root == root and (other.nq, other.nv) == (robot.nq, robot.nv)
    assert set(robot.link_names) <= set(other.link_names)

    q, v, _ = state(robot, rng)
    q_other = turned_coordinates(robot, other, q)
    pose = robot.pose(root)(q)
    q_other[:3], q_other[3:7] = pose[:3, 3], quaternion.from_matrix(pose[:3, :3])
    frames = robot.link_names
    J = np.vstack([robot.jacobian(name)(q) for name in frames])
    J_other = np.vstack([other.jacobian(name)(q_other) for name in frames])
    W = np.linalg.pinv(J_other) @ J
    assert_close(J_other @ W, J, 1e-9)
    assert_close(other.potential_energy(q_other), robot.potential_energy(q), scale=10.0)
    assert_close(W.T @ other.mass_matrix(q_other) @ W, robot.mass_matrix(q), 1e-9)

    still = np.zeros(robot.nv)
    a, a_other = robot.forward_dynamics(q, v, still), other.forward_dynamics(q_other, W @ v, still)
    name = frames[-1]
    acceleration = robot.acceleration(name)(q, v, a)
    assert_close(other.acceleration(name)(q_other, W @ v, a_other), acceleration, 1e-6, scale=10.0)


def test_reroot_there_and_back() -> None:
    robot = hc.load("ur5", base="floating")
    back = robot.reroot("forearm_link").reroot("base_link")
    q, v, a = state(robot, 3)
    assert back.joint_names == robot.joint_names
    assert_close(back.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a))


def test_reroot_swaps_what_belongs_to_the_axes_of_a_universal_joint() -> None:
    pair = np.array([1.0, 2.0])
    robot = one_joint(
        Universal(),
        damping=pair,
        friction=2 * pair,
        armature=3 * pair,
        limits=Limits(-pair, pair, 4 * pair, 5 * pair),
    )
    turned = robot.reroot("body").model.joint("joint")
    for name, factor in (("damping", 1), ("friction", 2), ("armature", 3)):
        np.testing.assert_array_equal(getattr(turned, name), factor * pair[::-1])
    for values, factor in zip(turned.limits or (), (-1, 1, 4, 5), strict=True):
        np.testing.assert_array_equal(values, factor * pair[::-1])


def test_reroot_finds_free_names() -> None:
    links = [Link(name, inertia(np.random.default_rng(0))) for name in ("a", "b", "ab_reversed")]
    joints = [Joint("ab", Planar(), "a", "b"), Joint("weld", Fixed(), "a", "ab_reversed")]
    robot = hc.Robot(Model("taken", tuple(links), tuple(joints))).reroot("b")
    assert "ab_reversed_" in robot.link_names
    with pytest.raises(hc.ModelError, match="no link of 'taken' is called 'c'"):
        robot.reroot("c")


# --- all of them ------------------------------------------------------------------------------------

EDITS: dict[str, Edit] = {
    "lock": lambda robot: robot.lock({"elbow_joint": 1.0}),
    "with_payload": lambda robot: robot.with_payload("tool0", 1.0, [0, 0, 0.1], np.eye(3) * 0.01),
    "with_parameters": lambda robot: robot.with_parameters(2 * robot.parameters.values),
    "chain": lambda robot: robot.chain("upper_arm_link", "tool0"),
    "reroot": lambda robot: robot.reroot("tool0"),
    "parametric": lambda robot: robot.parametric("inertia"),
}


@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_edits_leave_the_robot_alone(ur5: hc.Robot, edit: Edit) -> None:
    q, v, a = state(ur5, 8)
    links, joints = ur5.model.links, ur5.model.joints
    before = ur5.inverse_dynamics(q, v, a), ur5.parameters.values.copy()
    other = edit(ur5)
    assert other is not ur5
    assert ur5.model.links is links and ur5.model.joints is joints
    np.testing.assert_array_equal(ur5.inverse_dynamics(q, v, a), before[0])
    np.testing.assert_array_equal(ur5.parameters.values, before[1])
    fresh = hc.Robot(ur5.model)
    np.testing.assert_array_equal(fresh.inverse_dynamics(q, v, a), before[0])


def test_with_parameters_keeps_the_base_link(ur5: hc.Robot) -> None:
    """What does not move is not among the parameters, so it stays as it was."""
    base = ur5.with_parameters(np.zeros(60)).model.link("base_link").inertia
    assert isinstance(base, Inertia)
    assert base.mass == ur5.model.link("base_link").inertia.mass  # type: ignore[union-attr]
