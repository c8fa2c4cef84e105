"""Strict priorities with targets out of reach: the robot comes to rest, and nothing is lost within reach."""

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
