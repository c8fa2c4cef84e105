"""Joint impedance of arms with flexible joints, by feedback of the motors alone."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.control import JointImpedance

K_J, K, D = np.array([2000.0, 900.0]), np.array([300.0, 150.0]), np.array([40.0, 15.0])
GOAL, PUSH = np.array([0.7, -0.4]), np.array([6.0, -3.0])


@pytest.fixture(scope="module")
def stiff() -> hc.Robot:
    drives = {name: hc.Drive(gear_ratio=100, rotor_inertia=2e-5) for name in ("joint_1", "joint_2")}
    return hc.load("double_pendulum").with_joints(effort=1e4, friction=0, damping=0).with_drives(drives)


@pytest.fixture(scope="module")
def flexible(stiff: hc.Robot) -> hc.Robot:
    return stiff.with_flexible_joints({"joint_1": K_J[0], "joint_2": K_J[1]}, damping=2.0)


def at_rest(flexible: hc.Robot, law: JointImpedance, load: Array) -> Array:
    """The links after six seconds under a load, (θ, q)."""
    motors = [flexible.index(f"joint_{k}_motor")[1].start for k in (1, 2)]
    springs = [flexible.index(f"joint_{k}")[1].start for k in (1, 2)]

    def control(t: float, q: Array, v: Array) -> Array:
        tau = np.zeros(flexible.nv)
        tau[motors] = law.step(q[motors], v[motors], GOAL)
        assert law.ok
        return tau

    disturbance = np.zeros(flexible.nv)
    disturbance[motors] = disturbance[springs] = load  # a torque on links turns motor and spring alike
    q0 = np.zeros(flexible.nq)
    motion = hc.simulate(flexible, q0, duration=6.0, dt=2e-3, controller=control, disturbance=disturbance)
    assert np.abs(motion.v[-1]).max() < 1e-5
    return np.array([motion.q[-1][motors], flexible.link_positions(motion.q[-1])])


def test_links_reach_their_goal_and_comply_like_springs_in_series(
    stiff: hc.Robot, flexible: hc.Robot
) -> None:
    law = JointImpedance(stiff, K, D, joint_stiffness=K_J)
    theta, q = at_rest(flexible, law, np.zeros(2))
    np.testing.assert_allclose(q, GOAL, atol=1e-6)
    np.testing.assert_allclose(theta - q, stiff.gravity(q) / K_J, atol=1e-6)
    # Under a load: K (θ_ref - θ) + g(q at rest for θ) = K_J (θ - q) = g(q) - load.
    theta, q = at_rest(flexible, law, PUSH)
    np.testing.assert_allclose(K_J * (theta - q), stiff.gravity(q) - PUSH, atol=1e-4)
    given_way = q - GOAL
    np.testing.assert_allclose(given_way, PUSH / K + PUSH / K_J, rtol=0.05)


def test_a_law_without_a_model_of_flexibility_sags_by_that_of_the_joints(
    stiff: hc.Robot, flexible: hc.Robot
) -> None:
    theta, q = at_rest(flexible, JointImpedance(stiff, K, D), np.zeros(2))
    sag = (stiff.gravity(theta) - stiff.gravity(q)) / K - stiff.gravity(q) / K_J
    np.testing.assert_allclose(q - GOAL, sag, atol=1e-6)
    assert np.abs(q - GOAL).max() > 4e-3


def test_invalid_arguments_are_refused(stiff: hc.Robot, flexible: hc.Robot) -> None:
    with pytest.raises(hc.InputError, match="gravity=True"):
        JointImpedance(stiff, K, D, gravity=False, joint_stiffness=K_J)
    with pytest.raises(hc.InputError, match="joint_stiffness must be above 0"):
        JointImpedance(stiff, K, D, joint_stiffness=0.0)
    with pytest.raises(hc.InputError, match="needs an actuator for every velocity"):
        JointImpedance(flexible, 1.0, 1.0)
