"""A planned motion followed by MPC in MuJoCo, with an object that is moved into its way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.planning import Planner

pytest.importorskip("mujoco")

from mujoco_plant import MuJoCoPlant
from planning.test_queries import GOAL, START

pytestmark = pytest.mark.needs_compiler

PERIOD, MARGIN, CLEARANCE = 0.02, 0.02, 0.04


def tracking(robot: hc.Robot, scene: hc.Scene) -> hc.mpc.Controller:
    """Joints follow a reference; the scene is a constraint."""
    problem = hc.mpc.Problem(robot, horizon=15, dt=PERIOD)
    problem.add_posture_cost(START, weight=10.0, end_weight=20.0)
    problem.add_velocity_cost(0.05)
    problem.add_control_cost(1e-4)
    problem.add_limits()
    problem.add_scene(scene, margin=MARGIN, within=0.2)
    return hc.mpc.Controller(problem)


def hold(plant: MuJoCoPlant, tau: Array) -> None:
    for _ in range(round(PERIOD / plant.model.opt.timestep)):
        plant.step(tau)


def test_a_motion_is_followed_and_planned_again_as_an_object_moves(planner: Planner, tmp_path: Path) -> None:
    robot = planner.robot
    scene = hc.Scene()
    scene.add("ball", hc.Sphere(0.12), [0.4, 0.4, 1.4])
    wary = Planner(robot, scene, margin=CLEARANCE)
    controller, plant = tracking(robot, scene), MuJoCoPlant(robot, tmp_path, dt=0.002)
    plant.start(START)
    limits = {"velocity": 1.0, "acceleration": 3.0, "torque": np.inf}
    path = wary.plan(START, GOAL, 20.0)
    follower, began = controller.following(path.timed(**limits)), 0.0
    moved_at, near, fine, replanned = 0.4, [], [], False
    for k in range(round(5.0 / PERIOD)):
        t = k * PERIOD
        if t >= moved_at and not replanned:
            # Into the middle of the rest of the way.
            ahead = path.timed(**limits)
            later = ahead.q[int(np.searchsorted(ahead.t, moved_at + 0.5 * (ahead.duration - moved_at)))]
            scene.move("ball", robot.pose("link_3")(later)[:3, 3])
            wary.update(scene)
            assert not wary.edges_free(path.q[:-1], path.q[1:]).all()
            path = wary.replan(plant.q, 20.0)
            assert path.success, path.message
            follower, began, replanned = controller.following(path.timed(**limits)), t, True
        hold(plant, follower.step(plant.q, plant.v, t=t - began))
        near.append(robot.distance(plant.q, scene, self_collision=False))
        fine.append(controller.ok)
    assert replanned and min(near) > MARGIN - 2e-3
    assert min(near) < 0.3  # it had to pass the ball
    np.testing.assert_allclose(plant.q, GOAL, atol=0.02)
    assert np.mean(fine) > 0.95


def test_mpc_keeps_the_margin_of_an_object_that_comes_nearer(planner: Planner, tmp_path: Path) -> None:
    """Without a planner: the arm holds its posture until a ball comes, and gives way."""
    robot, scene = planner.robot, hc.Scene()
    place = robot.pose("link_3")(START)[:3, 3] + [0.2, 0.0, 0.5]
    scene.add("ball", hc.Sphere(0.1), place)
    controller, plant = tracking(robot, scene), MuJoCoPlant(robot, tmp_path, dt=0.002)
    plant.start(START)
    near = []
    for k in range(150):
        scene.move("ball", place - [0.0, 0.0, min(0.45, 0.2 * k * PERIOD)])
        hold(plant, controller.step(plant.q, plant.v))
        near.append(robot.distance(plant.q, scene, self_collision=False))
    assert robot.distance(START, scene, self_collision=False) < 0  # it gave way
    assert min(near) > MARGIN - 2e-3
    np.testing.assert_allclose(near[-1], MARGIN, atol=1e-3)
