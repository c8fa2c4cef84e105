"""Tendons, actuators and gravity compensation of MJCF: lengths, forces, dynamics and motions of MuJoCo."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from benchmarks.mjcf import TOLERANCE, Comparison, random_state
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid._typing import Array
from mjcf_scenes import ACTUATORS, NUMBERS, SCENE, SERVO, TENDONS

pytestmark = pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")


def agree(text: str, rng: np.random.Generator) -> hc.Robot:
    """Load a text, and compare everything at two states."""
    robot, model = hc.load(text), mujoco.MjModel.from_xml_string(text)
    comparison, on, data = Comparison(robot, model), robot.mujoco, mujoco.MjData(model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    for _ in range(2):
        errors = comparison.errors(rng)
        assert max(errors.values()) < TOLERANCE, errors
        data.qpos[:], data.qvel[:] = random_state(model, rng)
        data.ctrl[:] = 2 * rng.normal(size=model.nu)
        data.act[:] = data.ctrl[: model.na]
        mujoco.mj_forward(model, data)
        q, v, u = on.q(data.qpos), on.v(data.qpos, data.qvel), data.ctrl
        assert_allclose(robot.tendon_lengths(q), data.ten_length, atol=1e-12)
        assert_allclose(robot.actuator_lengths(q), data.actuator_length, atol=1e-12)
        assert_allclose(robot.actuator_force(q, v, u), data.actuator_force, rtol=1e-10, atol=1e-10)
        assert_allclose(robot.actuator_torque(q, v, u), on.tau(q, data.qfrc_actuator), atol=1e-9)
    return robot


@pytest.mark.parametrize("kind", TENDONS)
def test_tendons(kind: str, rng: np.random.Generator) -> None:
    tendon = f"<tendon>{TENDONS[kind].format(NUMBERS)}</tendon>"
    robot = agree(SCENE.format(f"{tendon}<actuator>{SERVO}</actuator>"), rng)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    assert_allclose(robot.tendon_jacobian(q) @ v, _rate(robot, robot.tendon_lengths, q, v), atol=1e-6)


def _rate(robot: hc.Robot, function: object, q: Array, v: Array) -> Array:
    h = 1e-6
    ends = [np.asarray(function(robot.integrate(q, s * v))) for s in (h, -h)]  # type: ignore[operator]
    return np.asarray((ends[0] - ends[1]) / (2 * h))


@pytest.mark.parametrize("kind", ACTUATORS)
def test_actuators(kind: str, rng: np.random.Generator) -> None:
    agree(SCENE.format(f"<actuator>{ACTUATORS[kind]}</actuator>"), rng)


def test_a_site_on_a_site_beyond_a_coupled_joint(rng: np.random.Generator) -> None:
    """j1 moves both sites, and through its coupling one of them alone as well."""
    text = SCENE.format(
        '<equality><joint joint1="j2" joint2="j1" polycoef="0 .7 0 0 0"/></equality><actuator>'
        '<position site="on_b" refsite="on_a" gear="1 2 3 4 5 6" kp="3" kv="1"/></actuator>'
    )
    robot, model = hc.load(text), mujoco.MjModel.from_xml_string(text)
    errors = Comparison(robot, model).errors(rng)
    assert robot.nv == model.nv - 1 and max(errors.values()) < TOLERANCE, errors


def test_energy_of_tendons_and_compensation(rng: np.random.Generator) -> None:
    """dU/dt = vᵀ (g + ∂U/∂q of springs), and power balance of the wrenches in the joints."""
    tendon = TENDONS["sphere"].format('stiffness="50" springlength=".1 .3"')
    robot = hc.load(SCENE.format(f"<tendon>{tendon}</tendon>"))
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    force = robot.gravity(q) + robot.elastic_torque(q)
    assert_allclose(force @ v, _rate(robot, robot.potential_energy, q, v), rtol=1e-6)
    assert_allclose(robot.bias(q, 0 * v), force, atol=1e-12)
    numeric = np.array([_rate(robot, lambda x: robot.bias(x, v), q, unit) for unit in np.eye(robot.nv)]).T
    assert_allclose(robot.inverse_dynamics_derivatives(q, v, 0 * v)[0], numeric, atol=1e-4)
    carried = robot.joint_wrenches(q, v, 0 * v)[0, 1]  # about the axis of j1, y
    assert_allclose(carried, robot.bias(q, v)[0], atol=1e-9)


FIXED_SCENE = SCENE.replace('<freejoint name="free"/>', "")
DRIVEN = (
    f"<tendon>{TENDONS['fixed'].format(NUMBERS)}</tendon><actuator>{SERVO}"
    '<position joint="j2" kp="50" kv="5"/><motor site="on_c" gear="1 2 3 .1 .2 .3"/></actuator>'
)


def test_servos_drive_a_simulation_as_in_mujoco() -> None:
    """Both integrate by the classic Runge-Kutta method, with the servo inside."""
    text = FIXED_SCENE.format(DRIVEN)
    robot, model = hc.load(text), mujoco.MjModel.from_xml_string(text)
    data, u = mujoco.MjData(model), np.array([0.3, 0.5, 0.2])
    data.ctrl[:] = u
    motion = hc.simulate(
        hc.ActuatedRobot(robot), robot.mujoco.q(model.qpos0), controller=u, duration=0.2, dt=1e-3
    )
    mujoco.mj_step(model, data, 200)
    assert np.ptp(motion.q[:, 0]) > 0.1
    assert_allclose(robot.mujoco.q(data.qpos), motion.q[-1], atol=1e-10)
    assert_allclose(robot.mujoco.v(data.qpos, data.qvel), motion.v[-1], atol=1e-9)


def test_servos_drive_mujoco_as_its_own_actuators() -> None:
    """To rounding, in steps that evaluate them once."""
    text = FIXED_SCENE.format(DRIVEN)
    robot, model = hc.load(text), mujoco.MjModel.from_xml_string(text)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    data, u = mujoco.MjData(model), np.array([0.3, 0.5, 0.2])
    data.ctrl[:] = u
    start = {"q0": robot.mujoco.q(model.qpos0), "duration": 0.1, "dt": 1e-3, "engine": "mujoco"}
    with pytest.raises(hc.InputError, match="actuator_torque"):
        hc.simulate(hc.ActuatedRobot(robot), controller=u, **start)
    motion = hc.simulate(
        robot,
        controller=lambda t, q, v: robot.actuator_torque(q, v, u),
        method="semi_implicit_euler",
        **start,
    )
    mujoco.mj_step(model, data, 100)
    assert np.ptp(motion.q[:, 0]) > 0.02
    assert_allclose(robot.mujoco.q(data.qpos), motion.q[-1], atol=1e-11)


def test_a_filter_has_a_state(rng: np.random.Generator) -> None:
    robot = hc.load(FIXED_SCENE.format(f"<actuator>{ACTUATORS['filter']}</actuator>"))
    system = hc.ActuatedRobot(robot)
    motion = hc.simulate(system, robot.neutral(), controller=[0.4], duration=0.2, dt=1e-3)
    assert_allclose(motion.states[:, 0], 0.4 * (1 - np.exp(-motion.t / 0.1)), atol=1e-9)
    assert robot.motor_joints == ["j1"]


def test_effort_limits_are_those_of_the_actuators() -> None:
    robot = hc.load(
        FIXED_SCENE.format(
            '<actuator><motor joint="j1" gear="3" ctrlrange="-1 2"/><motor joint="j1" ctrlrange="-1 1"/>'
            '<position joint="s" kp="5" forcerange="-5 7"/><position joint="j2" kp="5"/></actuator>'
        )
    )
    effort = dict(zip(robot.model.velocity_names, robot.limits.effort, strict=True))
    assert (effort["j1"], effort["s"], effort["j2"]) == (7.0, 7.0, np.inf)
    assert robot.motor_joints == ["j1", "j2", "s"]
    tendon = f"<tendon>{TENDONS['fixed'].format('')}</tendon>"
    both = '<actuator><motor joint="j1" ctrlrange="-1 1"/><motor tendon="t" ctrlrange="-9 9"/></actuator>'
    assert np.isinf(hc.load(FIXED_SCENE.format(tendon + both)).limits.effort).all()


def test_the_range_of_the_sum_of_actuators(tmp_path: Path, rng: np.random.Generator) -> None:
    text = FIXED_SCENE.replace('name="j1"', 'name="j1" actuatorfrcrange="-.2 .3"').format(
        '<actuator><motor joint="j1" ctrlrange="-.4 .5"/><position joint="j1" kp="2"/></actuator>'
    )
    robot = agree(text, rng)
    robot.to_mjcf(tmp_path / "robot.xml")
    state = robot.random(rng), rng.normal(size=robot.nv)
    for u in ([1, 1], [-1, -1]):
        expected = robot.actuator_torque(*state, u)
        assert expected[0] in (0.3, -0.2)
        assert_allclose(hc.load(tmp_path / "robot.xml").actuator_torque(*state, u), expected)
    coupled = text.replace("</mujoco>", '<equality><joint joint1="j2" joint2="j1"/></equality></mujoco>')
    with pytest.raises(hc.HelicoidError, match="coupled joint that limits"):
        hc.ActuatedRobot(hc.load(coupled))


def test_gravity_compensation_by_actuators(rng: np.random.Generator) -> None:
    text = FIXED_SCENE.replace('name="j1"', 'name="j1" actuatorgravcomp="true"')
    motor = '<actuator><motor joint="j1"/></actuator>'
    robot = hc.load(text.format(motor))
    errors = Comparison(robot, mujoco.MjModel.from_xml_string(text.format(motor))).errors(rng)
    assert max(errors.values()) < TOLERANCE
    rigid = hc.simulate(robot, robot.neutral(), duration=0.1, engine="mujoco")
    assert_allclose(rigid.q[-1], hc.simulate(robot, robot.neutral(), duration=0.1).q[-1], atol=1e-6)
    with pytest.raises(hc.HelicoidError, match=r'which it has not.*ignore=\["actuator"\]'):
        hc.load(text.format(""))
    with pytest.raises(hc.HelicoidError, match=r"within actuatorfrcrange"):
        hc.load(text.replace('name="j1"', 'name="j1" actuatorfrcrange="-1 1"').format(motor))


@pytest.mark.parametrize("kind", ["left", "side of a sphere"])
def test_sides_of_wraps_follow_edits_and_the_written_file(
    kind: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    robot = hc.load(SCENE.format(f"<tendon>{TENDONS[kind].format('')}</tendon>"))
    robot.to_mjcf(tmp_path / "robot.xml")
    for q in (robot.random(rng) for _ in range(5)):
        length = robot.tendon_lengths(q)
        assert_allclose(hc.load(tmp_path / "robot.xml").tendon_lengths(q), length, atol=1e-12)
        assert_allclose(robot.rename(prefix="x_").tendon_lengths(q), length, atol=1e-12)


def test_a_side_inside_of_a_shape_is_refused() -> None:
    inside = SCENE.replace('pos=".2 .1 0"/><site name="right"', 'pos=".02 .01 0"/><site name="right"')
    with pytest.raises(hc.HelicoidError, match=r'side site is inside.*ignore=\["tendon"\]'):
        hc.load(inside.format(f"<tendon>{TENDONS['left'].format('')}</tendon>"))


def test_edits_and_the_written_file_keep_them(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = hc.load(FIXED_SCENE.format(DRIVEN))
    robot.to_mjcf(tmp_path / "robot.xml")
    q, v, u = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=3)
    tau = robot.inverse_dynamics(q, v, v, friction=True), robot.actuator_torque(q, v, u)
    for other in (hc.load(tmp_path / "robot.xml"), robot.rename(prefix="x_")):
        assert_allclose(other.inverse_dynamics(q, v, v, friction=True), tau[0], atol=1e-9)
        assert_allclose(other.actuator_torque(q, v, u), tau[1], atol=1e-9)
    held = robot.lock({"s": 0.2})
    k = robot.index("s")[1].start
    free = [i for i in range(robot.nv) if i != k]
    q[robot.index("s")[0]], v[k] = 0.2, 0.0
    assert_allclose(held.tendon_lengths(np.delete(q, robot.index("s")[0])), robot.tendon_lengths(q))
    whole = robot.actuator_torque(q, v, u)[free]
    assert_allclose(held.actuator_torque(np.delete(q, robot.index("s")[0]), v[free], u), whole, atol=1e-12)
    with pytest.raises(hc.ModelError, match="cut the tendon 't'"):
        robot.detach("j2_link")
    with pytest.warns(hc.DoubtfulModelWarning, match="tendon 't', actuator 'actuator_0'"):
        robot.to_urdf(tmp_path / "robot.urdf")


def test_unknown_forces_are_refused_where_they_are_asked_for() -> None:
    text = FIXED_SCENE.format('<actuator><muscle name="m" joint="j1" lengthrange="0 1"/></actuator>')
    robot = hc.load(text)
    for attempt in (lambda: hc.ActuatedRobot(robot), lambda: robot.actuator_force.casadi):
        with pytest.raises(hc.HelicoidError, match="actuator 'm' is not supported"):
            attempt()
    with pytest.raises(hc.HelicoidError, match="has no actuators"):
        hc.ActuatedRobot(hc.load("planar_2r"))
