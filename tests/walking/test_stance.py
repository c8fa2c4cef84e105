"""The ground under the feet in stance, and forces against creeping, on configurations that are made."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.walking.stance import Stance

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
ALL = np.ones(4, bool)
RADIUS = 0.02


@pytest.fixture(scope="module")
def robot() -> hc.Robot:
    return hc.load("quadruped", base="floating")


@pytest.fixture
def q(robot: hc.Robot) -> np.ndarray:
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    return q


def lowest(robot: hc.Robot, q: np.ndarray) -> float:
    return min(float(robot.pose(foot)(q)[2, 3]) for foot in FEET) - RADIUS


def test_the_ground_is_under_the_feet_at_once(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS)
    assert np.isnan(stance.ground)
    stance.update(q, ALL, 0.002)
    assert stance.ground == pytest.approx(lowest(robot, q), abs=1e-9)
    q[2] += 0.05  # a slope, a step: it follows
    for _ in range(500):
        stance.update(q, ALL, 0.002)
    assert stance.ground == pytest.approx(lowest(robot, q), abs=1e-4)


def test_feet_in_swing_count_for_neither(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS)
    standing = np.array([True, False, False, True])
    stance.update(q, standing, 0.002)
    low = stance.ground
    q[10:13] += [0.2, 0.3, -0.4]  # the front right leg swings
    stance.update(q, standing, 0.002)
    assert stance.ground == pytest.approx(low, abs=1e-12) and not stance.forces.any()


def test_feet_that_creep_apart_are_pulled_together(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS)
    stance.update(q, ALL, 0.002)
    before = np.array([robot.pose(foot)(q)[:2, 3] for foot in FEET])
    q[[7, 13]] += 0.05  # the left legs outwards
    q[[10, 16]] -= 0.05
    stance.update(q, ALL, 0.002)
    drift = np.array([robot.pose(foot)(q)[:2, 3] for foot in FEET]) - before
    assert np.all(drift[[0, 2], 1] > 0) and np.all(drift[[1, 3], 1] < 0)
    # The ground answers a foot that pulls inwards with a force outwards.
    assert np.all(np.sum(stance.forces[:, :2] * drift, axis=1) > 0)
    np.testing.assert_allclose(stance.forces.sum(axis=0), 0.0, atol=1e-9)  # internal forces only
    most = 0.1 * robot.mass * 9.81 / 4
    assert np.abs(stance.forces).max() <= most + 1e-9 and not stance.forces[:, 2].any()


def test_a_common_displacement_gives_no_force(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS)
    stance.update(q, ALL, 0.002)
    q[:2] += [0.3, -0.1]
    stance.update(q, ALL, 0.002)
    np.testing.assert_allclose(stance.forces, 0.0, atol=1e-9)


def test_a_foot_that_lands_is_held_where_it_landed(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS)
    stance.update(q, ALL, 0.002)
    stance.update(q, np.array([False, True, True, True]), 0.002)
    q[7] += 0.1
    stance.update(q, ALL, 0.002)
    np.testing.assert_allclose(stance.forces, 0.0, atol=1e-9)
    stance.reset()
    assert np.isnan(stance.ground) and not stance.forces.any()
