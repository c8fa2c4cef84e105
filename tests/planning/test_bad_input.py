"""Queries and scenes that make no sense, or have no answer: each is said clearly."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.planning import Planner, search
from planning.test_queries import GOAL, START

pytestmark = pytest.mark.needs_compiler

CONFIGURATIONS: dict[str, Any] = {
    "NaN": [np.nan, 0, 0, 0],
    "infinite": [np.inf, 0, 0, 0],
    "too few": [0.0, 0.0],
    "text": "home",
    "nothing": None,
}


@pytest.mark.parametrize("case", CONFIGURATIONS)
def test_starts_and_goals_that_are_none_are_refused(planner: Planner, case: str) -> None:
    planner.update(None)
    for ends in ((CONFIGURATIONS[case], GOAL), (START, CONFIGURATIONS[case])):
        with pytest.raises(hc.HelicoidError, match=r"configuration|finite numbers"):
            planner.plan(*ends)


def test_start_and_goal_beyond_the_limits_are_refused(planner: Planner) -> None:
    planner.update(None)
    with pytest.raises(hc.HelicoidError, match="beyond the limits of joint_1"):
        planner.plan(START, [0, 9.0, 0, 0])


@pytest.mark.parametrize("limit", [0.0, -1.0, np.nan, "long"])
def test_time_limits_that_are_none_are_refused(planner: Planner, limit: Any) -> None:
    with pytest.raises(hc.HelicoidError, match="time_limit"):
        planner.plan(START, GOAL, limit)


SIZES: dict[str, Any] = {
    "box": lambda size: hc.Box([1.0, size, 1.0]),
    "sphere": hc.Sphere,
    "capsule": lambda size: hc.Capsule(size, 1.0),
    "cylinder": lambda size: hc.Cylinder(0.1, size),
    "cloud": lambda size: hc.PointCloud(np.zeros((3, 3)), size),
}


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        (shape, size)
        for shape in SIZES
        for size in (0.0, -0.1, np.nan, np.inf)
        if (shape, size) != ("cloud", 0.0)
    ],
)
def test_objects_of_no_size_are_refused(shape: str, size: float) -> None:
    with pytest.raises(hc.HelicoidError, match=r"size|radius|length|edge|finite|positive|above zero"):
        SIZES[shape](size)


def cloud(number: int, at: Any) -> hc.PointCloud:
    return hc.PointCloud(np.random.default_rng(0).normal(at, 0.05, (number, 3)), 0.005)


@pytest.mark.parametrize("number", [10, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_clouds_of_few_and_of_very_many_points(planner: Planner, number: int) -> None:
    scene, robot = hc.Scene(), planner.robot
    scene.add("cloud", cloud(number, np.array([0.9, 0.4, 0.1])))
    planner.update(scene)
    path = planner.plan(START, GOAL, 60.0)
    assert path.success, path.message
    q = np.concatenate([np.linspace(a, b, 40) for a, b in zip(path.q, path.q[1:], strict=False)])
    assert not robot.in_collision(q, scene, self_collision=False).any()
    assert number * 24 <= scene.objects["cloud"].shape.memory <= number * 100 + 100_000  # type: ignore[attr-defined]


def test_what_is_carried_and_collides_from_the_start_is_named(planner: Planner) -> None:
    scene, robot = hc.Scene(), planner.robot
    tip = np.array(robot.pose("link_3")(START))
    scene.add("rod", hc.Capsule(0.03, 0.8))
    scene.attach("rod", robot, "link_3", pose=[0.4, 0.0, 0.0])
    scene.add("shelf", hc.Box([0.1, 0.1, 0.1]), tip[:3, :3] @ [0.4, 0.0, 0.3] + tip[:3, 3])
    planner.update(scene)
    path = planner.plan(START, GOAL, 5.0)
    planner.update(None)
    assert not path.success and "the start is in collision: rod is" in path.message
    assert "in shelf" in path.message and "nearest free configuration" in path.message


ENDS = np.array([0.0, 0.0, 0.0, 0.0]), np.array([2.4, 0.0, 0.0, 0.0])


def between_walls() -> hc.Scene:
    """Two walls from the base outwards, on either side of the first of `ENDS`."""
    scene = hc.Scene()
    for k, angle in enumerate((0.8, -0.8)):
        T = np.eye(4)
        T[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        T[:3, 3] = T[:3, 0] * 1.3
        scene.add(f"wall {k}", hc.Box([2.2, 0.05, 4.0]), T)
    return scene


def test_a_goal_that_nothing_reaches_says_what_is_in_between(planner: Planner) -> None:
    planner.update(between_walls())
    path = planner.plan(*ENDS, 0.3)
    planner.update(None)
    assert not path.success and "came within" in path.message and "wall" in path.message


def test_ctrl_c_ends_a_search(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal that comes during the search ends it after the slice of it that runs."""
    assert search.INTERRUPT_PERIOD <= 0.5
    before, slices = signal.signal(signal.SIGINT, signal.default_int_handler), []
    advance = planner._library.planner_advance

    def one_slice(*given: Any) -> Any:
        slices.append(1)
        if len(slices) == 2:
            signal.raise_signal(signal.SIGINT)
        return advance(*given)

    monkeypatch.setattr(planner._library, "planner_advance", one_slice)
    planner.update(between_walls())
    try:
        with pytest.raises(KeyboardInterrupt):
            planner.plan(*ENDS, 60.0)
    finally:
        signal.signal(signal.SIGINT, before)
        planner.update(None)
    assert len(slices) == 2
    monkeypatch.undo()
    assert planner.plan(START, GOAL, 20.0).success  # it works afterwards
