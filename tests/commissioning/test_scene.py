"""Commissioning among obstacles: no configuration that the arm takes meets the scene."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.commissioning.motions import (
    MotionSettings,
    collision_along,
    planned_motion,
    unchecked_collisions,
)
from robot.collision.arms import capsule_arm, collision, urdf

pytestmark = [pytest.mark.compiled, pytest.mark.slow]


class Traced:
    """A simulated plant that notes every configuration, between motions as well."""

    def __init__(self, true: hc.Robot, start: Array, period: float) -> None:
        self.inner, self.period = hc.Plant(true, start, period=period, noise={"q": 1e-5, "v": 2e-3}), period
        self.path: list[Array] = []

    def measure(self) -> Any:
        sample = self.inner.measure()
        self.path.append(sample.q)
        return sample

    def apply(self, tau: Array) -> None:
        self.inner.apply(tau)


def planar() -> tuple[hc.Robot, Array, hc.Scene]:
    scene = hc.Scene()
    scene.add("table", hc.Box([0.3, 1.0, 0.3]), pose=[0.55, 0.0, 0.3])
    return capsule_arm(2), np.array([0.3, -0.4]), scene


def ur5() -> tuple[hc.Robot, Array, hc.Scene]:
    scene = hc.Scene()
    scene.add("table", hc.Box([2.0, 2.0, 0.1]), pose=[0.0, 0.0, -0.25])
    scene.add("post", hc.Box([0.2, 0.2, 1.5]), pose=[0.6, 0.4, 0.5])
    return hc.load("ur5"), np.array([0.0, -1.2, 1.6, -1.9, -1.5, 0.4]), scene


@pytest.mark.parametrize("case", [planar, ur5])
def test_no_configuration_meets_the_scene(case: Any, tmp_path: Path) -> None:
    robot, start, scene = case()
    true = robot.with_parameters(1.2 * robot.parameters.values)
    true = true.with_joints(friction=0.01 * robot.limits.effort, damping=0.5, armature=0.05)
    plant = Traced(true, start, 0.004)
    result = hc.commission(
        robot, plant, tmp_path, scene=scene, duration=5.0, max_frequency=20.0, progress=False
    )
    assert result.success, result.message
    assert set(result.recordings) == {"first_motion", "excitation", "validation"}
    assert robot.distance(np.array(plant.path), scene, self_collision=False).min() > 0.01
    settings = MotionSettings("excitation", 0.6, 0.8, 5.0, 5, 1, 50)  # the obstacles are in the way
    free = planned_motion(robot, start, settings, None)
    assert robot.distance(free.q, scene, self_collision=False).min() < 0.0


def test_links_with_visual_shapes_alone_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimisation of a motion takes collision shapes, which this arm has none of."""
    shapes = [
        collision('<sphere radius="0.08"/>', 0.0),
        *[collision('<capsule radius="0.05" length="0.3"/>')] * 3,
    ]
    robot = hc.load(urdf(shapes).replace("collision>", "visual>"))
    start = np.array([0.1, 2.0, 2.0])  # the last link is near the base
    settings = [MotionSettings("excitation", 0.6, 0.8, 6.0, 5, seed, 10) for seed in range(10)]
    planned = [planned_motion(robot, start, one, None) for one in settings]
    (note,) = unchecked_collisions(robot, None, start)
    assert "checked with visual ones" in note
    monkeypatch.setattr("helicoid.commissioning.motions.collision_along", lambda *_: "")
    unchecked = [planned_motion(robot, start, one, None) for one in settings]
    named = [collision_along(robot, motion.q, None) for motion in unchecked]
    assert "'link_0' and 'link_3'" in named
    after = [collision_along(robot, motion.q, None) for motion in planned]
    assert sum(map(bool, after)) < sum(map(bool, named)) / 2
    scene = hc.Scene()
    scene.allow("link_0", "link_3")
    assert not any("'link_0' and 'link_3'" in collision_along(robot, one.q, scene) for one in unchecked)
    assert [bool(one) for one in named] == [bool(np.any(robot.in_collision(one.q))) for one in unchecked]


def test_links_that_meet_at_the_start_are_named() -> None:
    robot = hc.load("panda")
    overlap = unchecked_collisions(robot, None, robot.neutral())
    assert overlap[-1].endswith("visual ones") and all("meet at the start" in one for one in overlap[:-1])
    assert robot.in_collision(robot.neutral()) and len(overlap) > 1
