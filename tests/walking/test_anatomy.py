"""Feet, postures and strides of legged robots, from their descriptions."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.walking.anatomy import (
    feet_of,
    foot_radius_of,
    longest_stride,
    on_ground,
    standing_posture,
    steps_sideways,
)

SRDF = """<robot name="quadruped"><group name="legs"/><group_state name="{name}" group="legs">
  {joints}</group_state></robot>"""


def described(name: str = "standing") -> hc.Robot:
    robot = hc.load("quadruped", base="floating")
    angles = dict(zip(robot.joint_names[1:], np.tile([0.0, 0.8, -1.6], 4), strict=True))
    joints = "".join(f'<joint name="{joint}" value="{value}"/>' for joint, value in angles.items())
    return hc.load("quadruped", base="floating", srdf=SRDF.format(name=name, joints=joints))


def test_a_quadruped_is_recognised() -> None:
    robot = described("standing_tall")
    q = standing_posture(robot)
    np.testing.assert_allclose(q[7:], np.tile([0.0, 0.8, -1.6], 4))
    feet = feet_of(robot, q)
    assert feet == ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    radius = foot_radius_of(robot, feet)
    q = on_ground(robot, q, feet, radius)
    heights = [robot.pose(foot)(q)[2, 3] for foot in feet]
    assert min(heights) == pytest.approx(radius, abs=1e-12) and not q[:2].any()
    assert steps_sideways(robot, q, feet)


def test_an_arm_on_the_trunk_is_no_leg() -> None:
    robot = described().attach(hc.load("planar_2r"), to=described().model.root, prefix="arm_")
    q = robot.neutral()
    q[: 7 + 12] = described().postures["standing"]
    assert feet_of(robot, q) == ("FL_foot", "FR_foot", "RL_foot", "RR_foot")


def test_legs_without_abduction_cannot_step_sideways() -> None:
    robot = described()
    planar = robot.lock({name: 0.0 for name in robot.joint_names[1::3]})
    q = planar.neutral()
    q[7:] = np.tile([0.8, -1.6], 4)
    assert planar.nv == robot.nv - 4 and not steps_sideways(planar, q, feet_of(planar, q))


def test_the_longest_stride_is_that_of_a_triangle() -> None:
    """Straight legs of length l over a hip at height h reach √(l² − h²) before and behind it."""
    robot = described()
    planar = robot.lock({name: 0.0 for name in robot.joint_names[1::3]})
    q = planar.neutral()
    q[7:] = np.tile([0.8, -1.6], 4)
    foot = feet_of(planar, q)[0]
    at = planar.pose(foot)(q)[:3, 3]
    hip, knee = (planar.pose(planar.model.bodies[k].name)(q)[:3, 3] for k in (1, 2))
    length = np.linalg.norm(hip - knee) + np.linalg.norm(knee - at)
    reach = np.sqrt(length**2 - (hip[2] - at[2]) ** 2)
    assert longest_stride(planar, q, (foot,)) == pytest.approx(0.8 * 2 * reach)
    straight = np.array(q)
    straight[7:] = 0.0
    assert longest_stride(planar, straight, (foot,)) == pytest.approx(0.0, abs=1e-6)


def test_a_robot_without_a_named_posture() -> None:
    with pytest.raises(hc.InputError, match="no posture called standing"):
        standing_posture(hc.load("quadruped", base="floating"))
    with pytest.raises(hc.InputError, match="it has crouching"):
        standing_posture(described("crouching"))
