"""Circles, rotations, planar and floating bases, mimic and prismatic joints."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.planning import Planner
from planning.arms import RADIUS, arm_urdf, centers, gap

pytestmark = pytest.mark.needs_compiler
BALL = """<robot name="ball"><link name="body">
  <inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  <collision><origin xyz="0.3 0 0"/><geometry><sphere radius="0.06"/></geometry></collision>
  <collision><origin xyz="-0.1 0.1 0"/><geometry><sphere radius="0.06"/></geometry></collision>
  </link></robot>"""
BOX = (0.3, 1.0, 0.4)


@pytest.fixture(scope="module")
def floating() -> Planner:
    """A rigid body that flies."""
    low = np.array([-1.5, -1.5, -1.0, -1, -1, -1, -1])
    return Planner(hc.load(BALL, base="floating"), bounds=(low, -low))


def boxed() -> hc.Scene:
    scene = hc.Scene()
    scene.add("box", hc.Box(BOX))
    return scene


def touches(robot: hc.Robot, q: Array) -> float:
    return (
        float(min(gap("box", BOX, np.eye(4), x).min() for x in centers(robot, q).values() if len(x))) - RADIUS
    )


def test_a_floating_body_flies_around_a_box(floating: Planner) -> None:
    floating.update(boxed())
    turned = np.array([0.0, 0.0, np.sin(1.0), np.cos(1.0)])
    start = np.array([-1.0, 0.0, 0.0, 1.0, 0, 0, 0])
    goal = np.concatenate([[1.0, 0.0, 0.0], [turned[3], 0.0, 0.0, turned[2]]])
    path = floating.plan(start, goal, time_limit=20)
    assert path.success, path.message
    robot = floating.robot
    for a, b in zip(path.q, path.q[1:], strict=False):
        half = np.arccos(min(1.0, abs(a[3:] @ b[3:])))
        sign = 1.0 if a[3:] @ b[3:] >= 0 else -1.0
        for t in np.linspace(0, 1, 40):
            weights = (1 - t, t) if half < 1e-6 else np.sin([(1 - t) * half, t * half]) / np.sin(half)
            q = np.append((1 - t) * a[:3] + t * b[:3], weights[0] * a[3:] + sign * weights[1] * b[3:])
            assert touches(robot, q) > 0
    np.testing.assert_allclose(robot.pose("body")(path.q[-1]), robot.pose("body")(goal), atol=1e-12)


def test_configurations_of_a_floating_body_are_those_of_numpy(
    floating: Planner, rng: np.random.Generator
) -> None:
    floating.update(boxed())
    Q = floating.robot.random(rng, 100)
    found = floating.in_collision(Q)
    gaps = np.array([touches(floating.robot, q) for q in Q])
    clear = np.abs(gaps) > 3e-5
    np.testing.assert_array_equal(found[clear], gaps[clear] < 0)
    assert found.any() and not found.all()


def test_a_circle_takes_the_shorter_way_round() -> None:
    robot = hc.load(arm_urdf(2, "continuous"))
    planner = Planner(robot)
    path = planner.plan([3.0, 0.0], [-3.0, 0.0])
    assert path.success and path.length == pytest.approx(2 * np.pi - 6.0, abs=1e-6)
    assert np.abs(np.diff(path.q, axis=0)).max() < 0.3
    blocked = hc.Scene()
    blocked.add("pillar", hc.Cylinder(0.05, 1.0), [-0.6, 0.0, 0.0])
    planner.update(blocked)
    path = planner.plan([2.8, 0.0], [-2.8, 0.0], time_limit=20)
    assert path.success and path.length > 3.0


def test_a_planar_base_drives_around_a_box() -> None:
    robot = hc.with_base(hc.load(BALL), "planar")
    with pytest.raises(hc.InputError, match="has no limits: give bounds"):
        Planner(robot)
    low = np.array([-1.5, -1.5, -np.inf])
    planner = Planner(robot, boxed(), bounds=(low, -low))
    path = planner.plan([-1.0, 0.0, 0.0], [1.0, 0.0, 3.0], time_limit=20)
    assert path.success, path.message
    for a, b in zip(path.q, path.q[1:], strict=False):
        for q in a + np.linspace(0, 1, 50)[:, None] * (b - a):
            assert touches(robot, q) > 0


def test_limits_that_are_crossed_are_refused() -> None:
    with pytest.raises(hc.InputError, match="crossed"):
        Planner(hc.load(arm_urdf(2)), bounds=([1.0, 0.0], [0.0, 1.0]))
