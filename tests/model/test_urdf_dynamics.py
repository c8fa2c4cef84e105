"""Springs and static friction in a URDF: read, checked, and written back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import RobotDescriptionError
from helicoid.model.urdf.reader import read_urdf_text
from helicoid.model.urdf.writer import to_urdf_text
from random_trees import assert_close

TEXT = """<robot name="sprung">
  <link name="base"/>
  <link name="arm">
    <inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="elbow" type="{kind}">
    <parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="2" effort="3"/>
    <dynamics {dynamics}/>
  </joint>
</robot>
"""


def read(dynamics: str, kind: str = "revolute") -> hc.Robot:
    return hc.Robot(read_urdf_text(TEXT.format(dynamics=dynamics, kind=kind)))


def test_everything_is_read_and_written() -> None:
    stated = 'friction="0.2" static_friction="0.3" stribeck_velocity="0.05" stiffness="7" rest="-0.4"'
    robot = read(stated)
    again = read_urdf_text(to_urdf_text(robot.model))
    for joint in (robot.model.joint("elbow"), again.joint("elbow")):
        found = [joint.friction, joint.static_friction, joint.stribeck_velocity, joint.stiffness, joint.rest]
        assert_close(np.ravel(found), [0.2, 0.3, 0.05, 7.0, -0.4])
    assert_close(robot.spring_torque([0.1]), [3.5])
    assert_close(robot.bias([-0.4], [0.05], friction=True, smoothing=0), [0.2 + 0.1 * np.exp(-1)])


def test_only_what_is_stated_is_written() -> None:
    text = to_urdf_text(read('damping="0.5"').model)
    assert 'damping="0.5"' in text
    assert not any(word in text for word in ("stiffness", "rest=", "static_friction", "stribeck"))


@pytest.mark.filterwarnings("ignore:.*so that lower and upper limits have no effect")
def test_rest_of_a_ball_is_a_quaternion() -> None:
    robot = read('stiffness="1 2 3" rest="0.6 0 0.8 0"', "spherical")
    again = read_urdf_text(to_urdf_text(robot.model)).joint("elbow")
    assert_close(again.rest, [0.6, 0.0, 0.8, 0.0])
    assert_close(again.stiffness, [1.0, 2.0, 3.0])


@pytest.mark.filterwarnings("ignore::helicoid.errors.DoubtfulModelWarning")
@pytest.mark.parametrize(
    ("dynamics", "kind", "message"),
    [
        ('friction="2" static_friction="1"', "revolute", "below its Coulomb friction"),
        ('stribeck_velocity="1"', "revolute", "needs a static friction"),
        ('stiffness="-1"', "revolute", 'stiffness "-1" must not be negative'),
        ('stiffness="1 2"', "revolute", "one number for each coordinate"),
        ('stiffness="1" rest="1 2"', "revolute", r"one number for each coordinate \(1\); it has 2"),
        ('stiffness="1" rest="0"', "spherical", r"one number for each coordinate \(4\); it has 1"),
        ('stiffness="1" rest="1 1 0 0"', "spherical", "quaternions unit"),
        ('stiffness="1" rest="soft"', "revolute", "must be numbers"),
    ],
)
def test_faults_are_named_with_their_line(dynamics: str, kind: str, message: str) -> None:
    with pytest.raises(RobotDescriptionError, match=rf'<text>:9: joint "elbow": .*{message}'):
        read(dynamics, kind)


def test_a_file_with_a_full_rotor_is_the_same_robot(tmp_path: Path) -> None:
    """Its rotors have moments but no mass, which the reader doubts, and rightly keeps."""
    from helicoid.model.edits.drives import Drive

    robot = hc.load("panda").with_drives({"panda_joint4": Drive(100, 1e-5)}, full_rotor=True)
    robot.to_urdf(tmp_path / "driven.urdf")
    with pytest.warns(hc.DoubtfulModelWarning):
        again = hc.load(tmp_path / "driven.urdf")
    q = robot.random(0)
    assert_close(again.mass_matrix(q), robot.mass_matrix(q))
