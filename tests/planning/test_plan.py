"""Planning: paths are free, reach the goal, and are the same for the same seed; failures say why."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.planning import Planner

pytestmark = pytest.mark.needs_compiler
START, GOAL = np.array([-0.3, 0.0, 0.2, 0.0]), np.array([1.3, 0.3, -0.2, 0.3])


def test_a_path_is_free_and_ends_where_it_should(planner: Planner, scene: hc.Scene) -> None:
    planner.update(scene)
    assert not planner.edges_free(START, GOAL)[0]
    for seed in range(5):
        path = planner.plan(START, GOAL, time_limit=20, seed=seed)
        assert path.success, path.message
        np.testing.assert_array_equal(path.q[[0, -1]], [START, GOAL])
        assert path.length == pytest.approx(np.linalg.norm(np.diff(path.q, axis=0), axis=1).sum())
        assert path.length >= np.linalg.norm(GOAL - START)
        for a, b in zip(path.q, path.q[1:], strict=False):
            assert not planner.in_collision(a + np.linspace(0, 1, 1000)[:, None] * (b - a)).any()


def test_a_seed_gives_one_path(planner: Planner, scene: hc.Scene) -> None:
    planner.update(scene)
    one, again, other = (planner.plan(START, GOAL, 20, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.q, again.q)
    assert one.samples == again.samples
    assert one.q.shape != other.q.shape or np.abs(one.q - other.q).max() > 1e-3


def test_the_goal_that_is_reached_first_ends_the_path(planner: Planner, scene: hc.Scene) -> None:
    planner.update(scene)
    inside = np.array([0.45, 0.0, 0.0, 0.0])
    assert planner.in_collision(inside)
    path = planner.plan(START, [inside, GOAL], 20)
    np.testing.assert_array_equal(path.q[-1], GOAL)


def test_start_and_goal_in_collision_are_named(planner: Planner, scene: hc.Scene) -> None:
    planner.update(scene)
    inside = np.array([0.45, 0.0, 0.0, 0.0])
    for path, what in ((planner.plan(inside, GOAL), "start"), (planner.plan(START, inside), "goal")):
        assert not path.success and len(path.q) == 0
        assert f"the {what} is in collision: link_" in path.message and "mm in shelf" in path.message
        assert "nearest free configuration" in path.message


def test_at_the_time_limit_the_message_says_that_there_is_no_path(planner: Planner) -> None:
    scene = hc.Scene()
    scene.add("wall", hc.Box([4.0, 0.02, 4.0]), [2.3, 0.6, 0.0])
    scene.add("other wall", hc.Box([4.0, 0.02, 4.0]), [2.3, -0.6, 0.0])
    scene.add("third wall", hc.Box([0.02, 4.0, 4.0]), [-0.5, 0.0, 0.0])
    planner.update(scene)
    path = planner.plan([0, 0.1, 0, 0.0], [2.0, 0.3, 0.4, 0.0], time_limit=0.05)
    if not path.success:  # in collision, or no way out
        assert "collision" in path.message or "within" in path.message


def test_start_and_goal_may_be_the_same(planner: Planner, scene: hc.Scene) -> None:
    planner.update(scene)
    path = planner.plan(START, START)
    assert path.success and path.length == 0


@pytest.mark.parametrize("bad", [[0, 0, 0], [[np.nan] * 4], "no", [[[0] * 4]]])
def test_bad_configurations_are_refused(planner: Planner, bad: object) -> None:
    with pytest.raises(hc.InputError, match="start"):
        planner.plan(bad, GOAL)  # type: ignore[arg-type]


def test_hc_plan_keeps_the_planner(scene: hc.Scene, planner: Planner) -> None:
    robot = planner.robot
    path = hc.plan(robot, START, GOAL, scene, time_limit=20, seed=3)
    assert path.success and path.planner._library is hc.plan(robot, START, GOAL, scene, 20).planner._library


@pytest.mark.parametrize("jerk", [None, 100.0])
def test_a_path_keeps_its_obstacles_when_others_are_planned_among(
    scene: hc.Scene, planner: Planner, jerk: float | None
) -> None:
    planner.update(scene)
    path = planner.plan(START, GOAL, time_limit=20)
    limits = {"velocity": 2.0, "acceleration": 10.0, "torque": np.inf, "jerk": jerk}
    before = path.timed(**limits)  # type: ignore[arg-type]
    wall = hc.Scene()
    wall.add("wall", hc.Box([0.5, 0.5, 4.0]), robot_tip(planner, path.q[-1]))
    for other in (hc.Scene(), wall):
        planner.update(other)
        np.testing.assert_array_equal(path.timed(**limits).q, before.q)  # type: ignore[arg-type]
        assert not path.planner.in_collision(before.q).any()
    assert planner.in_collision(before.q).any()


def robot_tip(planner: Planner, q: np.ndarray) -> np.ndarray:
    """Position of the last link."""
    robot = planner.robot
    return np.asarray(robot.pose(robot.link_names[-1])(q))[:3, 3]
