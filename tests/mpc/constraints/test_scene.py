"""Collision avoidance in a scene: plans and controllers keep the margin, and objects move without a build."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc.solver import compiled
from robot.collision.arms import capsule_arm

pytestmark = pytest.mark.needs_compiler

MARGIN = 0.03
START, GOAL = np.array([1.2, 0.3]), np.array([-0.6, 0.3])


def problem_in(scene: hc.Scene, **options: Any) -> hc.mpc.Problem:
    problem = hc.mpc.Problem(capsule_arm(2), horizon=25, dt=0.04)
    problem.add_posture_cost(GOAL, weight=1.0, end_weight=5.0)
    problem.add_velocity_cost(0.05)
    problem.add_control_cost(1e-4)
    problem.add_scene(scene, margin=MARGIN, **options)
    return problem


def scene_with(shape: Any, pose: Any) -> hc.Scene:
    scene = hc.Scene()
    scene.add("object", shape, pose)
    return scene


SHAPES = {
    "box": hc.Box([0.1, 0.4, 0.1]),
    "plane": hc.Plane([0, 0, -1], 0.0),
    "cloud": hc.PointCloud(np.random.default_rng(0).uniform(-0.05, 0.05, (300, 3)), 0.01),
}
PLACES = {"box": [0.0, 0.0, 0.92], "plane": [0, 0, 0.86], "cloud": [0.0, 0.0, 0.92]}


@pytest.fixture(scope="module")
def scene() -> hc.Scene:
    return scene_with(SHAPES["box"], PLACES["box"])


@pytest.fixture(scope="module")
def problem(scene: hc.Scene) -> hc.mpc.Problem:
    return problem_in(scene)


def least(robot: hc.Robot, q: Any, scene: hc.Scene) -> float:
    return float(np.min(robot.distance(q, scene, self_collision=False)))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_plan_keeps_the_margin(problem: hc.mpc.Problem, scene: hc.Scene, shape: str) -> None:
    scene.remove("object")
    scene.add("object", SHAPES[shape], PLACES[shape])
    robot = problem.robot
    assert robot is not None
    free = problem_in(hc.Scene()).solve(START) if shape == "box" else None
    plan = problem.solve(START)
    assert plan.success and plan.q is not None
    # Of a cloud the nearest of many points changes from round to round.
    assert least(robot, plan.q, scene) > (MARGIN - 2e-3 if shape != "cloud" else MARGIN / 2)
    if free is not None:
        assert least(robot, free.q, scene) < 0  # it is in the way


def test_a_controller_avoids_a_moving_object_and_compiles_nothing(
    problem: hc.mpc.Problem, scene: hc.Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.remove("object")
    scene.add("object", hc.Sphere(0.08), [0.0, 0.0, 1.6])
    controller = hc.mpc.Controller(problem)
    monkeypatch.setattr(compiled, "compile_batch", None)
    robot, q, v = problem.robot, START, np.zeros(2)
    assert robot is not None
    near = np.inf
    for k in range(70):
        tau = controller.step(q, v)
        v = v + 0.04 * robot.forward_dynamics(q, v, tau, friction=True)
        q = q + 0.04 * v
        near = min(near, least(robot, q, scene))
        if k == 0:
            scene.move("object", [0.0, 0.0, 0.95])
        if k == 40:
            scene.remove("object")
            scene.add("other", hc.Box([0.1, 0.1, 0.1]), [3.0, 0, 0])
    assert near > 0
    np.testing.assert_allclose(q, GOAL, atol=0.05)
    scene.remove("other")
    scene.add("object", SHAPES["box"], PLACES["box"])


def test_a_scene_that_cannot_be_used_keeps_the_last_obstacles(
    problem: hc.mpc.Problem, scene: hc.Scene
) -> None:
    controller = hc.mpc.Controller(problem)
    controller.step(START, np.zeros(2))
    scene.allow("object", "nothing")
    with pytest.warns(hc.DoubtfulMotionWarning, match="keeps its former obstacles"):
        assert np.all(np.isfinite(controller.step(START, np.zeros(2))))
    scene.forbid("object", "nothing")


def test_it_pickles_and_has_names(problem: hc.mpc.Problem) -> None:
    assert {"scene_lower", "scene_contacts"} <= set(problem.names)
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_allclose(again.solve(START).q, problem.solve(START).q, atol=1e-6)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "margin": ({"margin": -0.1}, "margin"),
    "nearest": ({"nearest": 0}, "nearest is a number"),
    "within": ({"within": 0.01}, "within is a distance"),
    "scene": ({"scene": None}, "a scene is hc.Scene"),
    "a list": ({"scene": [hc.Sphere(1.0)]}, "a scene is hc.Scene"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_reported(case: str) -> None:
    options, told = WRONG[case]
    problem = hc.mpc.Problem(capsule_arm(2), horizon=3, dt=0.1)
    with pytest.raises(hc.HelicoidError, match=told):
        problem.add_scene(**{"scene": hc.Scene(), "margin": 0.02, **options})
