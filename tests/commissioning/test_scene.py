"""Commissioning among obstacles: no configuration that the arm takes meets the scene."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.commissioning.motions import MotionSettings, planned_motion
from robot.collision.arms import capsule_arm

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
