"""Inverse kinematics: targets met, limits kept, the nearest where nothing meets them."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import minimize

import helicoid as hc
from helicoid.control import (
    CenterOfMassTask,
    InverseKinematics,
    LookAtTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    PostureTask,
    RelativePoseTask,
)
from helicoid.geometry import se3, so3
from random_trees import fewest, moving_links, robots, seeds

pytestmark = pytest.mark.needs_compiler


class _Unreadable:
    """An object that no array can be made of."""

    def __array__(self, *arguments: object, **keywords: object) -> np.ndarray:
        raise RuntimeError("no array")


@pytest.fixture(scope="module")
def ur5() -> hc.Robot:
    return hc.load("ur5")


@pytest.fixture(scope="module")
def arm(ur5: hc.Robot) -> InverseKinematics:
    return InverseKinematics(ur5, "tool0")


@pytest.fixture(scope="module")
def planar() -> InverseKinematics:
    """Two links of 1 m that turn about y, at a height of their own."""
    return InverseKinematics(hc.load("planar_2r"), PositionTask("tip"))


def within(robot: hc.Robot, q: Any) -> bool:
    return bool(np.all(q >= robot.limits.lower) and np.all(q <= robot.limits.upper))


def test_poses_are_met_as_pinocchio_sees_them(
    ur5: hc.Robot, arm: InverseKinematics, rng: Any, tmp_path: Any
) -> None:
    pin = pytest.importorskip("pinocchio")
    ur5.to_urdf(tmp_path / "ur5.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "ur5.urdf"))
    data, frame = model.createData(), model.getFrameId("tool0")
    T = ur5.pose("tool0")(ur5.random(rng, size=50))
    found = arm(T)
    assert found.success.all() and found.q.shape == (50, 6) and found.residual.shape == (50, 6)
    for q, wanted in zip(found.q, T, strict=True):
        assert within(ur5, q)
        pin.framesForwardKinematics(model, data, q)
        assert np.allclose(data.oMf[frame].homogeneous, wanted, atol=2e-6)


def test_a_batch_gives_what_single_calls_give(ur5: hc.Robot, arm: InverseKinematics, rng: Any) -> None:
    T, Q0 = ur5.pose("tool0")(ur5.random(rng, size=30)), ur5.random(rng, size=30)
    for q0 in (None, Q0):
        batch = arm(T, q0)
        for k in range(30):
            one = arm(T[k], None if q0 is None else q0[k])
            assert isinstance(one.success, bool) and isinstance(one.error, float)
            assert np.array_equal(one.q, batch.q[k]) and one.success == batch.success[k]
            assert np.array_equal(one.residual, batch.residual[k])


def test_one_start_serves_many_targets(ur5: hc.Robot, arm: InverseKinematics, rng: Any) -> None:
    T, q0 = ur5.pose("tool0")(ur5.random(rng, size=9)), ur5.random(rng)
    batch = arm(T, q0)
    assert np.array_equal(batch.q, arm(T, np.repeat(q0[None], 9, axis=0)).q)
    assert np.array_equal(batch.q, np.array([arm(one, q0).q for one in T]))
    across = np.asfortranarray(ur5.random(rng, size=9))
    assert np.array_equal(arm(T, across).q, arm(T, np.ascontiguousarray(across)).q)


def test_threads_change_nothing(ur5: hc.Robot, arm: InverseKinematics, rng: Any) -> None:
    from helicoid.compiler.build.binding import get_num_threads

    T = ur5.pose("tool0")(ur5.random(rng, size=600))
    before = get_num_threads()
    try:
        hc.set_num_threads(1)
        one = arm(T)
        hc.set_num_threads(2)
        two = arm(T)
    finally:
        hc.set_num_threads(before)
    assert np.array_equal(one.q, two.q) and one.success.all()


def test_from_nearby_the_same_branch_is_found(ur5: hc.Robot, arm: InverseKinematics, rng: Any) -> None:
    for q in ur5.random(rng, size=20):
        near = np.clip(q + rng.uniform(-0.02, 0.02, 6), ur5.limits.lower, ur5.limits.upper)
        if np.linalg.cond(ur5.jacobian("tool0")(q)) < 50:
            assert np.allclose(arm(ur5.pose("tool0")(q), near).q, q, atol=1e-3)


def test_a_solution_is_its_own(ur5: hc.Robot, arm: InverseKinematics, rng: Any) -> None:
    q = ur5.random(rng)
    again = arm(ur5.pose("tool0")(q), q)
    assert np.allclose(again.q, q, atol=1e-12) and again.iterations <= 4


@pytest.mark.parametrize("q", [[0.3, 0.8], [-1.0, -0.7], [2.0, 2.5]])
def test_both_elbows(planar: InverseKinematics, q: list[float]) -> None:
    robot = planar.robot
    p = robot.pose("tip")(q)[:3, 3]
    found = planar.all(p, q0=q)
    assert len(found) == 2
    assert np.allclose(found[0], q, atol=1e-4) and found[1][1] == pytest.approx(-q[1], abs=1e-4)
    assert np.allclose(robot.pose("tip")(found)[:, :3, 3], p, atol=1e-5)


def test_all_solutions_of_a_wrist_partitioned_arm(ur5: hc.Robot, arm: InverseKinematics) -> None:
    q = np.array([0.4, -1.1, 1.3, 0.2, 0.9, -0.5])
    T = ur5.pose("tool0")(q)
    found = arm.all(T, q0=q)
    assert len(found) == 8  # shoulder left or right, elbow up or down, wrist flipped or not
    assert np.allclose(found[0], q, atol=1e-4) and all(within(ur5, one) for one in found)
    assert np.allclose(ur5.pose("tool0")(found), T, atol=1e-5)


def test_no_solution_out_of_reach(planar: InverseKinematics) -> None:
    assert planar.all([5.0, 0.0, 0.0]).shape == (0, 2)


@pytest.mark.parametrize("target", [[9.0, 0.0, 0.3], [0.0, 0.0, -7.0], [0.2, 0.7, 0.4]])
def test_out_of_reach_is_as_near_as_a_search_of_scipy_comes(
    planar: InverseKinematics, target: list[float]
) -> None:
    robot = planar.robot.with_joints(lower={"joint_1": -1.0}, upper={"joint_1": 0.9})
    limited = InverseKinematics(robot, PositionTask("tip"))
    found = limited(target)

    def cost(q: Any) -> float:
        return float(np.sum((robot.pose("tip")(q)[:3, 3] - target) ** 2))

    bounds = list(zip(robot.limits.lower, robot.limits.upper, strict=True))
    starts = robot.random(1, size=12)
    best = min(minimize(cost, q, bounds=bounds, tol=1e-12).fun for q in starts)
    assert not found.success and within(robot, found.q)
    assert found.error**2 == pytest.approx(best, rel=1e-6)
    assert found.error == pytest.approx(np.linalg.norm(found.residual))


def test_at_the_bounds_themselves(planar: InverseKinematics) -> None:
    robot = planar.robot.with_joints(
        lower={"joint_1": -0.5, "joint_2": -1.2}, upper={"joint_1": 0.5, "joint_2": 0.3}
    )
    limited = InverseKinematics(robot, PositionTask("tip"))
    for q in ([-0.5, -1.2], [0.5, -1.2]):  # whose other elbow is beyond the limits
        found = limited(robot.pose("tip")(q)[:3, 3], q0=[0.0, 0.0])
        assert found.success and within(robot, found.q) and np.allclose(found.q, q, atol=1e-3)


def test_a_start_beyond_the_limits_is_brought_back(planar: InverseKinematics) -> None:
    robot = planar.robot.with_joints(lower={"joint_1": -0.5}, upper={"joint_1": 0.5})
    found = InverseKinematics(robot, PositionTask("tip"))(
        robot.pose("tip")([0.2, 0.7])[:3, 3], q0=[99.0, -3.0]
    )
    assert found.success and within(robot, found.q)


INERTIA = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
GEARED = f"""<robot name="geared"><link name="base"/><link name="one">{INERTIA}</link>
  <link name="two">{INERTIA}</link><link name="tip"/>
  <joint name="leader" type="continuous"><parent link="base"/><child link="one"/><axis xyz="0 0 1"/></joint>
  <joint name="follower" type="continuous"><parent link="one"/><child link="two"/><origin xyz="1 0 0"/>
    <axis xyz="0 0 1"/><mimic joint="leader" multiplier="0.5"/></joint>
  <joint name="end" type="fixed"><parent link="two"/><child link="tip"/><origin xyz="1 0 0"/></joint>
</robot>"""


def test_a_turn_of_a_joint_that_others_follow_is_another_pose() -> None:
    robot = hc.load(GEARED)
    ik = InverseKinematics(robot, "tip")
    for angle in (-4.0, 0.3, 5.5):
        target = robot.pose("tip")([angle])
        for start in (-9.0, 0.0, 9.0):
            found = ik(target, q0=[start])
            assert not found.success or np.allclose(robot.pose("tip")(found.q), target, atol=1e-5)
        assert all(np.allclose(robot.pose("tip")(q), target, atol=1e-5) for q in ik.all(target))


def test_an_equation_that_counts_turns_holds_in_every_success() -> None:
    robot = hc.load("planar_2r").with_joints(lower=-np.inf, upper=np.inf)
    robot = robot.constrain(holonomic=lambda q: q[0] - 0.4 * q[1])
    ik = InverseKinematics(robot, PositionTask("tip"))
    for q1 in (0.8, -2.0):
        target = robot.pose("tip")([0.4 * q1, q1])[:3, 3]
        for start in (-8.0, 0.0, 8.0):
            found = ik(target, q0=[0.4 * start, start])
            assert not found.success or abs(found.q[0] - 0.4 * found.q[1]) < 1e-5


@fewest
@given(robot=robots(max_bodies=4), seed=seeds)
def test_every_joint_type_and_base(robot: hc.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = moving_links(robot)[-1] if moving_links(robot) else None
    if frame is None:
        return
    ik = InverseKinematics(robot, frame)
    for q in robot.random(rng, size=3):
        found = ik(robot.pose(frame)(q), q0=robot.random(rng))
        assert found.success
        assert np.allclose(robot.pose(frame)(found.q), robot.pose(frame)(q), atol=1e-5)
        assert np.all(found.q >= robot.limits.lower - 1e-12) and np.all(found.q <= robot.limits.upper + 1e-12)
        for joint in robot.model.independent_joints:
            if joint.type.quaternion is not None:
                part = found.q[robot.index(joint.name)[0]][joint.type.quaternion]
                assert np.linalg.norm(part) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
def test_four_feet_and_the_center_of_mass_of_a_floating_robot(rng: Any) -> None:
    robot = hc.load("quadruped", base="floating")
    feet = [name for name in robot.link_names if "foot" in name.lower()][:4]
    assert len(feet) == 4
    q = robot.random(rng)
    tasks = [PositionTask(foot, robot.pose(foot)(q)[:3, 3]) for foot in feet]
    com = np.asarray(robot.center_of_mass(q))
    ik = InverseKinematics(robot, [*tasks, CenterOfMassTask()])
    found = ik(com, q0=q + np.r_[0.05, 0, 0.02, np.zeros(robot.nq - 3)])
    assert found.success
    assert np.allclose(robot.center_of_mass(found.q), com, atol=1e-5)
    for foot, task in zip(feet, tasks, strict=True):
        assert np.allclose(robot.pose(foot)(found.q)[:3, 3], task.target, atol=1e-5)


@pytest.mark.parametrize("far", [10.0, 1e3, 1e6])
def test_a_floating_base_reaches_a_far_target(far: float, rng: Any) -> None:
    robot = hc.load("quadruped", base="floating")
    foot = next(name for name in robot.link_names if "foot" in name.lower())
    ik = InverseKinematics(robot, foot)
    T = robot.pose(foot)(robot.random(rng, size=6))
    T[:, :3, 3] += far * rng.normal(size=(6, 3))
    for found in (ik(T), ik(T, q0=robot.neutral())):
        assert found.success.all()
        assert np.allclose(robot.pose(foot)(found.q), T, rtol=1e-12, atol=1e-5)
    one = ik(T[0])
    assert one.success and np.array_equal(one.q, ik(T).q[0])
    assert len(ik.all(T[0])) > 0 and not ik.path(T[:1] + np.zeros((3, 1, 1)), q0=robot.neutral()).jumps


def test_looking_at_a_point(ur5: hc.Robot) -> None:
    ik = InverseKinematics(ur5, [PositionTask("tool0"), LookAtTask("tool0")])
    eye, point = np.array([0.4, 0.2, 0.5]), np.array([0.6, -0.1, 0.1])
    found = ik({"tool0 position": eye, "tool0 looks at": point})
    T = ur5.pose("tool0")(found.q)
    assert found.success and np.allclose(T[:3, 3], eye, atol=1e-5)
    assert np.allclose(T[:3, 2], (point - eye) / np.linalg.norm(point - eye), atol=1e-5)


@pytest.mark.slow
def test_a_pose_seen_from_another_link(ur5: hc.Robot) -> None:
    q = np.array([0.2, -0.8, 1.0, 0.4, 0.6, 0.1])
    between = np.linalg.inv(ur5.pose("upper_arm_link")(q)) @ ur5.pose("tool0")(q)
    ik = InverseKinematics(ur5, RelativePoseTask("tool0", seen_from="upper_arm_link"))
    start = np.array([1.0, -0.3, 0.9, 0.4, 0.5, 0.2])
    found = ik(between, q0=start)
    seen = np.linalg.inv(ur5.pose("upper_arm_link")(found.q)) @ ur5.pose("tool0")(found.q)
    # Four joints lie between; the pose of one configuration can be met, and the joints below stay.
    assert found.success and np.allclose(seen, between, atol=1e-5) and np.array_equal(found.q[:2], start[:2])


def test_a_free_turn_about_the_tool(ur5: hc.Robot) -> None:
    ik = InverseKinematics(ur5, PoseTask("tool0", weight=[1, 1, 0, 1, 1, 1], reference="body"))
    T = ur5.pose("tool0")([0.4, -1.1, 1.3, 0.2, 0.9, -0.5])
    turned = T @ np.asarray(se3.pose(so3.exp([0.0, 0.0, 2.0]), np.zeros(3)))
    found = ik(turned, q0=np.array([0.4, -1.1, 1.3, 0.2, 0.9, -0.5]))
    assert found.success and abs(found.residual[2]) == pytest.approx(2.0, abs=1e-3)  # nobody asked to turn
    assert np.allclose(ur5.pose("tool0")(found.q)[:3, 2:], T[:3, 2:], atol=1e-5)


def test_weights_settle_a_contradiction() -> None:
    robot = hc.load("planar_2r")
    here, there = np.array([1.0, 0.0, 0.5]), np.array([1.0, 0.0, 0.9])
    for w in (1.0, 4.0):
        tasks = [PositionTask("tip", here, weight=w, name="here"), PositionTask("tip", there, name="there")]
        found = InverseKinematics(robot, tasks)()
        assert not found.success
        between = (w * here + there) / (w + 1)  # the weighted mean, which is in reach
        assert np.allclose(robot.pose("tip")(found.q)[:3, 3], between, atol=1e-5)


@pytest.mark.slow
def test_a_posture_chooses_among_solutions_and_never_spoils_one() -> None:
    robot = hc.load("panda")
    rest = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
    T = robot.pose("panda_link8")([0.5, 0.2, -0.6, -1.8, 0.3, 2.0, 0.1])
    start = np.array([0.5, 0.2, -0.6, -1.8, 0.3, 2.0, 0.1])
    plain = InverseKinematics(robot, "panda_link8")(T, q0=start)
    ik = InverseKinematics(robot, [PoseTask("panda_link8"), PostureTask(rest, weight=0.01)])
    found = ik({"panda_link8 pose": T}, q0=start)
    assert found.success and np.allclose(robot.pose("panda_link8")(found.q), T, atol=2e-6)
    assert np.linalg.norm(found.q - rest) < np.linalg.norm(plain.q - rest) - 0.1
    # The way to rest has nothing left along the self-motion, which J cannot see.
    null = np.linalg.svd(robot.jacobian("panda_link8")(found.q))[2][-1]
    assert abs(null @ (found.q - rest)) < 0.02


def test_loops_stay_closed() -> None:
    robot = hc.load("ur5").constrain(holonomic=lambda q: [q[3] + q[1] + q[2] + 1.0, q[4] - 0.5])
    ik = InverseKinematics(robot, PositionTask("tool0"))
    target = robot.pose("tool0")(robot.project_configuration([0.3, -1.0, 1.2, 0, 0, 0]))[:3, 3]
    for p, reached in ((target, True), ([3.0, 0.0, 0.2], False)):
        found = ik(p)
        assert found.success is reached
        assert np.abs(robot.constraint_position(found.q)).max() < 1e-5


def test_held_joints_stay_and_are_in_the_answer(ur5: hc.Robot) -> None:
    held = {"shoulder_pan_joint": 0.3, "wrist_3_joint": -0.4}
    ik = InverseKinematics(ur5, PositionTask("tool0"), hold=held)
    q = np.array([0.3, -1.0, 1.2, 0.5, 0.7, -0.4])
    for q0 in (None, np.ones(6)):
        found = ik(ur5.pose("tool0")(q)[:3, 3], q0=q0)
        assert found.success and found.q[0] == 0.3 and found.q[5] == -0.4


@pytest.mark.slow
def test_what_no_task_moves_stays_at_q0() -> None:
    robot = hc.load("quadruped")
    foot = next(name for name in robot.link_names if "foot" in name.lower())
    q0 = robot.random(3)
    found = InverseKinematics(robot, PositionTask(foot))(robot.pose(foot)(robot.random(4))[:3, 3], q0)
    moved = found.q != q0
    assert found.success and 0 < moved.sum() <= 3
    # Nor do they move where the search starts elsewhere.
    far = InverseKinematics(robot, PositionTask(foot))([9.0, 9.0, 9.0], q0)
    assert not far.success and (far.q != q0).sum() <= 3


def test_endless_joints_end_near_where_they_began() -> None:
    robot = hc.load("planar_2r")
    robot = robot.with_model(_endless(robot))
    target = robot.pose("tip")([0.3, 0.8])[:3, 3]
    ik = InverseKinematics(robot, PositionTask("tip"))
    assert np.abs(ik(target).q).max() <= np.pi + 1e-9
    assert np.allclose(ik(target, q0=[20 * np.pi + 0.3, 0.8]).q, [20 * np.pi + 0.3, 0.8], atol=1e-5)


def _endless(robot: hc.Robot) -> Any:
    from dataclasses import replace

    from helicoid.model.joints import Continuous

    joints = [
        replace(joint, type=Continuous(joint.type.axis), limits=None)
        if joint.name.startswith("joint_")
        else joint
        for joint in robot.model.joints
    ]
    return robot.model.replaced(joints=tuple(joints))


@pytest.mark.parametrize("far", [1e3, 1e9, 1e15, 1e100])
def test_a_start_after_many_turns_costs_no_digits(far: float) -> None:
    """Whole turns towards such a start would leave none of the angle."""
    robot = hc.load("planar_2r")
    robot = robot.with_model(_endless(robot))
    ik, T = InverseKinematics(robot, "tip"), robot.pose("tip")([0.3, 0.8])
    for q0 in ([far, 0.0], [-far, far]):
        found = ik(T[None], q0)
        np.testing.assert_array_equal(found.q[0], ik(T, q0).q)
        assert found.success.all()
        np.testing.assert_allclose(robot.pose("tip")(found.q[0]), T, atol=2e-6)


def test_limits_of_many_turns_are_no_hindrance(rng: Any) -> None:
    """Some files write 1e16 rad for an endless joint."""
    robot = hc.load("planar_2r").with_joints(lower=-1e16, upper=1e16)
    ik, Q = InverseKinematics(robot, "tip"), rng.uniform(-3.0, 3.0, size=(20, 2))
    for q0 in (None, robot.random(rng)):
        found = ik(robot.pose("tip")(Q), q0)
        assert found.success.all() and np.abs(found.q).max() < 20.0


@pytest.mark.slow
def test_orientation_alone(ur5: hc.Robot) -> None:
    R = np.asarray(so3.exp([0.5, -1.0, 2.0]))
    found = InverseKinematics(ur5, OrientationTask("tool0"))(R)
    assert found.success and np.allclose(ur5.pose("tool0")(found.q)[:3, :3], R, atol=1e-5)


BAD = [
    (np.full((4, 4), np.nan), "must be finite"),
    (np.diag([1.0, 1.0, -1.0, 1.0]), "is no rotation"),
    (np.array([np.eye(4), np.full((4, 4), np.inf)]), "must be finite"),
    (np.array([np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0])]), "is no rotation"),
    (np.eye(4) * 1.01, "last row"),
    (np.eye(3), "has shape (4, 4)"),
    (np.zeros((2, 3, 4, 4)), "has shape (4, 4)"),
    (None, "none was given"),
    ("up", "must be numbers"),
    ({"elsewhere": np.eye(4)}, "no task is called 'elsewhere'"),
]


@pytest.mark.parametrize(("target", "message"), BAD)
def test_what_is_no_target_is_refused(arm: InverseKinematics, target: Any, message: str) -> None:
    with pytest.raises(hc.InputError, match=re.escape(message)):
        arm(target)


@pytest.mark.parametrize("q0", [np.zeros(5), np.full(6, np.nan), "zero", np.zeros((2, 6))])
def test_what_is_no_start_is_refused(arm: InverseKinematics, q0: Any) -> None:
    with pytest.raises(hc.InputError, match="q0"):
        arm(arm.robot.pose("tool0")(arm.robot.neutral()), q0)


def test_what_is_no_problem_is_refused(ur5: hc.Robot) -> None:
    for bad, message in (
        ({"tasks": "nowhere"}, "nowhere"),
        ({"tasks": []}, "takes a frame, a task or several"),
        ({"tasks": [PoseTask("tool0"), PoseTask("tool0")]}, "two tasks are called"),
        ({"tasks": None}, "a frame, a task or several"),
        ({"tasks": "base_link"}, "no joint that is free moves anything"),
        ({"tasks": PositionTask("tool0", weight=0.0)}, "every weight is zero"),
        ({"tasks": "tool0", "tolerance": 0.0}, "tolerance"),
        ({"tasks": "tool0", "tolerance": np.nan}, "tolerance"),
        ({"tasks": "tool0", "starts": 0}, "starts"),
        ({"tasks": "tool0", "hold": {"elbow": 0.0}}, "elbow"),
        ({"tasks": "tool0", "hold": {"elbow_joint": 99.0}}, "beyond the limits"),
    ):
        with pytest.raises(hc.HelicoidError, match=message):
            InverseKinematics(ur5, **bad)  # type: ignore[arg-type]
    with pytest.raises(hc.InputError, match="takes a robot"):
        InverseKinematics("ur5", "tool0")  # type: ignore[arg-type]


def test_several_targets_are_reported_by_name(ur5: hc.Robot) -> None:
    ik = InverseKinematics(ur5, [PositionTask("tool0"), OrientationTask("tool0")])
    with pytest.raises(hc.InputError, match="give them by name"):
        ik(np.zeros(3))


def test_a_copy_gives_the_same_answers(planar: InverseKinematics) -> None:
    copied = pickle.loads(pickle.dumps(planar))
    assert np.array_equal(copied([0.5, 0.0, 0.5]).q, planar([0.5, 0.0, 0.5]).q)


def test_long_batches_are_cut_without_a_trace(planar: InverseKinematics, rng: Any) -> None:
    P = planar.robot.pose("tip")(planar.robot.random(rng, size=5000))[:, :3, 3]
    found = planar(P)
    assert found.success.all() and np.array_equal(found.q[-3:], planar(P[-3:]).q)


def test_no_targets_no_answers(arm: InverseKinematics) -> None:
    found = arm(np.zeros((0, 4, 4)))
    assert found.q.shape == (0, 6) and found.success.shape == (0,)


def test_far_and_huge_targets_give_finite_answers(planar: InverseKinematics) -> None:
    for size in (1e3, 1e8, 1e150, 1e200, 1e308):
        planar([0.5, 0.0, 0.5])  # whose answer is not to be taken for the next
        found = planar([size, 0.0, 0.0])
        assert not found.success and np.all(np.isfinite(found.q)) and within(planar.robot, found.q)
        assert found.error >= 0.9 * size and found.residual[0] >= 0.9 * size


def test_without_a_compiler_it_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    from helicoid.control.ik import engine

    def nothing(*args: Any) -> None:
        raise hc.CompileError("there is no C compiler")

    monkeypatch.setattr(engine, "compile_with_functions", nothing)
    ik = InverseKinematics(hc.load("planar_2r"), PositionTask("tip"))
    with pytest.raises(hc.CompileError, match="Inverse kinematics is compiled C"):
        ik([1.0, 0.0, 0.5])


@pytest.mark.parametrize(
    "bad", [_Unreadable(), np.zeros(6, complex), np.zeros(6, bool), ["0"] * 6, 10**400], ids=range(5)
)
def test_what_is_no_configuration_is_refused_as_q0(bad):
    robot = hc.load("ur5")
    ik = InverseKinematics(robot, "tool0")
    with pytest.raises(hc.InputError, match="q0"):
        ik(robot.pose("tool0")(np.zeros(6)), bad)
