"""Breakaway velocity of joints that dry friction holds: small planned motions overcome it."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller, Problem

pytestmark = pytest.mark.needs_compiler
PERIOD, AT_REST = 0.05, np.array([0.3, 0.8, 0.0, 0.0])


def reach() -> Problem:
    robot = hc.load("planar_2r").with_joints(friction=[2.0, 1.0])
    problem = Problem(robot, horizon=12, dt=PERIOD)
    problem.add_position_cost("tip", [0.4, 0.0, 0.9], 100.0, 500.0)
    problem.add_velocity_cost(0.1, 2.0)
    problem.add_torque_cost(1e-3)
    return problem


def test_the_applied_torque_compensates_friction_in_its_direction() -> None:
    problem, a = reach(), np.array([2e-3, -2e-3])
    applied = problem._compiled.loop_functions["applied"]()
    rigid = problem.robot.inverse_dynamics(AT_REST[:2], [0, 0], a, friction=False)
    shares = []
    for w in (0.0, 0.01, -0.01):
        tau = np.array(applied(AT_REST, a, [*np.zeros(4), w, -w], PERIOD)).ravel()
        shares.append((tau - rigid) / [2.0, -1.0])
    np.testing.assert_allclose(shares, np.outer([0.04, 1.0, -1.0], [1, 1]), atol=3e-3)


def test_it_grows_at_rest_and_is_reset_by_fast_motion() -> None:
    controller, seen = Controller(reach()), []
    for v in (*20 * [[0.0, 0.0]], [0.5, -0.5], [0.0, 0.0]):
        controller.step([0.8, 0.4], v)
        seen.append(controller._engine["disturbance"][4:].copy())
    most = controller._engine["trusted"][4:]
    np.testing.assert_allclose(most, 10 * 0.05 * PERIOD)
    np.testing.assert_array_equal(np.abs(seen[19]), most)
    assert np.all(seen[20] == 0.0) and np.any(seen[21] != 0.0)
    controller.reset()
    assert np.all(controller._engine["disturbance"] == 0.0)


def test_the_loop_has_no_dead_band() -> None:
    """A fifth of what is left without: `disturbance_time=None` switches it off."""
    problem, missed = reach(), []
    for seconds in (0.5, None):
        controller = Controller(problem, disturbance_time=seconds)
        options = {"dt": PERIOD, "substeps": 20, "method": "stiction"}
        motion = hc.simulate(problem.robot, AT_REST[:2], duration=5.0, controller=controller, **options)
        tip = problem.robot.pose("tip")(motion.q[-1])[:3, 3]
        missed.append(np.linalg.norm(tip - [0.4, 0.0, 0.9]))
        assert np.abs(motion.v[-10:]).max() < 1e-4
    assert missed[0] < 0.2 * missed[1] and missed[0] < 1e-4


def test_reversals_lessen_it() -> None:
    """Of a joint that friction which yields throws to and fro, as in MuJoCo."""
    controller, largest = Controller(reach()), []
    for k in range(40):
        sign = 1.0 if k % 4 < 2 else -1.0
        controller.step([0.8, 0.4], [0.005 * sign, -0.005 * sign])
        largest.append(np.abs(controller._engine["disturbance"][4:]).max())
    assert max(largest[20:]) < 0.05 * controller._engine["trusted"][4:].max() < max(largest[:4])
