"""Drives in a simulation: cut torques, currents, and a motor that reaches its no-load speed."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid import InputError, Robot
from helicoid.model.edits.drives import Drive
from helicoid.model.inertia import Inertia
from helicoid.model.joints import Revolute
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link
from helicoid.simulation.drives import Actuators
from helicoid.simulation.simulate import simulate
from random_trees import assert_close

MOTOR = Drive(50, 4e-5, 0.02, current_limit=100.0, voltage=24.0, resistance=2.0)


def wheel() -> Robot:
    body = Inertia.from_com(1.0, np.zeros(3), 0.3 * np.eye(3))
    joint = Joint("axle", Revolute([0, 0, 1]), "base", "wheel")
    return Robot(Model("wheel", (Link("base"), Link("wheel", body)), (joint,)))


def test_run_up_of_a_motor() -> None:
    """At full voltage v approaches V / (k N) with the time constant (I + N² J) R / (k N)²."""
    robot = wheel().with_drives({"axle": MOTOR})
    actuators = Actuators(robot, {"axle": MOTOR})
    motion = simulate(robot, duration=2.0, controller=actuators.limited(lambda t, q, v: np.array([1e3])))
    gain = 0.02 * 50
    constant = (0.3 + 50**2 * 4e-5) * 2.0 / gain**2
    assert_close(motion.v[:, 0], 24.0 / gain * (1 - np.exp(-motion.t / constant)), 1e-3)
    assert motion.tau.max() == pytest.approx(12.0)


def test_currents_and_torques() -> None:
    robot = hc.load("planar_2r")
    actuators = Actuators(robot, {"joint_2": MOTOR})
    assert_close(actuators.torque([3.0, 4.0]), [0.0, 4.0])
    assert_close(actuators.current([[3.0, 4.0], [5.0, -6.0]]), [[0.0, 4.0], [0.0, -6.0]])
    cut = actuators.limit([[50.0, 50.0], [50.0, 50.0]], [[0.0, 0.0], [0.0, 12.0]])
    assert_close(cut, [[50.0, 12.0], [50.0, 6.0]])
    assert_close(actuators.limit([50.0, -50.0], [0.0, 0.0]), [50.0, -12.0])


def test_wrong_names_and_shapes_are_refused() -> None:
    robot = hc.load("planar_2r")
    with pytest.raises(InputError, match="'elbow' is no joint of one coordinate"):
        Actuators(robot, {"elbow": MOTOR})
    with pytest.raises(InputError, match=r"tau has shape \(2,\)"):
        Actuators(robot, {"joint_1": MOTOR}).limit([1.0], [0.0])
