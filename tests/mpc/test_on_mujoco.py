"""A quadruped trots on MuJoCo's ground, by contact phases of the plan alone."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

from helicoid.mpc import Controller, Phase

try:
    importlib.metadata.files("example-robot-data")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("the benchmark's robots are part of example-robot-data", allow_module_level=True)

from benchmarks.mpc_trot import DT, QUADRUPEDS, standing, trot, walking

pytest.importorskip("mujoco")

from benchmarks.walking.mujoco_ground import MuJoCoGround, balls

pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]
FEET, RADIUS = QUADRUPEDS["quadruped"].feet, QUADRUPEDS["quadruped"].radius


@pytest.mark.parametrize(("speed", "push"), [(0.3, 0.0), (-0.3, 0.0), (0.3, 0.3)])
def test_a_trot_on_ground_that_is_not_the_plans(speed: float, push: float, tmp_path: Path) -> None:
    """Torques of 25 ms without any loop inside: it stays upright and goes as fast as it should.

    A push is a jump of the trunk's velocity to the side (m/s) in the middle of a step.
    """
    robot, q = standing("quadruped")
    ground = MuJoCoGround(robot, q, balls(FEET, RADIUS), tmp_path, friction=0.8)
    assert np.isclose(ground.model.body_mass.sum(), robot.mass)
    controller = Controller(walking("quadruped", cyclic=False))
    controller.set(phases=[Phase(0.5, FEET), *8 * trot("quadruped")], velocity=[speed, 0.0, 0.0])
    path, fine = [], []
    for k in range(round(4.0 / DT)):
        if k == 70:
            ground.data.qvel[1] += push
        here, v = ground.state()
        ground.hold(controller.step(here, v), DT)
        path.append(here)
        fine.append(controller.ok)
    places = np.array(path)
    gone = places[-1, 0] - places[40, 0]
    assert gone / ((len(path) - 41) * DT) == pytest.approx(speed, abs=0.08)
    assert np.all(np.abs(places[:, 2] - q[2]) < 0.03)
    assert np.all(np.hypot(places[:, 4], places[:, 5]) < 0.1)  # half of its tilt
    assert np.mean(fine) > 0.9
