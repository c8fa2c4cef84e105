"""Targets out of reach: the robot rests or its status says why not; within reach nothing changes."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.control import DifferentialIK, PoseTask, PositionTask, PostureTask
from helicoid.geometry import so3

pytestmark = pytest.mark.needs_compiler
HOME = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8])
DT = 0.01


@pytest.fixture(scope="module")
def ik():
    hand = PoseTask("panda_link8", name="hand")
    return DifferentialIK(hc.load("panda"), [hand, PostureTask(HOME)], DT, "strict")


def followed(ik, q, seconds):
    """Velocities of all steps, and the last configuration."""
    ik.reset()
    velocities = []
    for _ in range(round(seconds / DT)):
        velocities.append(ik.step(q))
        q = ik.robot.integrate(q, DT * velocities[-1])
    return np.array(velocities), q


def test_out_of_reach_the_posture_does_not_chatter(ik):
    target = ik.robot.pose("panda_link8")(HOME)
    target[:3, 3] += [0.6, 0.0, 0.3]
    ik.set(hand=target)
    velocities, _ = followed(ik, HOME, 5.0)
    assert np.abs(velocities[-20:]).max() < 1e-3
    assert np.abs(np.diff(velocities[100:], axis=0)).max() < 0.1  # was 2.3 rad/s at every step, for ever


def test_any_target_out_of_reach_ends_at_rest(ik, rng):
    for _ in range(12):
        target, way = np.eye(4), rng.normal(size=3)
        target[:3, :3] = so3.exp(rng.normal(size=3))
        target[:3, 3] = way / np.linalg.norm(way) * rng.uniform(1.2, 2.5)
        ik.set(hand=target)
        velocities, _ = followed(ik, HOME, 5.0)
        assert np.abs(velocities[-20:]).max() < 1e-2 or not ik.ok


def test_back_within_reach_both_levels_converge(ik):
    target = ik.robot.pose("panda_link8")(HOME + 0.2)
    far = target.copy()
    far[:3, 3] += [1.0, 0.0, 0.5]
    ik.set(hand=far)
    _, q = followed(ik, HOME, 4.0)
    ik.set(hand=target)
    for _ in range(600):
        q = ik.robot.integrate(q, DT * ik.step(q))
    assert np.linalg.norm(ik.error("hand")) < 1e-8
    J = ik.robot.jacobian("panda_link8", "world_aligned")(q)
    null = np.linalg.svd(J)[2][-1]
    assert abs(null @ ik.error("posture")) < 1e-3  # what the hand leaves free is at the posture


def test_a_low_velocity_limit_is_no_target_out_of_reach(ik):
    limit = ik.robot.limits.velocity
    ik.set(hand=ik.robot.pose("panda_link8")(HOME + 0.5), velocity_limit=1e-4)
    _, q = followed(ik, HOME, 5.0)
    ik.set(velocity_limit=limit)
    assert np.abs(q - HOME).max() == pytest.approx(5e-4)


def test_a_stretched_arm_folds_for_a_target_within_reach():
    robot = hc.load("ur5")
    home = np.array([0.0, -1.0, 1.5, 0.3, 1.0, 0.0])
    ik = DifferentialIK(robot, [PositionTask("tool0", name="hand"), PostureTask(home)], DT, "strict")
    ik.set(hand=robot.pose("tool0")(home)[:3, 3])
    followed(ik, np.zeros(6), 5.0)
    assert np.linalg.norm(ik.error("hand")) < 1e-6


def pose(rotation, position):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = so3.exp(np.array(rotation)), position
    return T


@pytest.fixture(scope="module")
def weighted():
    return DifferentialIK(hc.load("panda"), [PoseTask("panda_link8", name="hand"), PostureTask(HOME)], DT)


VALLEY = pose([-0.92, -0.8, 1.21], [-1.35, 0.6, -0.47])


def test_motion_along_a_flat_valley_of_the_error_is_reported(weighted):
    """0.05 rad/s for tens of seconds, while the weighted sum falls by 0.04 % a second."""
    weighted.set(hand=VALLEY)
    velocities, _ = followed(weighted, HOME, 4.0)
    assert np.abs(velocities[-20:]).max() > 0.01
    assert not weighted.ok and weighted.status is hc.Status.NO_PROGRESS and "out of reach" in weighted.message
    weighted.reset()
    assert weighted.status is hc.Status.NOT_STARTED
    np.testing.assert_array_equal(followed(weighted, HOME, 0.5)[0], velocities[:50])


def test_a_target_that_moves_or_is_reached_is_never_called_no_progress(weighted, rng):
    near = weighted.robot.pose("panda_link8")(HOME)
    for k in range(300):  # out of reach and back, the state with the noise of encoders
        T = near.copy()
        T[:3, 3] += [0.6 * np.sin(np.pi * k / 300), 0.0, 0.0]
        weighted.set(hand=T)
        weighted.step(HOME + 1e-4 * rng.normal(size=7))
        assert weighted.ok
    weighted.set(hand=near)
    weighted.reset()
    for _ in range(300):
        weighted.step(HOME + 1e-4 * rng.normal(size=7))
        assert weighted.ok


@pytest.mark.parametrize("gain", [1.0, 10.0])
def test_arrival_at_a_compromise_is_progress(weighted, gain, rng):
    """A sum of tasks that contradict each other never vanishes: 46 % of the steps were "no progress"."""
    robot, steps, told = weighted.robot, round(5 / gain / DT) + 100, 0
    for _ in range(10):
        weighted.set(
            hand=robot.pose("panda_link8")(HOME + 0.4 * rng.normal(size=7)),
            **{"posture_weight": 0.03, "hand_gain": gain, "posture_gain": gain},
        )
        weighted.reset()
        q = HOME
        for _ in range(steps):
            q = robot.integrate(q, DT * weighted.step(q))
            told += not weighted.ok
    weighted.set(posture_weight=1.0, hand_gain=10.0, posture_gain=10.0)
    assert told <= 0.03 * 10 * steps


@pytest.mark.parametrize("bend", [1e-9, 1e-3])
def test_a_stretched_elbow_folds_for_a_target_that_stands_still(bend):
    robot = hc.load("planar_2r")
    ik = DifferentialIK(robot, PositionTask("tip", name="tip"), DT, "strict")
    ik.set(tip=0.7 * robot.pose("tip")(np.zeros(2))[:3, 3])
    followed(ik, np.array([0.0, bend]), 5.0)
    assert ik.ok and np.linalg.norm(ik.error("tip")) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("priorities", ["weighted", "strict"])
@pytest.mark.parametrize(
    ("name", "frame", "home"),
    [("panda", "panda_link8", HOME), ("kuka_lwr4", "flange", [0, 0.5, 0, -1.5, 0, 0.8, 0])],
)
def test_after_five_seconds_robots_rest_or_say_why_not(priorities, name, frame, home, rng):
    robot, home = hc.load(name), np.array(home)
    ik = DifferentialIK(robot, [PoseTask(frame, name="hand"), PostureTask(home)], DT, priorities)
    reach = max(np.linalg.norm(robot.pose(frame)(robot.random(rng))[:3, 3]) for _ in range(500))
    moving = 0
    for _ in range(100):
        way = rng.normal(size=3)
        ik.set(hand=pose(rng.normal(size=3), way / np.linalg.norm(way) * reach * rng.uniform(1.2, 2.0)))
        velocities, _ = followed(ik, home, 5.0)
        is_moving = np.abs(velocities[-10:]).max() >= 1e-3
        moving += is_moving
        assert not is_moving or ik.status is hc.Status.NO_PROGRESS
    assert moving <= 10
