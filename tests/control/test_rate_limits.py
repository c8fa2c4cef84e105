"""Limits of acceleration, deceleration and jerk of URDF 1.2: read, edited, written, and kept by motions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc

ARM = """<robot name="r"><link name="base"/>{}<joint name="j0" type="revolute"><parent link="base"/>
<child link="l0"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="4" effort="50" {}/></joint>
<joint name="j1" type="continuous"><parent link="l0"/><child link="l1"/><axis xyz="0 0 1"/></joint></robot>"""
LINKS = "".join(
    f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial></link>"
    for k in range(2)
)
STATED = 'acceleration="3" deceleration="2" jerk="40"'
WAY = np.array([[0.0, 0.0], [1.0, 0.5]])


def arm(stated: str = STATED) -> hc.Robot:
    return hc.load(ARM.format(LINKS, stated))


def test_they_are_read_with_defaults() -> None:
    assert_allclose(arm().rate_limits, [[3, np.inf], [2, np.inf], [40, np.inf]])
    assert_allclose(arm('acceleration="3"').rate_limits.deceleration, [3, np.inf])
    assert arm("").model.joint("j0").rate_limits is None
    with pytest.raises(hc.HelicoidError, match='jerk "-1" must not be negative'):
        arm('jerk="-1"')


def test_they_are_edited_and_written(tmp_path: Path) -> None:
    robot = arm().with_joints(acceleration={"j1": 7.0}, jerk=90.0)
    robot.to_urdf(tmp_path / "arm.urdf")
    both = robot.attach(arm(), to="l1", prefix="b_").detach("b_base")
    for one in (robot, hc.load(tmp_path / "arm.urdf"), both):
        assert_allclose(one.rate_limits, [[3, 7], [2, np.inf], [90, 90]])
    with pytest.raises(hc.HelicoidError, match="its limit of acceleration"):
        robot.with_joints(acceleration=-1.0)
    with pytest.warns(hc.DoubtfulModelWarning, match="limits of acceleration and jerk of joint 'j0'"):
        robot.to_mjcf(tmp_path / "arm.xml")


def test_time_optimal_motions_keep_acceleration_and_deceleration() -> None:
    motion = hc.control.time_optimal(WAY, arm())
    assert_allclose(np.abs(motion.a[:, 0]).max(), 2.0, rtol=1e-3)
    faster = hc.control.time_optimal(WAY, arm(), acceleration=5.0)
    assert np.abs(faster.a[:, 0]).max() > 4.0


def test_planned_paths_keep_them() -> None:
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
    robot = hc.load(ARM.format(LINKS.replace("</link>", ball), STATED))
    path = hc.plan(robot, WAY[0], WAY[1], hc.Scene(), seed=0)
    assert np.abs(path.timed().a[:, 0]).max() <= 2.0 + 1e-3


def test_online_motion_has_them_as_defaults() -> None:
    pytest.importorskip("ruckig")
    robot = arm().with_joints(acceleration={"j1": 7.0}, jerk={"j1": 50.0}, velocity={"j1": 2.0})
    motion = hc.control.OnlineMotion(robot, dt=0.01)
    motion.reset([0.0, 0.0])
    accelerations = []
    while not motion.arrived:
        accelerations.append(motion.step(WAY[1]).a)
    assert np.abs(np.array(accelerations)[:, 0]).max() <= 2.0 + 1e-9
    assert np.abs(np.diff(accelerations, axis=0)).max(axis=0)[0] <= 0.4 + 1e-9
