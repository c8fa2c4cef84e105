"""A Talos on the convex hulls of its meshes, in our simulation: it stands, and limp it falls."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid.control import CenterOfMassTask, OrientationTask, PostureTask, SurfaceContact, WholeBody
from helicoid.simulation.contacts.shapes import gaps, points_of

try:
    importlib.metadata.files("example-robot-data")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("the robot is part of example-robot-data", allow_module_level=True)

from benchmarks.control.differential import talos

pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]
SOLES, GROUND = ("left_sole_link", "right_sole_link"), hc.Ground(friction=0.8)


@pytest.fixture(scope="module")
def standing() -> tuple[hc.Robot, np.ndarray]:
    """The robot, its lowest corner on the ground."""
    subject = talos()
    assert subject is not None
    robot, q = subject.robot, subject.posture.copy()
    points = points_of(robot, "collision")
    poses = [np.asarray(robot.pose(link)(q))[None, :3] for link in points.links]
    q[2] -= min(float(gaps(row, poses[int(row[0])], GROUND)[0]) for row in points.rows)
    return robot, q


def test_it_stands_under_whole_body_control(standing: tuple[hc.Robot, np.ndarray]) -> None:
    robot, q = standing
    assert abs(robot.pose(SOLES[0])(q)[2, 3]) < 1e-3  # the hull ends where the sole does
    tasks = [
        CenterOfMassTask(robot.center_of_mass(q), 10.0),
        OrientationTask("torso_2_link", robot.pose("torso_2_link")(q)[:3, :3], 2.0),
        PostureTask(q, 1e-2),
    ]
    soles = [SurfaceContact(sole, 0.5, size_xy=(0.16, 0.09)) for sole in SOLES]
    wb = WholeBody(robot, tasks, soles, 0.002, frequency=[6.0, 8.0, 5.0], force_weight=1e-6)
    motion = hc.simulate(robot, q, None, 1.0, wb, ground=GROUND, contacts="collision")
    assert wb.ok and np.abs(motion.q - q).max() < 0.01 and np.abs(motion.v[-1]).max() < 0.01
    assert motion.contact_residual.max() < 1e-8 and motion.penetration.max() < 1e-6
    forces = dict(zip(motion.contact_names, motion.contact_forces[-1], strict=True))
    loaded = {name for name, force in forces.items() if np.any(force)}
    assert loaded == {"leg_left_6_link", "leg_right_6_link"}
    assert_allclose(sum(forces.values()), [0, 0, 9.81 * robot.mass], atol=1.0)


def test_limp_it_falls_and_gains_no_energy(standing: tuple[hc.Robot, np.ndarray]) -> None:
    robot, q = standing
    start = q + np.eye(len(q))[2] * 0.05
    motion = hc.simulate(robot, start, None, 0.8, ground=GROUND, contacts="collision")
    assert motion.q[-1, 2] < 0.6
    assert motion.penetration.max() < 1e-6 and np.isfinite(motion.q).all()
    assert np.diff(motion.energy).max() < 1e-2  # J, of 800
    assert np.mean(motion.contact_residual > 1e-8) < 0.01 and motion.contact_residual.max() < 1e-5
