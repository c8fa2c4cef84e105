"""Robots read from MJCF have MuJoCo's dynamics, kinematics and coordinates, feature by feature."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from benchmarks.mjcf import TOLERANCE, Comparison, random_state
from numpy.testing import assert_allclose

import helicoid as hc

ARM = """
<body name="upper" pos="0 .1 .4" quat="1 .2 0 .3">
  {joints}
  <inertial mass="2" pos=".1 .02 .2" quat="1 .1 .3 0" diaginertia=".03 .02 .015"/>
  <body name="lower" pos=".3 0 .2" euler="20 0 40">
    <joint name="wrist" axis="1 1 0" pos="0 .02 .1" ref="15"/>
    <geom type="capsule" size=".03 .1"/>
    <site name="tip" pos=".1 .2 .3" quat="1 0 1 .5"/>
  </body>
</body>
"""
FREE_BOX = '<body name="box" pos="1 2 3">{}<geom type="box" size=".1 .2 .3" pos=".1 0 .05"/></body>'

FEATURES = {
    "hinge": '<joint name="j" axis="0 1 1"/>',
    "hinge with position and reference": '<joint name="j" axis="0 1 .5" pos=".1 -.2 .3" ref="25"/>',
    "slide": '<joint name="j" type="slide" axis="1 0 .5" ref=".3"/>',
    "ball": '<joint name="j" type="ball" pos=".1 .2 0"/>',
    "several": '<joint name="x" type="slide" axis="1 0 0"/>'
    '<joint name="y" axis="0 1 0" pos=".1 0 0" ref="10"/>'
    '<joint name="b" type="ball" pos="0 .1 0"/>',
    "armature": '<joint name="j" armature=".7"/>',
    "damping": '<joint name="j" damping=".7"/><joint name="b" type="ball" damping=".3" armature=".1"/>',
    "spring": '<joint name="j" stiffness="8" springref="35" ref="5"/>'
    '<joint name="s" type="slide" stiffness="3" springref=".2" ref=".1"/>',
    "spring of a ball": '<joint name="j" type="ball" stiffness="8" pos=".1 0 0"/>',
    "friction": '<joint name="j" frictionloss=".7" damping=".2"/>',
    "no names": "<joint/><joint axis='1 0 0'/>",
    "no joint": "",
}
FREE = {
    "free": "<freejoint/>",
    "free with armature": '<joint type="free" armature=".4" damping=".2"/>',
    "free with a spring": '<joint type="free" stiffness="5" damping=".2"/>',
}


def scene(bodies: str, head: str = "", tail: str = "") -> str:
    return f"<mujoco>{head}<worldbody>{bodies}</worldbody>{tail}</mujoco>"


def agree(text: str, rng: np.random.Generator, states: int = 3) -> hc.Robot:
    robot = hc.load(text)
    comparison = Comparison(robot, mujoco.MjModel.from_xml_string(text))
    for _ in range(states):
        errors = comparison.errors(rng)
        assert max(errors.values()) < TOLERANCE, errors
    return robot


@pytest.mark.parametrize("feature", FEATURES)
def test_joints(feature: str, rng: np.random.Generator) -> None:
    agree(scene(ARM.format(joints=FEATURES[feature])), rng)


@pytest.mark.parametrize("feature", FREE)
def test_free_joints_beside_an_arm(feature: str, rng: np.random.Generator) -> None:
    agree(scene(ARM.format(joints=FEATURES["several"]) + FREE_BOX.format(FREE[feature])), rng)


@pytest.mark.parametrize("option", ['gravity="1 2 -3"', 'gravity="0 0 0"'])
def test_gravity(option: str, rng: np.random.Generator) -> None:
    robot = agree(scene(ARM.format(joints="<joint/>"), f"<option {option}/>"), rng)
    assert_allclose(robot.parametric("gravity").theta.values, robot.model.gravity)


@pytest.mark.parametrize("flags", [["gravity"], ["spring"], ["damper"], ["spring", "damper"]])
def test_disabled_physics(flags: list[str], rng: np.random.Generator) -> None:
    arm = ARM.format(joints='<joint name="j" stiffness="8" damping=".4"/>').replace(
        "<body", '<body gravcomp="1"'
    )
    off = " ".join(f'{flag}="disable"' for flag in flags)
    agree(scene(arm, f"<option><flag {off}/></option>"), rng)


def test_disabled_constraints_are_no_friction() -> None:
    joints = '<joint name="j" frictionloss="2"/>'
    robot = hc.load(scene(ARM.format(joints=joints), '<option><flag constraint="disable"/></option>'))
    assert not robot.model.joint("j").friction.any()


@pytest.mark.parametrize("ratios", [(-1, 0), (-1, 1)])
def test_negative_gravity_compensation(ratios: tuple[int, int], rng: np.random.Generator) -> None:
    arm = ARM.format(joints="<joint/>").replace('"upper"', f'"upper" gravcomp="{ratios[0]}"')
    agree(scene(arm.replace('"lower"', f'"lower" gravcomp="{ratios[1]}"')), rng)


def test_frames_that_are_nearly_those_of_bodies(rng: np.random.Generator) -> None:
    """MuJoCo takes them for the same."""
    inertial = '<inertial pos="3e-9 0 0" mass="2" diaginertia=".03 .02 .015"/>'
    text = scene(f'<body name="b"><freejoint/>{inertial}<site name="s" pos="0 0 3e-9"/></body>')
    assert mujoco.MjModel.from_xml_string(text).body_sameframe[1]
    assert agree(text, rng).model.link("b").inertia.com[0] == 0


def test_coordinates_go_both_ways_in_batches(rng: np.random.Generator) -> None:
    text = scene(
        ARM.format(joints=FEATURES["several"])
        + "".join(
            FREE_BOX.format(one).replace('"box" pos', f'"box{k}" pos') for k, one in enumerate(FREE.values())
        )
    )
    robot, model = hc.load(text), mujoco.MjModel.from_xml_string(text)
    states = [random_state(model, rng) for _ in range(4)]
    qpos, qvel = (np.array(column) for column in zip(*states, strict=True))
    qacc = rng.normal(size=qvel.shape)
    on = robot.mujoco
    q, v = on.q(qpos), on.v(qpos, qvel)
    assert_allclose(on.qpos(q), qpos, atol=1e-14)
    assert_allclose(on.qvel(q, v), qvel, atol=1e-14)
    assert_allclose(on.qacc(q, v, on.a(qpos, qvel, qacc)), qacc, atol=1e-13)
    assert_allclose(on.qfrc(q, on.tau(q, qacc)), qacc, atol=1e-13)
    assert_allclose(np.sum(on.tau(q, qacc) * v, axis=1), np.sum(qacc * qvel, axis=1), atol=1e-12)
    for one in range(4):
        assert_allclose(on.v(qpos[one], qvel[one]), v[one])
    with pytest.raises(hc.HelicoidError, match="qpos has"):
        on.q(np.zeros(3))


def test_acceleration_is_the_rate_of_velocity(rng: np.random.Generator) -> None:
    """Along MuJoCo's own motion, by central differences of ours."""
    text = scene(FREE_BOX.format("<freejoint/>"))
    robot, model = hc.load(text), mujoco.MjModel.from_xml_string(text)
    qpos, qvel = random_state(model, rng)
    qacc, h = rng.normal(size=6), 1e-5
    ends = []
    for step in (-h, h):
        there = qpos.copy()
        mujoco.mj_integratePos(model, there, qvel + step / 2 * qacc, step)
        ends.append(robot.mujoco.v(there, qvel + step * qacc))
    assert_allclose(robot.mujoco.a(qpos, qvel, qacc), (ends[1] - ends[0]) / (2 * h), atol=1e-8)


def test_dry_friction_of_a_free_joint_is_along_the_axes_of_the_world(rng: np.random.Generator) -> None:
    text = scene(FREE_BOX.format('<joint type="free" frictionloss=".7"/>'))
    robot, model = hc.load(text), mujoco.MjModel.from_xml_string(text)
    qpos, qvel = random_state(model, rng)
    q, v = robot.mujoco.q(qpos), robot.mujoco.v(qpos, 100 * qvel)
    friction = robot.bias(q, v, friction=True) - robot.bias(q, v)
    assert_allclose(robot.mujoco.qfrc(q, friction), 0.7 * np.sign(qvel), rtol=1e-9)
