"""The ground under the feet in stance, and forces against creeping, on configurations that are made."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.walking import Gait
from helicoid.walking.stance import Stance

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
ALL = np.ones(4, bool)
REST = np.zeros(18)
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


def test_feet_that_slide_apart_are_reported(robot: hc.Robot, q: np.ndarray) -> None:
    before = np.array([robot.pose(foot)(q)[:2, 3] for foot in FEET])
    stance = Stance(robot, FEET, RADIUS, q)
    stance.update(q, REST, ALL, 0.002)
    q[0] += 0.1  # all feet together
    stance.update(q, REST, ALL, 0.002)
    assert stance.slid == pytest.approx(0.0, abs=1e-12)
    q[7:] += np.tile([0.05, 0.1, 0.0], 4) * np.repeat([1, -1, 1, -1], 3)
    stance.update(q, REST, ALL, 0.002)
    drift = np.array([robot.pose(foot)(q)[:2, 3] for foot in FEET]) - before
    assert (
        stance.slid == pytest.approx(float(np.abs(drift - drift.mean(axis=0)).max())) and stance.slid > 0.01
    )
    stance.update(q, REST, np.zeros(4, bool), 0.002)
    assert stance.slid == 0.0


def test_the_ground_is_under_the_feet_at_once(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS, q)
    assert np.isnan(stance.ground)
    stance.update(q, REST, ALL, 0.002)
    assert stance.ground == pytest.approx(lowest(robot, q), abs=1e-9)
    q[2] += 0.05  # a slope, a step: it follows
    for _ in range(500):
        stance.update(q, REST, ALL, 0.002)
    assert stance.ground == pytest.approx(lowest(robot, q), abs=1e-4)


def test_feet_in_swing_count_for_neither(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS, q)
    standing = np.array([True, False, False, True])
    stance.update(q, REST, standing, 0.002)
    low = stance.ground
    q[10:13] += [0.2, 0.3, -0.4]  # the front right leg swings
    stance.update(q, REST, standing, 0.002)
    assert stance.ground == pytest.approx(low, abs=1e-12) and not stance.forces.any()


def test_feet_that_creep_apart_are_pulled_together(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS, q)
    stance.update(q, REST, ALL, 0.002)
    before = np.array([robot.pose(foot)(q)[:2, 3] for foot in FEET])
    q[[7, 13]] += 0.05  # the left legs outwards
    q[[10, 16]] -= 0.05
    stance.update(q, REST, ALL, 0.002)
    drift = np.array([robot.pose(foot)(q)[:2, 3] for foot in FEET]) - before
    assert np.all(drift[[0, 2], 1] > 0) and np.all(drift[[1, 3], 1] < 0)
    # The ground answers a foot that pulls inwards with a force outwards.
    assert np.all(np.sum(stance.forces[:, :2] * drift, axis=1) > 0)
    np.testing.assert_allclose(stance.forces.sum(axis=0), 0.0, atol=1e-9)  # internal forces only
    most = 0.1 * robot.mass * 9.81 / 4
    assert np.abs(stance.forces).max() <= most + 1e-9 and not stance.forces[:, 2].any()


def test_a_common_displacement_gives_no_force(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS, q)
    stance.update(q, REST, ALL, 0.002)
    q[:2] += [0.3, -0.1]
    stance.update(q, REST, ALL, 0.002)
    np.testing.assert_allclose(stance.forces, 0.0, atol=1e-9)


def test_a_foot_that_lands_is_held_where_it_landed(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS, q)
    stance.update(q, REST, ALL, 0.002)
    stance.update(q, REST, np.array([False, True, True, True]), 0.002)
    q[7] += 0.1
    stance.update(q, REST, ALL, 0.002)
    np.testing.assert_allclose(stance.forces, 0.0, atol=1e-9)
    stance.reset()
    assert np.isnan(stance.ground) and not stance.forces.any()


def test_a_foot_that_falls_in_stance_is_late_until_it_rests(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS, q)
    stance.update(q, REST, ALL, 0.002)
    before = robot.pose("FR_foot")(q)[2, 3]
    q[12] += 0.2  # the ground is lower there
    assert robot.pose("FR_foot")(q)[2, 3] < before - 0.011
    J = robot.jacobian("FR_foot", "world_aligned")(q)

    def moving(down: float) -> np.ndarray:
        return np.linalg.pinv(J[5:6, 9:12]).ravel() * -down

    for down, late in ((0.3, False), (0.6, True), (0.3, True), (0.1, False)):
        v = np.zeros(18)
        v[9:12] = moving(down)
        stance.update(q, v, ALL, 0.002)
        np.testing.assert_array_equal(stance.late, [False, late, False, False])
    v[9:12] = moving(0.6)
    stance.update(q, v, np.array([True, False, True, True]), 0.002)
    assert not stance.late.any()  # it swings
    ground = robot.pose("FR_foot")(q)[2, 3] - RADIUS
    np.testing.assert_allclose(stance.frames[1, 2], ground + RADIUS - stance.ground)


def test_phases_that_have_begun_have_the_heights_of_their_feet(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS, q)
    q[[11, 12]] += [0.2, -0.4]  # the front right foot on a stone
    stance.update(q, REST, ALL, 0.002)
    stone = robot.pose("FR_foot")(q)[2, 3] - RADIUS - stance.ground
    gait = Gait.trot(*FEET)
    phases, elapsed = gait.begun_phases(1.1, 0.5, np.inf, 0.8)
    placed = stance.placed(phases, elapsed, 0.0, np.zeros(2))
    assert elapsed == pytest.approx(0.35) and placed[0].duration == pytest.approx(0.25)
    assert set(placed[0].contacts) == {"FR_foot", "RL_foot"} and stone > 0.01
    assert placed[0].steps["FR_foot"][2] == pytest.approx(stone)
    assert set(placed[1].steps) == {"FL_foot", "RR_foot"} and placed[2].steps["FR_foot"][2] < 0.01


def test_a_slope_is_found_and_the_next_steps_are_on_it(robot: hc.Robot, q: np.ndarray) -> None:
    stance, pitch = Stance(robot, FEET, RADIUS, q), 0.15
    tilted = q.copy()
    tilted[3:7] = np.cos(pitch / 2), 0.0, -np.sin(pitch / 2), 0.0  # nose up, as the ground
    for _ in range(3000):
        stance.update(tilted, REST, ALL, 0.002)
    np.testing.assert_allclose(stance.slope, [np.tan(pitch), 0.0], atol=0.02 * np.tan(pitch))
    phases, elapsed = Gait.trot(*FEET).begun_phases(1.1, 0.5, np.inf, 0.8)
    placed = stance.placed(phases, elapsed, 0.0, np.array([0.4, 0.0]))
    front, begin = robot.pose("FL_foot")(q)[0, 3], placed[0].duration + placed[1].duration - elapsed
    wanted = (front + 0.4 * begin) * stance.slope[0]
    assert begin == pytest.approx(0.15) and wanted > 0.02
    assert placed[2].steps["FR_foot"][2] == pytest.approx(wanted, abs=1e-6)


def test_the_ground_is_where_feet_are_without_their_load(robot: hc.Robot, q: np.ndarray) -> None:
    stance, share, depth = Stance(robot, FEET, RADIUS, q), robot.mass * 9.81 / 4, 0.01
    surface, height = lowest(robot, q), q[2]
    for k in range(2000):
        load = share * (1 + 0.5 * np.sin(0.02 * k))
        q[2] = height - depth * load / share
        stance.update(q, REST, ALL, 0.002, np.full(4, load))
    assert stance.surface == pytest.approx(surface, abs=0.1 * depth)
    assert stance.ground == pytest.approx(surface - depth, abs=0.5 * depth)
    assert stance.roughness < 1e-3


def test_loads_that_move_between_the_feet_do_not_tilt_the_ground(robot: hc.Robot, q: np.ndarray) -> None:
    stance, share = Stance(robot, FEET, RADIUS, q), robot.mass * 9.81 / 4
    height = q[2]
    for k in range(2000):
        load = share * (1 + 0.5 * np.sin(0.02 * k))
        q[2] = height - 0.01 * load / share
        stance.update(q, REST, ALL, 0.002, np.full(4, load))
    front = np.array([foot.startswith("F") for foot in FEET])
    for _ in range(1000):  # the commanded loads move, the feet do not
        stance.update(q, REST, ALL, 0.002, share * np.where(front, 1.5, 0.5))
    assert stance.depth > 0.002
    np.testing.assert_allclose(stance.slope, 0.0, atol=1e-3)


def test_uneven_ground_is_noticed(robot: hc.Robot, q: np.ndarray) -> None:
    stance = Stance(robot, FEET, RADIUS, q)
    q[[11, 12]] += [0.2, -0.4]  # the front right foot on a stone
    for _ in range(3000):
        stance.update(q, REST, ALL, 0.002)
    heights = np.array([robot.pose(foot)(q)[2, 3] for foot in FEET])
    assert 0.1 * np.ptp(heights) < stance.roughness < np.ptp(heights)
