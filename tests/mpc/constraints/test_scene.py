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


def test_half_spaces_are_those_of_the_nearest_objects(rng: np.random.Generator) -> None:
    """Along a trajectory, against distances that are computed for each configuration alone."""
    robot, within = capsule_arm(3), 0.4
    scene = hc.Scene()
    scene.add("box", hc.Box([0.3, 0.2, 0.4]), [0.5, 0.3, 0.6])
    scene.add("cylinder", hc.Cylinder(0.1, 0.5), [-0.4, 0.2, 0.8])
    scene.add("cloud", SHAPES["cloud"], [0.2, -0.5, 0.9])
    scene.add("plane", hc.Plane([0, 0, 1], 0.1))
    scene.add("hull", hc.Mesh(vertices=rng.normal(0, 0.15, (40, 3)), convex=True), [0.0, 0.6, 1.0])
    scene.add("carried", hc.Sphere(0.05))
    scene.attach("carried", robot, robot.link_names[-1], pose=[0, 0, 0.3])
    problem = hc.mpc.Problem(robot, horizon=40, dt=0.02)
    problem.add_velocity_cost(1.0)
    problem.add_scene(scene, margin=MARGIN, nearest=3, within=within)
    ends = rng.uniform(-1.5, 1.5, (2, 3))
    q = ends[0] + np.linspace(0, 1, 41)[:, None] * (ends[1] - ends[0])
    memory = problem._compiled.memory
    body_of = {name: robot.model.frame(name)[0] for name in robot.link_names}
    body_of["carried"] = body_of[robot.link_names[-1]]
    for _ in range(2):
        refresh = memory.refreshes[0]
        rows = refresh.values(q).reshape(len(q), len(refresh.bodies), 3, 7)
        used = 0
        for k, i in np.ndindex(rows.shape[:2]):
            body, own = refresh.bodies[i], dict[str, float]()
            for one in robot.closest(q[k], scene, self_collision=False, within=within):
                # Of a link that does not move and what is carried, the latter avoids the former.
                carrier = body_of[one.names[0]] if body_of[one.names[0]] >= 0 else body_of[one.names[1]]
                if carrier == body:
                    own[one.names[1]] = min(own.get(one.names[1], np.inf), one.distance)
            T, there = robot.pose(robot.model.bodies[body].name)(q[k]), rows[k, i][rows[k, i, :, 6] > -999]
            x = there[:, 3:6] @ T[:3, :3].T + T[:3, 3]
            d = np.sort(np.einsum("ij,ij->i", there[:, :3], x) - there[:, 6])
            np.testing.assert_allclose(d, np.sort(list(own.values()))[:3], atol=2e-5)
            used += len(d)
        assert used > 100
        scene.move("box", [0.4, 0.3, 0.7])  # seen at once, by poses alone
        scene.move("carried", [0, 0, 0.25])
