"""Offset-free MPC: with a wrong model the controller estimates the missing torque and reaches its target."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller, Problem
from mechanisms import four_bar_angles, four_bar_urdf, joint_angles

PERIOD, START, HEIGHT = 0.02, np.array([0.6, 0.9]), 0.7


@functools.cache
def known() -> hc.Robot:
    return hc.load("planar_2r")


@functools.cache
def problem() -> Problem:
    """A planar arm whose tip has a target height; its position along x is free."""
    made = Problem(known(), horizon=15, dt=PERIOD)
    height = made.parameter("height", [HEIGHT])
    made.add_cost("above", known().pose("tip")(made.q)[2, 3] - height, 50.0, 500.0)
    made.add_velocity_cost(0.2, end_weight=2.0)
    made.add_torque_cost(1e-3)
    made.add_limits(position=None)
    return made


@functools.cache
def heavier() -> hc.Robot:
    """The arm with half a kilogram and friction that its model lacks."""
    robot = known().with_payload("tip", 0.5, [0.0, 0.0, 0.0], np.zeros((3, 3)))
    return robot.with_joints(friction=np.full(2, 0.05), damping=np.full(2, 0.05))


def moved(robot: hc.Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    for _ in range(10):
        v = v + 0.1 * PERIOD * robot.forward_dynamics(q, v, tau)
        q = q + 0.1 * PERIOD * v
    return q, v


def run(controller: Controller, plant: hc.Robot, steps: int) -> tuple[np.ndarray, float]:
    """Last configuration, and the largest rms of a velocity in the last second."""
    q, v, seen = START, np.zeros(2), []
    for _ in range(steps):
        q, v = moved(plant, q, v, controller.step(q, v))
        seen.append(v)
    return q, float(np.sqrt((np.array(seen[-50:]) ** 2).mean(axis=0)).max())


def offset(q: np.ndarray) -> float:
    return float(abs(known().pose("tip")(q)[2, 3] - HEIGHT))


def test_a_wrong_model_rests_where_it_should() -> None:
    controller = Controller(problem())
    q, rms = run(controller, heavier(), 400)
    assert rms < 2e-3 and offset(q) < 1e-4 and controller.ok
    missing = heavier().gravity(q) - known().gravity(q)
    np.testing.assert_allclose(controller.disturbance, missing, atol=0.06)  # and friction


def test_without_the_estimate_it_does_not() -> None:
    controller = Controller(problem(), disturbance_time=None)
    q, rms = run(controller, heavier(), 400)
    assert rms > 0.02 or offset(q) > 5e-3
    assert not controller.disturbance.any()


def test_an_exact_model_has_no_disturbance_estimate() -> None:
    controller = Controller(problem())
    q, rms = run(controller, known(), 200)
    assert rms < 2e-3 and offset(q) < 1e-4
    assert np.abs(controller.disturbance).max() < 1e-3


def test_a_robot_that_is_held_does_not_wind_it_up() -> None:
    controller = Controller(problem())
    for _ in range(200):
        controller.step(START, [0.0, 0.0])
    effort = problem().robot.limits.effort  # type: ignore[union-attr]
    assert np.all(np.abs(controller.disturbance) <= 0.0211 * effort)
    q, v, fastest = START, np.zeros(2), 0.0
    for _ in range(150):
        q, v = moved(known(), q, v, controller.step(q, v))
        fastest = max(fastest, np.abs(v).max())
    assert offset(q) < 1e-3 and np.abs(v).max() < 0.02
    alone = Controller(problem(), disturbance_time=None)
    q, v, usual = START, np.zeros(2), 0.0
    for _ in range(150):
        q, v = moved(known(), q, v, alone.step(q, v))
        usual = max(usual, np.abs(v).max())
    assert fastest < 1.5 * usual


def test_invalid_late_and_jumping_measurements_are_left_out() -> None:
    """Measurements that are none, states that jump, steps that come late."""
    controller, plant = Controller(problem()), heavier()
    q, v = START, np.zeros(2)
    for _ in range(30):
        q, v = moved(plant, q, v, controller.step(q, v))
    controller.step(q, v)
    found = controller.disturbance
    assert np.abs(found).max() > 0.1
    for bad in (np.full(2, np.nan), q + 0.5, q, q + 0.02):
        assert np.isfinite(controller.step(bad, v)).all()
        np.testing.assert_array_equal(controller.disturbance, found)
    with_speed = np.array([0.8, -0.8])
    controller.step(q, with_speed)
    found = controller.disturbance
    controller.step(q + 3 * PERIOD * with_speed, with_speed)  # three periods later
    np.testing.assert_array_equal(controller.disturbance, found)


def test_a_start_and_a_copy_have_no_disturbance_estimate() -> None:
    controller = Controller(problem(), disturbance_time=0.1)
    run(controller, heavier(), 30)
    assert np.abs(controller.disturbance).max() > 0.1
    copy = pickle.loads(pickle.dumps(controller))
    assert copy._disturbance_time == 0.1 and not copy.disturbance.any()
    controller.start(START)
    assert not controller.disturbance.any()
    np.testing.assert_allclose(
        controller.step(START, [0.0, 0.0]), copy.step(START, [0.0, 0.0]), rtol=1e-5, atol=1e-5
    )


def test_the_disturbance_estimate_ignores_torques_of_a_start_that_were_not_applied() -> None:
    controller = Controller(problem())
    controller.start(START)
    controller.step(START, [0.0, 0.0])
    assert not controller.disturbance.any()


@pytest.mark.parametrize("wrong", [0.0, -0.1, np.inf, np.nan])
def test_times_that_are_none_are_refused(wrong: float) -> None:
    with pytest.raises(hc.InputError, match="disturbance_time is a positive time"):
        Controller(problem(), disturbance_time=wrong)


@pytest.mark.slow
@pytest.mark.parametrize(("system", "number"), [("panda", 1), ("panda", 5), ("ur5", 1), ("ur5", 5)])
def test_large_arms_that_are_heavier_or_lighter_come_to_rest(system: str, number: int) -> None:
    """Loops of `benchmarks.mpc_trust` with 20 % of all masses and friction that the model does not have."""
    from benchmarks import mpc_trust as trust

    make = next(one for one in trust.cases(quick=False) if one.__name__ == system)
    told = trust.loop(make(), np.random.default_rng([515, number]), wrong=True, noisy=False, moving=False)
    assert told["still"] and told["rms"] < trust.MAX_SPEED_AT_REST and told["false_ok"] == 0


def test_a_closed_mechanism_with_joints_without_motors_has_no_offset() -> None:
    """A crank drives a four-bar linkage whose coupler is heavier than its model."""
    start, end = (joint_angles(four_bar_angles(crank)) for crank in (1.0, 1.6))
    robot = hc.load(four_bar_urdf()).with_actuators("crank_joint")
    made = Problem(robot, horizon=15, dt=PERIOD)
    made.add_cost("crank", made.q[0] - end[0], 50.0, end_weight=500.0)
    made.add_velocity_cost(0.2, end_weight=2.0)
    made.add_torque_cost(1e-3)
    plant = robot.with_payload("coupler", 0.3, [0.45, 0.0, 0.0], np.zeros((3, 3)))
    accelerate = plant.constrained_forward_dynamics.with_options(stabilisation=20.0)
    offsets = []
    for time in (0.2, None):
        controller, q, v = Controller(made, disturbance_time=time), start, np.zeros(3)
        for _ in range(150):
            tau = controller.step(q, v)
            for _ in range(10):
                v = v + 0.1 * PERIOD * accelerate(q, v, tau)[0]
                q = q + 0.1 * PERIOD * v
        assert controller.ok and np.abs(v).max() < 2e-3
        offsets.append(abs(q[0] - end[0]))
    assert offsets[0] < 1e-4 < 1e-3 < offsets[1]


@pytest.mark.slow
def test_torques_as_controls() -> None:
    made = Problem(known(), horizon=15, dt=PERIOD, formulation="forward_dynamics")
    made.add_posture_cost([1.0, 0.5], 10.0, 100.0)
    made.add_velocity_cost(0.2, end_weight=2.0)
    made.add_torque_cost(1e-3)
    made.add_limits(position=None)
    q, rms = run(Controller(made), heavier(), 400)
    assert rms < 2e-3
    np.testing.assert_allclose(q, [1.0, 0.5], atol=1e-3)
