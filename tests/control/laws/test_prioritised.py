"""Inverse dynamics with priorities in two ways: by the textbook's recursion and by quadratic programs."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array

pytestmark = pytest.mark.needs_compiler
FRAME, DT = "panda_link8", 1e-3
Q = np.array([0.1, -0.3, 0.2, -2.0, 0.1, 1.9, 0.7])


def both(robot: hc.Robot, point: Array) -> tuple[hc.control.PrioritisedInverseDynamics, hc.control.WholeBody]:
    """The hand's place before a posture. In the program M a + h = τ is an equation and τ has limits."""
    tasks = [hc.control.PositionTask(FRAME, point, name="hand"), hc.control.PostureTask(Q + 0.3)]
    recursion = hc.control.PrioritisedInverseDynamics(robot, tasks, frequency=8.0, damping_factor=0.0)
    program = hc.control.WholeBody(robot, tasks, [], DT, "strict", frequency=8.0, acceleration_weight=1e-8)
    return recursion, program


@pytest.mark.slow
def test_recursion_and_programs_agree_where_no_limit_holds(rng: np.random.Generator) -> None:
    robot = hc.load("panda").with_joints(effort=1e4, velocity=1e3, friction=0, damping=0)
    recursion, program = both(robot, robot.pose(FRAME)(Q + 0.05)[:3, 3])
    for _ in range(5):
        q, v = Q + 0.1 * rng.normal(size=7), 0.2 * rng.normal(size=7)
        one, other = recursion.step(q, v), program.step(q, v)
        assert recursion.ok and program.ok
        np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-3 * np.abs(one).max())
        np.testing.assert_allclose(
            robot.inverse_dynamics(q, v, program.accelerations), other, rtol=1e-6, atol=1e-6
        )


@pytest.mark.slow
def test_at_a_torque_limit_programs_give_up_what_matters_less() -> None:
    """Clipping knows no priorities: it spoils the hand, which a program keeps at the cost of the posture."""
    robot = hc.load("panda").with_joints(velocity=1e3, friction=0, damping=0)
    point = robot.pose(FRAME)(Q)[:3, 3] + [0.0, 0.05, 0.02]
    free = robot.with_joints(effort=1e4)
    wanted = both(free, point)[0].step(Q, np.zeros(7))
    J = robot.jacobian(FRAME, "world_aligned")(Q)[3:]
    limit = np.where(np.arange(7) == 5, 0.7 * abs(wanted[5]), 1e4)  # where the posture asks for most
    tight = robot.with_joints(effort=limit)
    recursion, program = both(tight, point)
    feels = []
    for law in (recursion, program):
        tau = law.step(Q, np.zeros(7))
        assert np.all(np.abs(tau) <= limit * (1 + 1e-9))
        feels.append(J @ tight.forward_dynamics(Q, np.zeros(7), tau))
    asked = 64.0 * np.array([0.0, 0.05, 0.02])
    assert recursion.status == "saturated" and program.ok
    np.testing.assert_allclose(feels[1], asked, atol=1e-3)
    assert np.abs(feels[0] - asked).max() > 0.05
