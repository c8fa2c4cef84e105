"""Kinematic trees: order, frames, mimic joints, and descriptions that are no tree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from helicoid.errors import ModelError
from helicoid.model.inertia import Inertia
from helicoid.model.joint_type import JointType
from helicoid.model.joints import Fixed, Prismatic, Revolute, Spherical
from helicoid.model.model import WORLD, Model
from helicoid.model.parts import Joint, Limits, Link, Mimic, Placement
from random_trees import assert_close, inertia

HINGE = Revolute([0, 0, 1])


def joint(name: str, parent: str, child: str, kind: JointType = HINGE, mimic: Mimic | None = None) -> Joint:
    return Joint(name, kind, parent, child, Placement(np.eye(3), [0.0, 0.0, 1.0]), mimic=mimic)


def links(*names: str) -> tuple[Link, ...]:
    rng = np.random.default_rng(0)
    return tuple(Link(name, inertia(rng)) for name in names)


# a ─ ab ─ b ─ bd ─ d
# └── ac ─ c ═ ce ═ e ─ ef ─ f          (═ fixed)
JOINTS = (
    joint("ab", "a", "b"),
    joint("ac", "a", "c"),
    joint("bd", "b", "d", Spherical()),
    joint("ce", "c", "e", Fixed()),
    joint("ef", "e", "f", Prismatic([1, 0, 0])),
)
TREE = Model("tree", links(*"abcdef"), JOINTS)


def test_depth_first_children_as_given() -> None:
    assert [one.name for one in TREE.joints] == ["ab", "bd", "ac", "ce", "ef"]
    assert [one.name for one in TREE.moving_joints] == ["ab", "bd", "ac", "ef"]
    assert TREE.root == "a"
    other_way = TREE.replaced(joints=(JOINTS[1], JOINTS[0], *JOINTS[2:]))
    assert [one.name for one in other_way.joints] == ["ac", "ce", "ef", "ab", "bd"]


def test_any_order_of_description_is_a_tree() -> None:
    for order in itertools.permutations(JOINTS):
        assert [one.name for one in TREE.replaced(joints=order).joints[:2]] in (["ab", "bd"], ["ac", "ce"])


def test_coordinates_follow_the_joints() -> None:
    assert (TREE.nq, TREE.nv) == (1 + 4 + 1 + 1, 1 + 3 + 1 + 1)
    assert [(body.q, body.v) for body in TREE.bodies] == [
        (slice(0, 1), slice(0, 1)),
        (slice(1, 5), slice(1, 4)),
        (slice(5, 6), slice(4, 5)),
        (slice(6, 7), slice(5, 6)),
    ]
    assert [body.parent for body in TREE.bodies] == [WORLD, 0, WORLD, 2]
    assert [body.name for body in TREE.bodies] == ["b", "d", "c", "f"]


def test_fixed_links_are_frames_of_their_carrier() -> None:
    frame = TREE.frame("e")
    assert frame.body == 2
    assert_close(frame.placement.translation, [0, 0, 1])
    assert TREE.frame("a").body == WORLD
    assert set(TREE.frames) == set("abcdef")
    # Mass of c and e, the latter one meter further; the hinge of f two meters from c.
    c, e = TREE.link("c").inertia, TREE.link("e").inertia
    assert c is not None and e is not None
    assert TREE.bodies[2].inertia.mass == c.mass + e.mass
    expected = c.mass * c.com + e.mass * (e.com + np.array([0, 0, 1]))
    assert_close(TREE.bodies[2].inertia.first_moment, expected)
    assert_close(TREE.bodies[3].placement.translation, [0, 0, 2])


def test_floating_base_is_the_first_joint_and_finds_a_free_name() -> None:
    floating = Model("tree", TREE.links, TREE.joints, floating=True)
    assert floating.moving_joints[0].name == "floating_base"
    assert (floating.nq, floating.nv) == (TREE.nq + 7, TREE.nv + 6)
    assert floating.frame("a").body == 0
    assert floating.bodies[0].inertia.mass == TREE.link("a").inertia.mass  # type: ignore[union-attr]
    taken = (joint("floating_base", "a", "b"), joint("_floating_base", "b", "c"))
    clash = Model("clash", links(*"abc"), taken, floating=True)
    assert [one.name for one in clash.moving_joints] == ["__floating_base", "floating_base", "_floating_base"]


def test_one_link_alone_is_a_robot() -> None:
    table = Model("table", (Link("top"),), ())
    assert (table.nq, table.nv, table.bodies, table.root) == (0, 0, (), "top")


# --- mimics -----------------------------------------------------------------------------------------


def test_mimics_of_mimics() -> None:
    """q_c = 3 q_b + 1, q_b = -2 q_a + 5: c follows a directly, wherever a stands in the file."""
    joints = (
        joint("c", "l2", "l3", mimic=Mimic("b", 3.0, 1.0)),
        joint("b", "l1", "l2", mimic=Mimic("a", -2.0, 5.0)),
        joint("a", "l0", "l1"),
    )
    model = Model("gears", links("l0", "l1", "l2", "l3"), joints)
    assert (model.nq, model.nv) == (1, 1)
    assert [one.name for one in model.independent_joints] == ["a"]
    scales = {body.joint.name: (body.multiplier, body.offset) for body in model.bodies}
    assert scales == {"a": (1.0, 0.0), "b": (-2.0, 5.0), "c": (-6.0, 16.0)}
    assert {body.q.start for body in model.bodies} == {0}


@pytest.mark.parametrize("circle", ["a", "ab", "abc"])
def test_mimics_in_a_circle(circle: str) -> None:
    followers = {name: circle[(i + 1) % len(circle)] for i, name in enumerate(circle)}
    joints = [joint(name, "root", f"link {name}", mimic=Mimic(followers[name])) for name in circle]
    with pytest.raises(ModelError, match="joints mimic each other in a circle: a -> "):
        Model("circle", links("root", *(f"link {name}" for name in circle)), tuple(joints))


def test_mimic_of_what_does_not_exist() -> None:
    joints = (joint("left", "a", "b"), joint("right", "a", "c", mimic=Mimic("lefd")))
    with pytest.raises(ModelError, match="no joint of 'hand' is called 'lefd'; did you mean 'left'"):
        Model("hand", links(*"abc"), joints)


@pytest.mark.parametrize("source", [Fixed(), Spherical()])
def test_mimic_of_what_has_not_one_coordinate(source: JointType) -> None:
    joints = (joint("left", "a", "b", source), joint("right", "a", "c", mimic=Mimic("left")))
    with pytest.raises(ModelError, match=f"'right' mimics 'left', which is {source.kind} and has not one"):
        Model("hand", links(*"abc"), joints)


def test_only_one_coordinate_can_mimic() -> None:
    with pytest.raises(ModelError, match="joint 'ball': only joints of one coordinate can mimic another"):
        joint("ball", "a", "b", Spherical(), mimic=Mimic("left"))


# --- what is no tree --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "joints", "message"),
    [
        ("abb", [("j", "a", "b")], "two links are called 'b'; names must be unique"),
        ("abc", [("j", "a", "b"), ("j", "b", "c")], "two joints are called 'j'; names must be unique"),
        ("ab", [("j", "a", "c")], "joint 'j': its child link 'c' does not exist"),
        ("ab", [("j", "z", "b")], "joint 'j': its parent link 'z' does not exist"),
        ("abc", [("j", "a", "b")], "needs exactly one root link, found links 'a', 'c'"),
        ("abc", [("j", "a", "c"), ("k", "b", "c")], "'c' is the child of two joints, 'j' and 'k'"),
        (
            "ab",
            [("j", "a", "b"), ("k", "b", "a")],
            r"found no link: the links 'a' -> 'b' -> 'a' form a loop \(joints: j, k",
        ),
        ("a", [("j", "a", "a")], "needs exactly one root link, found no link"),
        (
            "abc",
            [("j", "b", "c"), ("k", "c", "b")],
            r"the links 'b' -> 'c' -> 'b' form a loop \(joints: j, k\), which hangs on nothing",
        ),
        ("", [], "needs exactly one root link, found no link"),
    ],
)
def test_what_is_no_tree(names: str, joints: list[tuple[str, str, str]], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Model("robot", tuple(Link(name) for name in names), tuple(joint(*ends) for ends in joints))


def test_look_up_offers_the_nearest_names() -> None:
    arm = Model("arm", links("base", "upper_arm", "forearm"), (joint("elbow", "upper_arm", "forearm"),
                joint("shoulder", "base", "upper_arm")))  # fmt: skip
    with pytest.raises(ModelError, match="no link of 'arm' is called 'fore_arm'; did you mean 'forearm'"):
        arm.link("fore_arm")
    with pytest.raises(ModelError, match="no joint of 'arm' is called 'elbw'; did you mean 'elbow'"):
        arm.joint("elbw")
    with pytest.raises(
        ModelError, match="no frame of 'arm' is called 'zzz'; there are: base, upper_arm, for"
    ):
        arm.frame("zzz")
    with pytest.raises(ModelError, match=r"no link of 'arm' is called \['base'\]"):
        arm.link(["base"])  # type: ignore[arg-type]


# --- parts ------------------------------------------------------------------------------------------


def test_one_number_serves_all_velocities_of_a_joint() -> None:
    ball = Joint("ball", Spherical(), "a", "b", damping=np.array([2.0]), armature=np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(ball.damping, [2, 2, 2])
    np.testing.assert_array_equal(ball.armature, [1, 2, 3])
    np.testing.assert_array_equal(ball.friction, [0, 0, 0])
    with pytest.raises(ModelError, match=r"damping of joint 'ball': expected shape \(3,\), got \(2,\)"):
        Joint("ball", Spherical(), "a", "b", damping=np.zeros(2))
    with pytest.raises(ModelError, match=r"friction of joint 'hinge': expected numbers"):
        Joint("hinge", HINGE, "a", "b", friction="much")  # type: ignore[arg-type]


def test_limits_have_the_sizes_of_coordinates_and_velocities() -> None:
    one = np.ones(1)
    with pytest.raises(ModelError, match=r"limits of joint 'hinge': expected shape \(1,\), got \(2,\)"):
        Joint("hinge", HINGE, "a", "b", limits=Limits(one, np.ones(2), one, one))
    free = Joint("ball", Spherical(), "a", "b").range
    assert (free.lower.shape, free.velocity.shape) == ((4,), (3,))
    assert np.all(np.isinf(np.concatenate(free)))


def test_placements_compose_and_invert() -> None:
    a, b = Placement(np.eye(3)[[1, 2, 0]], [1, 2, 3]), Placement(np.diag([1.0, -1.0, -1.0]), [0, 0, 1])
    point = np.array([0.3, -0.2, 0.5])

    def seen(placement: Placement, point: np.ndarray) -> np.ndarray:
        return placement.rotation @ point + placement.translation

    assert_close(seen(a @ b, point), seen(a, seen(b, point)))
    assert_close(seen(a.inverse, seen(a, point)), point)


def test_rounding_noise_of_rotations_is_mended() -> None:
    turn = np.pi / 2
    noisy = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    assert noisy[0, 0] != 0
    np.testing.assert_array_equal(Placement(noisy).rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])


def test_a_model_cannot_change() -> None:
    with pytest.raises(AttributeError):
        TREE.name = "bush"  # type: ignore[misc]
    for array in (TREE.joints[0].placement.translation, TREE.joints[0].damping):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_a_massless_link_weighs_nothing() -> None:
    model = Model("light", (Link("a"), Link("b")), (joint("ab", "a", "b"),))
    np.testing.assert_array_equal(model.bodies[0].inertia.parameters, Inertia.zero().parameters)
