"""Paths that keep constraints all along: planes, lines, axes, closed loops; what is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.planning import AxisConstraint, Planner
from planning.arms import arm_urdf

pytestmark = pytest.mark.needs_compiler

TOLERANCE = 1e-3


def long_arm(kind: str = "revolute") -> hc.Robot:
    return hc.load(arm_urdf(6, kind)).with_frame("tip", "link_5", [0.4, 0.0, 0.0])


def along(q: Array, number: int = 50) -> Array:
    """Configurations on the edges of a path, denser than they were checked."""
    t = np.linspace(0, 1, number)[:, None]
    return np.concatenate([a + t * (b - a) for a, b in pairwise(q)])


START = np.array([0.6, 0.5, -0.4, 0.7, 0.3, 0.5])
PLANE = hc.control.PositionTask("tip", target=[0, 0, 0], weight=[0, 0, 1])


@pytest.fixture(scope="module")
def robot() -> hc.Robot:
    return long_arm()


def ends(robot: hc.Robot, constraint: Any, scene: hc.Scene, seed: int = 0) -> tuple[Array, Array, Planner]:
    """Two configurations on the manifold, free and with the tip on either side of y = 0."""
    planner = Planner(robot, scene, constraints=[constraint], constraint_tolerance=TOLERANCE)
    assert planner.manifold is not None
    rng, found = np.random.default_rng(seed), {}
    while len(found) < 2:
        q = planner.manifold.project(np.clip(START + rng.normal(0, 0.8, 6), -2.5, 2.5))
        if q is not None and not planner.in_collision(q):
            y = robot.pose("tip")(q)[1, 3]
            if abs(y) > 0.5:
                found.setdefault(np.sign(y), q)
    return found[1.0], found[-1.0], planner


def ball() -> hc.Scene:
    scene = hc.Scene()
    scene.add("ball", hc.Sphere(0.25), [1.2, 0.0, 0.2])
    return scene


def height(robot: hc.Robot, start: Array) -> Any:
    """The tip stays at a height."""
    target = np.array(robot.pose("tip")(start)[:3, 3])
    return hc.control.PositionTask("tip", target=target, weight=[0, 0, 1])


def test_a_tip_stays_in_a_plane_around_an_object(robot: hc.Robot) -> None:
    scene, plane = ball(), height(robot, START)
    a, b, planner = ends(robot, plane, scene)
    path = planner.plan(a, b, time_limit=60.0, seed=3)
    assert path.success, path.message
    np.testing.assert_allclose(path.q[[0, -1]], [a, b], atol=1e-3)
    q = along(path.q)
    z = robot.pose("tip")(q)[:, 2, 3]
    assert np.abs(z - plane.target[2]).max() < TOLERANCE
    assert not robot.in_collision(q, scene).any()
    straight = robot.pose("tip")(along(np.stack([a, b])))[:, 2, 3]
    assert np.abs(straight - plane.target[2]).max() > 20 * TOLERANCE
    again = planner.plan(a, b, time_limit=60.0, seed=3)
    np.testing.assert_array_equal(again.q, path.q)

    motion = path.timed(velocity=2.0, acceleration=10.0, torque=np.inf)
    z = robot.pose("tip")(motion.q)[:, 2, 3]
    assert np.abs(z - plane.target[2]).max() < TOLERANCE
    assert not robot.in_collision(motion.q, scene).any()
    assert np.abs(motion.v).max() < 2.01


def test_an_axis_keeps_its_direction(robot: hc.Robot) -> None:
    up = AxisConstraint("tip", axis=[0, 1, 0], direction=[0, 0, 1])
    a, b, planner = ends(robot, up, ball(), seed=1)
    path = planner.plan(a, b, time_limit=60.0, seed=1)
    assert path.success, path.message
    axis = robot.pose("tip")(along(path.q))[:, :3, 1]
    assert np.abs(axis - [0, 0, 1]).max() < TOLERANCE


def test_closed_loops_hold_without_being_asked_for(robot: hc.Robot) -> None:
    a = np.array([0.3, 0.4, 0.2, 0.9, 0.3, 0.7])
    closed = robot.close_loop("base", "tip", "point", origin_a=tuple(robot.pose("tip")(a)[:3, 3]))
    b = closed.project_configuration(a + np.array([0.5, -0.3, 0.4, 0.2, -0.4, 0.3]))
    path = hc.plan(closed, a, b, time_limit=60.0)
    assert path.success, path.message
    gap = np.linalg.norm(robot.pose("tip")(along(path.q))[:, :3, 3] - robot.pose("tip")(a)[:3, 3], axis=1)
    assert gap.max() < np.sqrt(3) * TOLERANCE
    assert np.linalg.norm(np.diff(path.q, axis=0), axis=1).max() < 0.31  # not one straight edge
    with pytest.raises(hc.HelicoidError, match="loop"):
        path.timed()


def test_angles_without_limits_take_the_shorter_way_round() -> None:
    robot = long_arm("continuous")
    plane = height(robot, START)
    a, b = START.copy(), START.copy()
    a[0], b[0] = 3.0, -3.0  # the first axis is upright: both are at the same height
    path = hc.plan(robot, a, b, time_limit=60.0, constraints=[plane])
    assert path.success and path.length < 1.0
    z = robot.pose("tip")(along(path.q))[:, 2, 3]
    assert np.abs(z - plane.target[2]).max() < TOLERANCE


def test_a_start_off_the_constraint_is_refused_with_the_nearest_that_is_on_it(robot: hc.Robot) -> None:
    plane = height(robot, START)
    with pytest.raises(hc.HelicoidError, match=r"the start violates .*'tip position' by .*they hold at"):
        hc.plan(robot, START + 0.3, START, constraints=[plane])
    with pytest.raises(hc.HelicoidError, match="the goal violates"):
        hc.plan(robot, START, START + 0.3, constraints=[plane])


def test_ends_in_collision_are_named(robot: hc.Robot) -> None:
    plane, scene = height(robot, START), hc.Scene()
    scene.add("ball", hc.Sphere(0.1), robot.pose("tip")(START)[:3, 3])
    path = hc.plan(robot, START, START, scene, constraints=[plane])
    assert not path.success and "the start is in collision" in path.message and "ball" in path.message


def test_without_a_path_the_message_says_so(robot: hc.Robot) -> None:
    scene, plane = hc.Scene(), height(robot, START)
    a, b, planner = ends(robot, plane, scene)
    scene.add("wall", hc.Box([6.0, 0.3, 6.0]), [3.2, 0.0, 0.0])
    scene.add("other wall", hc.Box([6.0, 0.3, 6.0]), [-3.2, 0.0, 0.0])
    planner.update(scene)
    path = planner.plan(a, b, time_limit=0.5)
    assert not path.success
    assert "no path that keeps the constraints" in path.message or "in collision" in path.message


class Odd:
    """No constraint."""


REFUSED: dict[str, tuple[Any, str]] = {
    "no target": (hc.control.PositionTask("tip"), "none was given"),
    "nothing held": (hc.control.PositionTask("tip", target=[0, 0, 0], weight=0.0), "weights are zero"),
    "another thing": (Odd(), "constraints of planning are tasks"),
    "a force": (hc.control.TorqueTask(), "WholeBody"),
    "a frame that is not there": (AxisConstraint("nowhere"), "nowhere"),
    "everything held": (hc.control.PostureTask(target=START), "no motion"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_planned_with_is_refused(robot: hc.Robot, case: str) -> None:
    constraint, told = REFUSED[case]
    with pytest.raises(hc.HelicoidError, match=told):
        hc.plan(robot, START, START, constraints=[constraint])


def test_axes_tolerances_and_rotations_that_make_no_sense_are_refused(robot: hc.Robot) -> None:
    for bad in ([0, 0, 0], [np.nan, 0, 1], [1, 0]):
        with pytest.raises(hc.HelicoidError, match="the axis is a vector"):
            AxisConstraint("tip", axis=bad)
    for tolerance in (0.0, -1.0, np.nan):
        with pytest.raises(hc.HelicoidError, match="constraint_tolerance"):
            Planner(robot, constraints=[AxisConstraint("tip")], constraint_tolerance=tolerance)
    floating = hc.load(arm_urdf(2), base="floating")
    low = np.full(floating.nq, -1.0)
    with pytest.raises(hc.HelicoidError, match="rotations among its coordinates"):
        Planner(floating, bounds=(low, -low), constraints=[AxisConstraint("link_1")])
    with pytest.raises(hc.HelicoidError, match="refine"):
        hc.plan(robot, START, START, constraints=[height(robot, START)], refine=0.1)
