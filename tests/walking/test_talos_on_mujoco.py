"""A Talos stands on two feet in MuJoCo, shifts its weight and lifts a foot for five seconds."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest

from helicoid.control import (
    CenterOfMassTask,
    OrientationTask,
    PoseTask,
    PostureTask,
    SurfaceContact,
    WholeBody,
)

try:
    importlib.metadata.files("example-robot-data")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("the robot is part of example-robot-data", allow_module_level=True)

from benchmarks.control.differential import talos

pytest.importorskip("mujoco")
pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]
DT, SOLES, SIZE = 0.002, ("left_sole_link", "right_sole_link"), (0.2, 0.12)


def test_it_stands_on_one_foot(tmp_path):
    from benchmarks.walking.mujoco_ground import MuJoCoGround
    from benchmarks.walking.mujoco_ground import soles as boxes

    subject = talos()
    assert subject is not None
    robot, q = subject.robot, subject.posture.copy()
    q[2] -= robot.pose(SOLES[0])(q)[2, 3]
    start, foot = robot.center_of_mass(q), robot.pose(SOLES[1])(q)
    left = robot.pose(SOLES[0])(q)[:3, 3]
    tasks = [
        CenterOfMassTask(start, 10.0, name="center"),
        OrientationTask("torso_2_link", robot.pose("torso_2_link")(q)[:3, :3], 2.0),
        PoseTask(SOLES[1], foot, 10.0, name="foot"),
        PostureTask(q, 1e-2),
    ]
    soles = [SurfaceContact(sole, 0.5, size_xy=(0.16, 0.09)) for sole in SOLES]
    wb = WholeBody(robot, tasks, soles, DT, frequency=[6.0, 8.0, 10.0, 5.0], ramp=0.1, force_weight=1e-6)
    ground = MuJoCoGround(robot, q, boxes(SOLES, SIZE), tmp_path, friction=0.8)
    over = np.array([left[0], left[1], start[2]])
    fine, lifted = [], []
    for k in range(round(9.0 / DT)):
        t = k * DT
        share = np.clip((t - 0.5) / 1.5, 0.0, 1.0)
        wb.set(center=start + (3 * share**2 - 2 * share**3) * (over - start))
        if k == round(2.5 / DT):
            wb.contact(SOLES[1], active=False)
        up = foot.copy()
        up[2, 3] += 0.05 * np.clip((t - 2.7) / 0.5, 0.0, 1.0)
        wb.set(foot=up)
        here, v = ground.state()
        tau = wb.step(here, v)
        fine.append(wb.ok)
        ground.hold(tau, DT)
        assert abs(here[2] - q[2]) < 0.15 and np.hypot(here[4], here[5]) < 0.1, f"fell at {t:.2f} s"
        if t > 3.5:
            lifted.append(robot.pose(SOLES[1])(here)[2, 3])
    assert np.mean(fine) > 0.99
    assert np.abs(np.array(lifted) - 0.05).max() < 0.02  # five seconds and more
    assert np.linalg.norm((robot.center_of_mass(here) - over)[:2]) < 0.02
