"""All solutions of inverse kinematics in closed form: families, singular poses, limits, redundancy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.control import InverseKinematics, PoseTask, PositionTask, PostureTask
from helicoid.geometry import so3

pytestmark = pytest.mark.needs_compiler

Z = np.zeros(3)


def arm(
    axes: Any, points: Any, tool: Any = (0.0, 0.0, 0.1), limit: Any = np.pi, rpy: Any = Z, slide: int = -1
) -> hc.Robot:
    """Revolute joints, and one that slides, by directions and points of their axes at q = 0, and a tool."""
    limits = np.broadcast_to(limit, (len(axes),))
    links, joints, before = ["<link name='base'/>"], [], np.zeros(3)
    for k, (h, x) in enumerate(zip(axes, points, strict=True)):
        links.append(
            f"<link name='l{k}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' "
            "iyz='0'/></inertial></link>"
        )
        parent, xyz = (
            ("base" if k == 0 else f"l{k - 1}"),
            " ".join(map(repr, map(float, np.asarray(x) - before))),
        )
        joints.append(
            f"<joint name='j{k}' type='{'prismatic' if k == slide else 'revolute'}'>"
            f"<parent link='{parent}'/><child link='l{k}'/>"
            f"<origin xyz='{xyz}'/><axis xyz='{' '.join(map(repr, map(float, h)))}'/>"
            f"<limit lower='{-limits[k]}' upper='{limits[k]}' effort='1' velocity='1'/></joint>"
        )
        before = np.asarray(x)
    robot = hc.load(f"<robot name='arm'>{''.join(links)}{''.join(joints)}</robot>")
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = so3.exp(np.asarray(rpy, dtype=float)), tool
    return robot.with_frame("tool", f"l{len(axes) - 1}", pose)


def unit(*h: float) -> Array:
    return np.asarray(h) / np.linalg.norm(h)


x, y, z = np.eye(3)
SKEW = [unit(0.1, 0.2, 1), unit(0.3, 1, 0.2), unit(1, -0.2, 0.4)]
FAR = [[0.1, 0.0, 0.3], [0.2, 0.1, 0.6], [0.5, -0.1, 0.8]]
MEET, WRIST = [[0.9, 0.1, 0.9]] * 3, [unit(1, 0.2, 0), unit(0, 1, 0.3), unit(0.8, 0, 1)]
THREE = [[0.3, 0.1, 0.2], [0.6, 0.2, 0.5], [0.9, -0.1, 0.3]]
ARMS = {
    "spherical wrist, skew": (SKEW + WRIST, FAR + MEET),
    "spherical wrist, elbow": ([z, y, y, x, y, x], [[0, 0, 0.3], [0.1, 0, 0.3], [0.1, 0, 0.8], *MEET]),
    "spherical wrist, axes 1 and 2 parallel": ([z, z, y, x, y, x], [Z, [0.3, 0, 0.1], [0.6, 0, 0.2], *MEET]),
    "spherical shoulder": (WRIST + SKEW, MEET + FAR),
    "axes 2 to 4 meet": ([SKEW[0], *WRIST, *SKEW[1:]], [FAR[0], *MEET, *FAR[1:]]),
    "axes 3 to 5 meet": ([*SKEW[:2], *WRIST, SKEW[2]], [*FAR[:2], *MEET, FAR[2]]),
    "axes 1 to 3 parallel": ([y, y, y, *SKEW], THREE + FAR),
    "axes 2 to 4 parallel": ([SKEW[0], y, y, y, *SKEW[1:]], [FAR[0], *THREE, *FAR[1:]]),
    "axes 2 to 4 parallel, axes 5 and 6 meet": ([z, y, y, y, z, x], [Z, *THREE, [1, 0, 0.3], [1, 0, 0.2]]),
    "axes 3 to 5 antiparallel": ([*SKEW[:2], y, -y, y, SKEW[2]], [*FAR[:2], *THREE, FAR[2]]),
    "axes 4 to 6 parallel": ([*SKEW, y, y, -y], FAR + THREE),
}


def residual(robot: hc.Robot, frame: str, Q: Array, T: Array) -> float:
    return float(np.abs(robot.pose(frame)(Q) - T).max()) if len(Q) else 0.0


def apart(Q: Array, q: Array) -> float:
    """The distance of a configuration from the nearest row of Q, regardless of whole turns."""
    if not len(Q):
        return np.inf
    return float(np.abs(np.remainder(Q - q + np.pi, 2 * np.pi) - np.pi).max(axis=1).min())


@pytest.mark.parametrize("name", ARMS)
def test_every_family_finds_the_solutions_of_restarts_and_the_configuration_itself(
    name: str, rng: Any
) -> None:
    robot = arm(*ARMS[name], tool=[0.1, -0.05, 0.2], rpy=[0.3, -0.5, 0.9])
    ik = InverseKinematics(robot, "tool")
    assert ik.family.complete and ik.family.name and not ik.family.redundancy, ik.family
    for k, q in enumerate(robot.random(rng, size=40)):
        T = robot.pose("tool")(q)
        found = ik.all(T)
        assert apart(found, q) < 1e-6 and residual(robot, "tool", found, T) < 1e-9
        assert np.all(np.diff(np.abs(found).sum(axis=1)) >= 0) and np.all(np.abs(found) <= np.pi)
        for other in ik._from_table(T.ravel()) if k < 4 else []:
            regular = np.linalg.svd(robot.jacobian("tool")(other), compute_uv=False)[-1] > 1e-3
            assert not regular or apart(found, other) < 1e-3


@pytest.mark.parametrize("name", ARMS)
def test_singular_poses_and_poses_near_them_have_solutions(name: str, rng: Any) -> None:
    robot = arm(*ARMS[name])
    ik = InverseKinematics(robot, "tool")
    special = rng.choice([0.0, np.pi / 2, -np.pi / 2, np.pi], size=(60, 6))
    Q = np.where(rng.random((60, 6)) < 0.6, special, robot.random(rng, size=60))
    Q[30:] += 10.0 ** rng.uniform(-12, -3, size=(30, 1)) * rng.standard_normal((30, 6))
    Q = np.clip(Q, -np.pi, np.pi)
    for q in Q:
        T = robot.pose("tool")(q)
        found = ik.all(T)
        assert len(found) and residual(robot, "tool", found, T) < 2e-6
        if np.linalg.svd(robot.jacobian("tool")(q), compute_uv=False)[-1] > 1e-3:
            assert apart(found, q) < 1e-5


def test_a_ur5_has_eight_solutions_and_a_batch_has_those_of_each_call(rng: Any) -> None:
    robot = hc.load("ur5")
    ik = InverseKinematics(robot, "tool0")
    assert ik.family.name.startswith("three parallel axes (shoulder_lift_joint")
    T = robot.pose("tool0")(robot.random(rng, size=50))
    each = [ik.all(pose) for pose in T]
    assert max(map(len, each)) == 8
    for one, two in zip(each, ik.all(T), strict=True):
        assert np.array_equal(one, two)
    assert ik.all(np.zeros((0, 4, 4))) == []


@pytest.mark.parametrize("name", ARMS)
def test_limits_leave_out_what_is_beyond_them_and_nothing_else(name: str, rng: Any) -> None:
    limit = np.array([1.5, 2.5, 1.0, 3.0, 2.0, 2.8])
    wide, narrow = arm(*ARMS[name]), arm(*ARMS[name], limit=limit)
    every, some = InverseKinematics(wide, "tool"), InverseKinematics(narrow, "tool")
    assert some.family.name == every.family.name
    left_out = 0
    for T in wide.pose("tool")(np.vstack([narrow.random(rng, size=40), wide.random(rng, size=10)])):
        found, kept = every.all(T), some.all(T)
        inside = np.all(np.abs(found) <= limit, axis=1)
        assert len(kept) == inside.sum() and all(apart(kept, q) < 1e-6 for q in found[inside])
        left_out += len(found) - len(kept)
    assert left_out > 0


def test_solutions_are_ordered_by_their_distance_from_any_q0(rng: Any) -> None:
    robot = hc.load("ur5")
    ik = InverseKinematics(robot, "tool0")
    q0, T = robot.random(rng, size=20), robot.pose("tool0")(robot.random(rng, size=20))
    each = [ik.all(pose, about) for pose, about in zip(T, q0, strict=True)]
    for about, one, many in zip(q0, each, ik.all(T, q0), strict=True):
        assert np.array_equal(one, many) and np.all(np.diff(np.abs(one - about).sum(axis=1)) >= 0)


def test_calls_with_and_without_q0_take_turns(rng: Any) -> None:
    """What one call leaves behind is none of the next one's business."""
    robot = hc.load("ur5")
    ik = InverseKinematics(robot, "tool0")
    T = robot.pose("tool0")(robot.random(rng, size=2))
    first, second = ik.all(T[0]), ik.all(T[1])
    far = ik.all(T[0], q0=robot.random(rng))
    assert np.array_equal(ik.all(T[0]), first) and np.array_equal(ik.all(T[1]), second)
    assert len(far) == len(first)


def test_q0_orders_solutions_and_chooses_whole_turns(rng: Any) -> None:
    robot = hc.load("ur5")  # limits of two turns
    ik = InverseKinematics(robot, "tool0")
    for q in rng.uniform(-2 * np.pi, 2 * np.pi, size=(20, 6)):
        q[2] = (q[2] + np.pi) % (2 * np.pi) - np.pi  # the elbow has less
        found = ik.all(robot.pose("tool0")(q), q0=q)
        assert np.allclose(found[0], q, atol=1e-6)
        assert np.all(found >= robot.limits.lower) and np.all(found <= robot.limits.upper)


def test_narrow_limits_leave_out_solutions_and_say_so_by_an_empty_result(rng: Any) -> None:
    axes, points = ARMS["spherical wrist, elbow"]
    wide, narrow = arm(axes, points), arm(axes, points, limit=[1.0, 1.0, 2.0, 3.0, 0.8, 3.0])
    one, other = InverseKinematics(wide, "tool"), InverseKinematics(narrow, "tool")
    for q in wide.random(rng, size=40):
        T = wide.pose("tool")(q)
        every = one.all(T)
        assert len(other.all(T)) == np.sum(np.all(np.abs(every) <= narrow.limits.upper, axis=1))
    far = np.eye(4)
    far[0, 3] = 5.0
    assert one.all(far).shape == (0, 6)


def test_a_free_joint_takes_a_value_within_its_limits() -> None:
    """At a straight wrist only the sum of two angles counts: 1.2 = 0.7 + 0.5 where neither may exceed 0.8."""
    axes, points = ARMS["spherical wrist, elbow"]
    robot = arm(axes, points, limit=[3, 3, 3, 0.8, 3, 0.8])
    T = robot.pose("tool")([0.3, 0.2, 0.5, 0.7, 0.0, 0.5])
    found = InverseKinematics(robot, "tool").all(T)
    straight = found[np.abs(found[:, 4]) < 1e-6]
    assert len(straight) and np.allclose(straight[:, 3] + straight[:, 5], 1.2, atol=1e-6)


@pytest.mark.parametrize("offset", [1e-4, 1e-6])
def test_nearly_spherical_wrists_are_solved_to_the_description(offset: float, rng: Any) -> None:
    axes, points = ARMS["spherical wrist, elbow"]
    points = [np.asarray(p) + offset * rng.standard_normal(3) for p in points]
    axes = [unit(*(h + offset * rng.standard_normal(3))) for h in axes]
    robot = arm(axes, points)
    ik = InverseKinematics(robot, "tool")
    assert ik.family.name and not ik.family.exact
    for q in robot.random(rng, size=60):
        T = robot.pose("tool")(q)
        found = ik.all(T)
        assert residual(robot, "tool", found, T) < 2e-6
        if np.linalg.svd(robot.jacobian("tool")(q), compute_uv=False)[-1] > 0.01:
            assert apart(found, q) < 1e-5


def test_the_panda_is_solved_for_values_of_one_joint(rng: Any) -> None:
    robot = hc.load("panda")
    ik = InverseKinematics(robot, "panda_link8")
    (joint,) = ik.family.redundancy
    assert ik.family.exact and not ik.family.complete
    place = robot.index(joint)[0]
    for q in robot.random(rng, size=30):
        T = robot.pose("panda_link8")(q)
        given = ik.all(T, redundancy={joint: q[place]})
        assert apart(given, q) < 1e-6 and np.all(given[:, place] == q[place])
        several = ik.all(T, redundancy=50)
        assert len(np.unique(several[:, place])) > 1 and residual(robot, "panda_link8", several, T) < 1e-8
        assert np.allclose(ik.all(T, q0=q)[0], q, atol=1e-6)  # the value of q0 is among them


def test_spherical_shoulder_and_wrist_and_a_slide_below_them(rng: Any) -> None:
    points = [[0, 0, 0.3]] * 3 + [[0, 0, 0.7]] + [[0, 0, 1.1]] * 3
    robot = arm([z, y, z, -y, z, y, z], points)
    assert InverseKinematics(robot, "tool").family.name
    robot = arm([z, z, y, z, -y, z, y, z], [Z, *points], slide=0, limit=[0.3, *(7 * [3.0])])
    ik = InverseKinematics(robot, "tool")
    assert len(ik.family.redundancy) == 2 and "j0" in ik.family.redundancy
    q = robot.random(rng)
    T = robot.pose("tool")(q)
    found = ik.all(T, redundancy=64)
    assert len(found) >= 16 and residual(robot, "tool", found, T) < 1e-8
    given = {name: q[robot.index(name)[0]] for name in ik.family.redundancy}
    assert apart(ik.all(T, redundancy=given), q) < 1e-6


def test_held_and_locked_joints_leave_a_closed_form(rng: Any) -> None:
    robot = hc.load("panda")
    q = robot.random(rng)
    T = robot.pose("panda_link8")(q)
    ik = InverseKinematics(robot, "panda_link8", hold={"panda_joint7": q[6]})
    assert ik.family.name and not ik.family.redundancy
    assert apart(ik.all(T), q) < 1e-6
    locked = robot.lock({"panda_joint7": q[6]})
    assert apart(InverseKinematics(locked, "panda_link8").all(T), q[:6]) < 1e-6


def test_a_base_far_away_and_a_turned_tool_change_nothing(rng: Any) -> None:
    axes, points = ARMS["axes 2 to 4 parallel, axes 5 and 6 meet"]
    turn = so3.exp([0.4, 0.9, -0.3])
    away = arm([turn @ h for h in axes], [turn @ x + [60.0, -80.0, 3.0] for x in points])
    ik = InverseKinematics(away, "tool")
    assert ik.family.exact
    for q in away.random(rng, size=20):
        assert apart(ik.all(away.pose("tool")(q)), q) < 1e-6
    robot = hc.load("ur5")
    tool = np.eye(4)
    tool[:3, :3], tool[:3, 3] = so3.exp([0.3, 0.4, -1.0]), [0.05, -0.2, 0.3]
    turned = robot.with_frame("tcp", "tool0", tool)
    ik = InverseKinematics(turned, "tcp")
    for q in turned.random(rng, size=20):
        T = turned.pose("tcp")(q)
        assert apart(ik.all(T), q) < 1e-6


def test_solutions_in_collision_with_a_scene_are_left_out(rng: Any) -> None:
    robot = hc.load("ur5")
    scene = hc.Scene()
    scene.add("wall", hc.Box([0.1, 2.0, 2.0]), pose=[0.55, 0.0, 1.0])
    every, ik = InverseKinematics(robot, "tool0"), InverseKinematics(robot, "tool0", scene=scene)
    counts = []
    for q in robot.random(rng, size=10):
        T = robot.pose("tool0")(q)
        found = every.all(T)
        free = found[~robot.in_collision(found, scene)]
        assert np.array_equal(ik.all(T), free)
        counts.append(len(found) - len(free))
    assert sum(counts) > 0


def test_joints_that_mimic_another_are_refused_a_closed_form(tmp_path: Any) -> None:
    axes, points = ARMS["spherical shoulder"]
    file = tmp_path / "arm.urdf"
    arm([*axes, x], [*points, [0.2, 0.1, 0.9]]).to_urdf(file)
    head, tail = file.read_text().split('name="j5"', 1)
    robot = hc.load(head + 'name="j5"' + tail.replace("<limit", '<mimic joint="j4"/><limit', 1))
    assert robot.nv == 6
    form = InverseKinematics(robot, "tool" if "tool" in robot.link_names else robot.link_names[-1]).family
    assert not form.name and "mimic" in form.message


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda r: InverseKinematics(r, PositionTask("tool0")), "pose of one frame"),
        (lambda r: InverseKinematics(r, [PoseTask("tool0"), PostureTask()]), "pose of one frame"),
        (lambda r: InverseKinematics(r, PoseTask("tool0", weight=[1, 1, 0, 1, 1, 1])), "weight is zero"),
        (lambda r: InverseKinematics(r, "tool0", hold={"wrist_3_joint": 0.0}), "5 joints move the frame"),
        (lambda r: InverseKinematics(arm(SKEW + SKEW[::-1], FAR + THREE), "tool"), "no three neighbouring"),
    ],
)
def test_arms_without_a_closed_form_say_why(make: Any, words: str) -> None:
    ik = make(hc.load("ur5"))
    assert not ik.family.name and words in ik.family.message and words in repr(ik.family)
    assert not ik.family.complete and "examples from 512 searches" in repr(ik.family)
    with pytest.raises(hc.InputError, match="no joint can be given a value"):
        ik.all(redundancy=3)


def test_bad_options_are_refused() -> None:
    ik = InverseKinematics(hc.load("panda"), "panda_link8")
    T = hc.load("panda").pose("panda_link8")([0, -0.7, 0, -2.3, 0, 1.6, 0.8])
    for options in (
        {"redundancy": 0},
        {"redundancy": 1.5},
        {"redundancy": {"panda_joint1": 0.0}},
        {"apart": -1},
    ):
        with pytest.raises(hc.InputError):
            ik.all(T, **options)
    with pytest.raises(hc.InputError, match="no pose"):
        ik.all(2 * T)
    with pytest.raises(hc.InputError):
        ik.all(np.full((4, 4), np.nan))
