"""Equality constraints of MJCF: MuJoCo's Jacobian of each has the rows of ours, where both hold."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid._typing import Array

SCENE = """<mujoco><worldbody>
<body name="a"><joint name="j1" axis="0 1 0" ref="10"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
  <body name="b" pos=".3 0 0"><joint name="j2" axis="0 1 0" ref="5"/><joint name="j2z"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/><site name="p" pos=".3 0 0" euler="10 20 30"/>
</body></body>
<body name="c" pos=".2 .1 0"><joint name="j3" axis="0 1 0"/><joint name="j3x" axis="1 0 0"/><joint/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/><site name="s" pos=".4 -.1 0" euler="15 20 30"/>
  <body name="d" pos=".3 0 0"><joint name="j4" type="slide" axis="0 1 0" range="-1 1"/><geom size=".05"/>
</body></body>
</worldbody><tendon><fixed name="t1"><joint joint="j1" coef=".7"/><joint joint="j3" coef="-.3"/></fixed>
<fixed name="t2"><joint joint="j2" coef="1.2"/></fixed></tendon><equality>{}</equality></mujoco>"""
LINEAR = '<joint joint1="j2" joint2="j1" polycoef=".1 .5 0 0 0"/>'
POLYNOMIAL = '<joint name="cam" joint1="j2" joint2="j1" polycoef=".1 .5 .2 -.1 .3"/>'
TENDONS = '<tendon name="belt" tendon1="t1" tendon2="t2" polycoef=".1 .5 .2 0 0"/>'
EQUALITIES = {
    "tendons": TENDONS,
    "held tendon": '<tendon tendon1="t1" polycoef=".1 0 0 0 0"/>',
    "polynomial": POLYNOMIAL,
    "held joint": '<joint joint1="j4" polycoef=".1 0 0 0 0"/>',
    "linear, twice on one joint": LINEAR + '<joint joint1="j2" joint2="j3" polycoef="0 1 0 0 0"/>',
    "linear in a circle": LINEAR + '<joint joint1="j1" joint2="j2" polycoef="-.2 2 0 0 0"/>',
    "connect of bodies": '<connect body1="b" body2="c" anchor=".3 .1 .2"/>',
    "connect to the world": '<connect body1="b" anchor=".3 .1 .2"/>',
    "connect of sites": '<connect site1="p" site2="s"/>',
    "weld of bodies": '<weld body1="b" body2="d" anchor=".1 .2 .3" torquescale="2"/>',
    "weld at a pose": '<weld body1="b" body2="d" relpose=".2 .12 .01 1 .01 .02 0"/>',
}


def closed(robot: hc.Robot, q: Array) -> Array:
    """The configuration near q that satisfies the constraints."""
    for _ in range(60):
        A, φ = robot.constraint_jacobian(q), np.atleast_1d(robot.constraint_position(q))
        q = robot.integrate(q, -np.linalg.pinv(A, rcond=1e-9) @ φ)
    return q


def constrained_rows(robot: hc.Robot, model: mujoco.MjModel, q: Array) -> tuple[Array, Array]:
    """MuJoCo's residuals and Jacobian of the equalities, the latter on our velocities."""
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data = mujoco.MjData(model)
    data.qpos[:] = robot.mujoco.qpos(q)
    mujoco.mj_forward(model, data)
    T = np.array([robot.mujoco.qvel(q, unit) for unit in np.eye(robot.nv)]).T
    return data.efc_pos.copy(), data.efc_J.reshape(-1, model.nv) @ T


def row_space(A: Array) -> Array:
    return np.asarray(np.linalg.pinv(A, rcond=1e-8) @ A)


@pytest.mark.parametrize("kind", EQUALITIES)
def test_constraints_are_those_of_mujoco(kind: str, rng: np.random.Generator) -> None:
    text = SCENE.format(EQUALITIES[kind])
    robot = hc.load(text)
    q = closed(robot, robot.integrate(robot.neutral(), 0.1 * rng.normal(size=robot.nv)))
    assert_allclose(robot.constraint_position(q), 0, atol=1e-12)
    residuals, J = constrained_rows(robot, mujoco.MjModel.from_xml_string(text), q)
    assert_allclose(residuals, 0, atol=1e-10)
    assert_allclose(row_space(robot.constraint_jacobian(q)), row_space(J), atol=1e-6)


def test_a_linear_coupling_is_a_mimic(rng: np.random.Generator) -> None:
    text = SCENE.format(LINEAR)
    robot = hc.load(text)
    assert "j2" not in robot.joint_names
    assert not robot.constraints
    q = robot.random(rng)
    residuals, J = constrained_rows(robot, mujoco.MjModel.from_xml_string(text), q)
    assert_allclose(residuals, 0, atol=1e-14)
    assert_allclose(J, 0, atol=1e-14)


def test_inactive_equalities_do_not_act() -> None:
    robot = hc.load(SCENE.format('<joint joint1="j2" joint2="j1" active="false"/>'))
    assert robot.nv == 7
    assert not robot.constraints


@pytest.mark.parametrize("flag", ["equality", "constraint"])
def test_disabled_equalities_do_not_act(flag: str) -> None:
    off = f'<mujoco><option><flag {flag}="disable"/></option>'
    robot = hc.load(SCENE.format('<joint joint1="j2" joint2="j1"/>').replace("<mujoco>", off))
    assert robot.nv == 7
    assert not robot.constraints


def test_a_robot_moves_along_its_coupling() -> None:
    robot = hc.load(SCENE.format(POLYNOMIAL))
    q = closed(robot, robot.neutral())
    motion = hc.simulate(robot, q, duration=0.1, dt=1e-3)
    assert np.ptp(motion.q[:, 1]) > 0.01
    assert_allclose([robot.constraint_position(row) for row in motion.q], 0, atol=1e-9)


@pytest.mark.parametrize("kind", [POLYNOMIAL, TENDONS])
def test_couplings_follow_names_and_the_written_file(
    kind: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    robot = hc.load(SCENE.format(kind))
    robot.to_mjcf(tmp_path / "robot.xml")
    q = robot.random(rng)
    for other in (hc.load(tmp_path / "robot.xml"), robot.rename(prefix="x_")):
        assert_allclose(other.constraint_position(q), robot.constraint_position(q), atol=1e-12)
    two = robot.attach(robot, to="world", prefix="y_")
    assert_allclose(two.constraint_position(np.tile(q, 2)), np.tile(robot.constraint_position(q), 2))


def test_couplings_follow_edits(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = hc.load(SCENE.replace("<tendon>", "<!--").replace("</tendon>", "-->").format(POLYNOMIAL))
    q = robot.random(rng)
    held = robot.lock({"j1": 0.3})
    assert_allclose(
        held.constraint_position(np.delete(q, 0)), robot.constraint_position(np.concatenate([[0.3], q[1:]]))
    )
    both = robot.lock({"j1": 0.3, "j2": float(robot.model.couplings[0].target(0.3))})
    assert not both.constraints
    with pytest.raises(hc.ModelError, match=r"locked open, by 0\.1"):
        robot.lock({"j1": 0.3, "j2": float(robot.model.couplings[0].target(0.3)) + 0.1})
    with pytest.raises(hc.ModelError, match="lock that one with it"):
        robot.lock({"j2": 0.3})
    with pytest.raises(hc.ModelError, match="cut the coupling 'cam'"):
        robot.detach("j2_link")
    with pytest.warns(hc.DoubtfulModelWarning, match="the coupling 'cam'"):
        robot.to_urdf(tmp_path / "robot.urdf")
