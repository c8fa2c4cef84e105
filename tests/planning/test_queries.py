"""Goals of other kinds, replanning, batches, refinement, motions over time."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.planning import GoalRegion, Planner
from helicoid.planning.goals import with_turns
from planning.arms import arm_urdf, box_arm_urdf

pytestmark = pytest.mark.needs_compiler
START, GOAL = np.array([-0.3, 0.0, 0.2, 0.0]), np.array([1.3, 0.3, -0.2, 0.3])


def test_a_region_ends_the_path(planner: Planner, scene: hc.Scene) -> None:
    planner.update(scene)
    path = planner.plan(START, GoalRegion(GOAL - 0.2, GOAL + 0.2), 20)
    assert path.success and np.all(np.abs(path.q[-1] - GOAL) <= 0.2)
    with pytest.raises(hc.InputError, match="has 4 limits"):
        planner.plan(START, GoalRegion([0.0], [1.0]))
    with pytest.raises(hc.InputError, match="lower limits"):
        GoalRegion([1.0], [0.0])


def test_a_position_is_reached_through_inverse_kinematics(planner: Planner, scene: hc.Scene) -> None:
    planner.update(scene)
    point = np.asarray(planner.robot.pose("link_3")(GOAL))[:3, 3]
    path = planner.plan(START, hc.control.PositionTask("link_3", target=point), 20)
    assert path.success, path.message
    np.testing.assert_allclose(planner.robot.pose("link_3")(path.q[-1])[:3, 3], point, atol=1e-5)
    with pytest.raises(hc.InputError, match="out of reach"):
        planner.plan(START, hc.control.PositionTask("link_3", target=[9.0, 0, 0]))


def test_replanning_keeps_the_tree_of_the_goal(planner: Planner, scene: hc.Scene) -> None:
    planner.update(scene)
    first = planner.plan(START, GOAL, 20, seed=2)
    scene.move("post", [0.7, -0.9, 0.0])
    planner.update(scene)
    again = planner.replan(first.q[0] + 0.01, 20)
    assert again.success, again.message
    np.testing.assert_array_equal(again.q[-1], GOAL)
    for a, b in zip(again.q, again.q[1:], strict=False):
        assert not planner.in_collision(a + np.linspace(0, 1, 500)[:, None] * (b - a)).any()
    with pytest.raises(hc.InputError, match="plan first"):
        Planner(planner.robot).replan(START)


def test_batches_give_what_single_queries_do(planner: Planner, scene: hc.Scene) -> None:
    planner.update(scene)
    rng = np.random.default_rng(1)
    Q = planner.robot.random(rng, 200)
    Q = Q[~planner.in_collision(Q)][:12]
    paths = planner.plan_many(Q[:6], Q[6:12], 20)
    for path, a, b in zip(paths, Q[:6], Q[6:12], strict=True):
        np.testing.assert_array_equal(path.q, planner.plan(a, b, 20).q)


def test_refined_paths_are_no_longer(planner: Planner, scene: hc.Scene) -> None:
    planner.update(scene)
    path = planner.plan(START, GOAL, 20, seed=4)
    better = planner.plan(START, GOAL, 20, seed=4, refine=0.05)
    assert better.success and better.length <= path.length


def test_motions_over_time_are_free_and_keep_limits(planner: Planner, scene: hc.Scene) -> None:
    planner.update(scene)
    path = planner.plan(START, GOAL, 20)
    motion = path.timed(velocity=2.0, acceleration=8.0, torque=np.inf, dt=0.002)
    assert not planner.in_collision(motion.q).any()
    np.testing.assert_allclose(motion.q[[0, -1]], [START, GOAL], atol=1e-9)
    assert np.abs(motion.v).max() < 2.02 and np.abs(motion.v[[0, -1]]).max() < 1e-6
    assert not any(motion.path.corners)
    with pytest.raises(hc.InputError, match="the same"):
        planner.plan(START, START).timed()
    with pytest.raises(hc.InputError, match="no path to time"):
        planner.plan([0.45, 0, 0, 0], GOAL).timed()


def test_motions_of_limited_jerk_are_free_and_keep_all_limits(planner: Planner, scene: hc.Scene) -> None:
    planner.update(scene)
    path = planner.plan(START, GOAL, 20)
    limits = {"velocity": 2.0, "acceleration": 8.0, "torque": np.inf, "frame_speed": {"link_3": 0.5}}
    fastest, motion = path.timed(**limits), path.timed(jerk=60.0, **limits)
    assert isinstance(motion, hc.simulation.Trajectory)
    assert fastest.duration < motion.t[-1] < 2 * fastest.duration
    np.testing.assert_allclose(motion.q[[0, -1]], [START, GOAL], atol=1e-12)
    assert np.abs(motion.v[[0, -1]]).max() < 1e-9 and np.abs(motion.a[[0, -1]]).max() < 1e-9
    h = motion.t[1]
    assert np.abs(np.diff(motion.a, axis=0)).max() / h <= 60.0 * 1.001
    assert np.abs(motion.v).max() < 2.02 and np.abs(motion.a).max() < 8.1
    np.testing.assert_allclose(np.diff(motion.q, axis=0) / h, (motion.v[1:] + motion.v[:-1]) / 2, atol=1e-3)
    for one in (motion, fastest):
        J = np.asarray(planner.robot.jacobian("link_3", "world_aligned")(one.q))[:, 3:]
        assert 0.3 < np.linalg.norm((J @ one.v[:, :, None])[..., 0], axis=1).max() < 0.5 * 1.021
    assert not planner.in_collision(motion.q).any()
    for wrong in ({"jerk": 0.0}, {"jerk": [1.0, 2.0]}, {"jerk": 9.0, "start_speed": 1.0}):
        with pytest.raises(hc.InputError, match="jerk"):
            path.timed(**limits | wrong)  # type: ignore[call-overload]
    with pytest.raises(hc.InputError, match="frame_speed"):
        path.timed(**limits | {"frame_speed": {"link_3": 0.0}})


def test_goals_of_inverse_kinematics_are_reached_with_other_turns_of_joints() -> None:
    robot = hc.load(arm_urdf(2).replace('lower="-2.8" upper="2.8"', 'lower="-6" upper="6"'))
    planner = Planner(robot)
    Q = with_turns(robot, planner.space, np.array([[1.0, -0.5]]), np.array([-5.0, 0.0]))
    turns = np.array(
        [[1.0, -0.5], [1.0 - 2 * np.pi, -0.5], [1.0, 2 * np.pi - 0.5], [1 - 2 * np.pi, 2 * np.pi - 0.5]]
    )
    np.testing.assert_allclose(Q[0], turns[1])
    np.testing.assert_allclose(np.sort(Q, axis=0), np.sort(turns, axis=0))
    narrow = Planner(hc.load(arm_urdf(2)))
    assert planner.space.turn.tolist() == [2 * np.pi] * 2 and not narrow.space.turn.any()
    assert planner.space.diagonal == pytest.approx(2 * np.pi * np.sqrt(2))  # as of one turn
    assert len(with_turns(narrow.robot, narrow.space, np.array([[1.0, -0.5]]), np.zeros(2))) == 1


def test_a_goal_that_touches_only_by_the_tolerance_is_planned_with_finer_spheres() -> None:
    robot = hc.load(box_arm_urdf())
    scene = hc.Scene()
    scene.add("wall", hc.Box([0.02, 1.0, 1.0]), [0.58, 0.0, 0.0])  # the box ends at 0.56 m, 10 mm before it
    start, goal = [1.2, -0.5], [0.0, 0.0]
    coarse = Planner(robot, scene, tolerance=0.03, adaptive=False)
    assert "the goal is in collision" in coarse.plan(start, goal).message
    path = Planner(robot, scene, tolerance=0.03).plan(start, goal, 20)
    assert path.success, path.message
    for a, b in zip(path.q, path.q[1:], strict=False):
        assert not np.any(robot.in_collision(a + np.linspace(0, 1, 100)[:, None] * (b - a), scene))
    scene.move("wall", [0.56, 0.0, 0.0])  # 10 mm in the box itself
    assert "the goal is in collision" in Planner(robot, scene, tolerance=0.03).plan(start, goal).message
