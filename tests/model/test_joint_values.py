"""Edits of the numbers that joints state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import ModelError
from helicoid.model.parts import PER_VELOCITY

ROBOT = hc.load("planar_2r")


@pytest.mark.parametrize("field", [name for name in PER_VELOCITY if name != "stribeck_velocity"])
def test_a_number_an_array_and_a_mapping_say_the_same(field: str) -> None:
    by_number, by_array, by_name = (
        ROBOT.with_joints(**{field: given}) for given in (0.3, [0.3, 0.3], {"joint_1": 0.3, "joint_2": [0.3]})
    )
    for robot in (by_number, by_array, by_name):
        moving = [joint for joint in robot.model.joints if joint.type.nv]
        assert [getattr(joint, field).tolist() for joint in moving] == [[0.3], [0.3]]


def test_friction_acts_as_stated(rng: np.random.Generator) -> None:
    damping, friction = rng.uniform(0.1, 1.0, (2, 2))
    with_friction = ROBOT.with_joints(damping=damping, friction=friction)
    q, v, a = rng.normal(size=(3, 2))
    smooth = ROBOT.inverse_dynamics(q, v, a)
    friction_torque = with_friction.inverse_dynamics(q, v, a, friction=True, smoothing=0.0)
    np.testing.assert_allclose(friction_torque - smooth, damping * v + friction * np.sign(v), atol=1e-12)


def test_armature_adds_to_the_mass_matrix_also_where_joints_mimic() -> None:
    """What a coordinate feels in all is what is stated: rotors that mimic the joint add nothing more."""
    arm = hc.serial_chain(2)
    drive = hc.Drive(gear_ratio=50, rotor_inertia=1e-6)
    geared = arm.with_drives(dict.fromkeys(arm.joint_names, drive), full_rotor=True)
    assert any(joint.mimic for joint in geared.model.joints)
    q, bare = np.array([0.2, 0.4]), geared.with_joints(armature=0)
    more = geared.with_joints(armature=[0.1, 0.2]).mass_matrix(q) - bare.mass_matrix(q)
    np.testing.assert_allclose(more, np.diag([0.1, 0.2]), atol=1e-12)


def test_limits_are_changed_one_by_one() -> None:
    robot = ROBOT.with_joints(lower=-1.0, upper=[2.0, 3.0], effort={"joint_2": 7.0})
    np.testing.assert_array_equal(robot.limits.lower, [-1.0, -1.0])
    np.testing.assert_array_equal(robot.limits.upper, [2.0, 3.0])
    assert robot.limits.effort.tolist() == [ROBOT.limits.effort[0], 7.0]
    np.testing.assert_array_equal(robot.limits.velocity, ROBOT.limits.velocity)


def test_what_is_not_named_stays() -> None:
    robot = ROBOT.with_joints(damping=0.5).with_joints(friction={"joint_1": 0.2})
    assert [joint.damping.tolist() for joint in robot.model.independent_joints] == [[0.5], [0.5]]
    assert [joint.friction.tolist() for joint in robot.model.independent_joints] == [[0.2], [0.0]]


def test_a_floating_base_takes_a_number_for_its_joints_and_zeros_for_itself() -> None:
    floating = hc.load("planar_2r", base="floating")
    assert [
        joint.damping.tolist() for joint in floating.with_joints(damping=0.3).model.moving_joints[1:]
    ] == [
        [0.3],
        [0.3],
    ]
    assert floating.with_joints(damping=[0] * 6 + [1, 2]).model.joint("joint_2").damping == [2.0]
    with pytest.raises(ModelError, match="floats freely and has no damping"):
        floating.with_joints(damping=np.ones(8))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"colour": 1.0}, "a joint has no 'colour'; with_joints changes: damping, friction"),
        ({"damping": [1.0, 2.0, 3.0]}, "takes a number, 2 numbers, or a mapping"),
        ({"damping": {"joint_3": 1.0}}, "did you mean 'joint_1' or 'joint_2'|did you mean 'joint_2'"),
        ({"damping": {"joint_1": [1.0, 2.0]}}, "damping of joint 'joint_1' takes 1 numbers, got 2"),
        ({"damping": "much"}, "must be numbers"),
        ({"damping": np.nan}, "cannot be"),
        ({"armature": {"joint_1": np.inf}}, "armature of joint 'joint_1' cannot be inf"),
        ({"lower": 2.0, "upper": 1.0}, "lower limit .* is above its upper limit"),
        ({"effort": -1.0}, "limit of effort is .* below 0"),
        ({"friction": 2.0, "static_friction": 1.0}, "static friction .* is below its Coulomb friction"),
    ],
)
def test_wrong_values_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        ROBOT.with_joints(**values)
