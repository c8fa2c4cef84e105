"""Two arms at once, and an arm on a mobile base."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.planning import Planner
from planning.arms import RADIUS, arm_urdf, centers

pytestmark = pytest.mark.needs_compiler


def least_gap(robot: hc.Robot, q: Array, one: str, other: str) -> float:
    """Between the spheres of two groups of links, by their prefixes."""
    at = centers(robot, q)
    a, b = (
        np.concatenate([x for name, x in at.items() if name.startswith(k) and len(x)]) for k in (one, other)
    )
    return float(np.linalg.norm(a[:, None] - b[None], axis=-1).min() - 2 * RADIUS)


def between(path: Array, number: int = 60) -> Array:
    return np.concatenate([a + np.linspace(0, 1, number)[:, None] * (b - a) for a, b in pairwise(path)])


def test_two_arms_plan_at_once_without_touching_each_other() -> None:
    arm = hc.load(arm_urdf(3))
    T = np.diag([-1.0, -1.0, 1.0, 1.0])  # they face each other
    T[:3, 3] = 1.6, 0.0, 0.0
    robot = arm.attach(arm, to="base", pose=T, prefix="b_")
    assert robot.nq == 6
    planner = Planner(robot)
    # Each passes the other: half-way they would point at each other.
    start = np.array([0.5, 0.0, 0.0, 0.5, 0.0, 0.0])
    goal = -start
    assert not planner.in_collision([start, goal]).any()
    straight = start + np.linspace(0, 1, 200)[:, None] * (goal - start)
    assert planner.in_collision(straight).any()
    path = planner.plan(start, goal, 20.0)
    assert path.success, path.message
    assert min(least_gap(robot, q, "link", "b_link") for q in between(path.q)) > 0


def test_an_arm_on_a_mobile_base_goes_through_a_gap() -> None:
    robot = hc.with_base(hc.load(arm_urdf(2)), "planar")
    low, high = robot.limits.lower.copy(), robot.limits.upper.copy()
    low[:2], high[:2] = -2.0, 2.0
    scene = hc.Scene()
    for k, y in enumerate((-1.6, 1.6)):
        scene.add(f"wall {k}", hc.Box([0.1, 2.6, 1.0]), [0.0, y, 0.0])  # a gap of 0.6 m
    planner = Planner(robot, scene, bounds=(low, high))
    start, goal = np.array([-1.2, 0.5, np.pi / 2, 0.0, 0.0]), np.array([1.2, -0.5, np.pi / 2, 0.0, 0.0])
    assert not planner.edges_free(start, goal)[0]
    path = planner.plan(start, goal, 30.0)
    assert path.success, path.message
    assert not robot.in_collision(between(path.q), scene, self_collision=False).any()
    np.testing.assert_allclose(path.q[-1], goal)
