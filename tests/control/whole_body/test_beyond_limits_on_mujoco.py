"""A Talos in MuJoCo whose posture is beyond its joint limits stands, and returns or says why it does not."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest

import helicoid as hc
from helicoid.control import CenterOfMassTask, OrientationTask, PostureTask, SurfaceContact, WholeBody

try:
    importlib.metadata.files("example-robot-data")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("the robot is part of example-robot-data", allow_module_level=True)

from benchmarks.control.differential import talos

pytest.importorskip("mujoco")
pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]
DT, SOLES, BEYOND = 0.002, ("left_sole_link", "right_sole_link"), 0.3


@pytest.fixture(scope="module")
def standing():
    """Controller and configuration."""
    subject = talos()
    assert subject is not None
    robot, q = subject.robot.with_joints(friction=0, damping=0), subject.posture.copy()
    q[2] -= robot.pose(SOLES[0])(q)[2, 3]
    tasks = [
        CenterOfMassTask(robot.center_of_mass(q), 10.0),
        OrientationTask("torso_2_link", robot.pose("torso_2_link")(q)[:3, :3], 2.0),
        PostureTask(q, 1e-2),
    ]
    soles = [SurfaceContact(sole, 0.5, size_xy=(0.16, 0.09)) for sole in SOLES]
    return WholeBody(robot, tasks, soles, DT, frequency=[6.0, 8.0, 5.0], ramp=0.1, force_weight=1e-6), q


def narrowed(robot, q, joints):
    """Limits that q is BEYOND the range of these joints by."""
    lower, upper, places = robot.limits.lower.copy(), robot.limits.upper.copy(), []
    for joint in joints:
        k = range(robot.nq)[robot.index(joint)[0]][0]
        places.append(k)
        if q[k] + BEYOND < upper[k]:
            lower[k] = q[k] + BEYOND
        else:
            upper[k] = q[k] - BEYOND
    return lower, upper, places


@pytest.mark.parametrize(
    ("joints", "returns"),
    [
        pytest.param(("arm_",), True, id="arms"),
        pytest.param(("leg_left_4", "leg_right_4"), True, id="knees"),
        pytest.param(("leg_left_2", "leg_left_6", "leg_right_2", "leg_right_6"), False, id="rolls"),
        pytest.param(("leg_",), False, id="legs"),
    ],
)
def test_it_stands_and_returns_or_says_why_not(standing, tmp_path, joints, returns):
    from benchmarks.walking.mujoco_ground import MuJoCoGround
    from benchmarks.walking.mujoco_ground import soles as boxes

    wb, q = standing
    named = [one for one in wb.robot.joint_names if one.startswith(joints)]
    lower, upper, places = narrowed(wb.robot, q, named)
    wb.set(position_lower=lower, position_upper=upper)
    wb.reset()
    ground = MuJoCoGround(wb.robot, q, boxes(SOLES, (0.2, 0.12)), tmp_path, friction=0.8)
    for k in range(round(2.0 / DT)):
        here, v = ground.state()
        ground.hold(wb.step(here, v), DT)
        assert wb.ok or wb.status is hc.Status.INFEASIBLE
        assert abs(here[2] - q[2]) < 0.15 and np.hypot(here[4], here[5]) < 0.2, f"fell at {k * DT:.2f} s"
    beyond = np.maximum(lower - here, here - upper)[places].max()
    assert np.abs(v).max() < 0.1
    if returns:
        assert wb.ok and beyond < 1e-2
    else:
        assert not wb.ok and beyond < BEYOND + 0.05
        assert any(one in wb.message.split("not returning: ")[1] for one in named)
