"""Former names of arguments still work, with a warning that gives the present one."""

import numpy as np
import pytest

import helicoid as hc
from helicoid.control.qp import LexicographicProgram

Q = np.array([0.3, 0.8])


def test_damping_factor_of_laws_of_a_frame() -> None:
    robot = hc.load("planar_2r")
    with pytest.warns(DeprecationWarning, match="damping_factor"):
        former = hc.control.TaskSpaceControl(
            robot, "tip", frequency=10.0, rows=(3, 5), singularity_damping=0.1
        )
    law = hc.control.TaskSpaceControl(robot, "tip", frequency=10.0, rows=(3, 5), damping_factor=0.1)
    state = Q, np.zeros(2), robot.pose("tip")(Q + 0.1)
    assert np.array_equal(former.step(*state), law.step(*state))
    with pytest.warns(DeprecationWarning, match="damping_factor"):
        law.set(singularity_damping=0.2)
    assert law.number("damping_factor") == 0.2


def test_damping_factor_of_inverse_kinematics() -> None:
    robot, task = hc.load("planar_2r"), hc.control.PositionTask("tip")
    with pytest.warns(DeprecationWarning, match="damping_factor"):
        former = hc.control.InverseKinematics(robot, task, method="damped", damping=0.02)
    ik = hc.control.InverseKinematics(robot, task, method="damped", damping_factor=0.02)
    target = robot.pose("tip")(Q)[:3, 3]
    assert np.array_equal(former(target, q0=Q + 0.1).q, ik(target, q0=Q + 0.1).q)


def test_regularisation_of_lexicographic_programs() -> None:
    with pytest.warns(DeprecationWarning, match="regularisation"):
        LexicographicProgram(2, [1], damping=1e-9)
