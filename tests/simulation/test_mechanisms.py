"""Closed mechanisms in motion: they stay closed, constraints do no work, energy is accounted for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import helicoid as hc
from mechanisms import (
    DELTA_ARM,
    DELTA_BASE,
    DELTA_PLATFORM,
    DELTA_ROD,
    delta_urdf,
    four_bar_angles,
    four_bar_urdf,
    joint_angles,
    stewart_urdf,
)

Array = NDArray[np.float64]


def work(motion: hc.Trajectory) -> Array:
    """∫ τ v dt, the torques held from sample to sample."""
    mean = (motion.v[:-1] + motion.v[1:]) / 2
    return np.concatenate([[0.0], np.cumsum(np.sum(motion.tau[:-1] * mean, axis=1) * np.diff(motion.t))])


def constraint_power(robot: hc.Robot, motion: hc.Trajectory) -> Array:
    A = robot.constraint_jacobian(motion.q)
    return np.einsum("nk,nkj,nj->n", motion.constraint_forces, A, motion.v)


@pytest.mark.parametrize("duration", [0.3, pytest.param(10.0, marks=pytest.mark.slow)])
def test_a_four_bar_linkage_stays_closed(duration: float) -> None:
    hc.set_compile(duration > 1)
    robot = hc.load(four_bar_urdf())
    start = joint_angles(four_bar_angles(1.0))
    motion = hc.simulate(robot, start, robot.project_velocity(start, [3.0, 0.0, 0.0]), duration, dt=1e-3)
    assert np.abs(robot.constraint_position(motion.q)).max() < 1e-12
    assert np.abs(np.einsum("nkj,nj->nk", robot.constraint_jacobian(motion.q), motion.v)).max() < 1e-12
    for k in range(0, len(motion), len(motion) // 20):  # on the branch that the closed form describes
        np.testing.assert_allclose(motion.q[k], joint_angles(four_bar_angles(motion.q[k, 0])), atol=1e-9)
    assert np.ptp(motion.energy) < 1e-7 * np.ptp(motion.kinetic_energy)


def delta_robot() -> tuple[hc.Robot, np.ndarray, list[float]]:
    """A delta robot, its configuration with all arms alike, and where its platform is then."""
    robot = hc.load(delta_urdf()).with_actuators("motor0", "motor1", "motor2")
    arms = 0.6
    guess = robot.neutral()
    guess[[0, 5, 10]], guess[17] = -arms, -0.75  # arms turned outwards, the platform below
    q = robot.project_configuration(guess, hold=["motor0", "motor1", "motor2"])
    # All arms alike, each with its rods is a triangle in a plane through the axis of symmetry.
    radius, height = DELTA_BASE + DELTA_ARM * np.sin(arms) - DELTA_PLATFORM, DELTA_ARM * np.cos(arms)
    return robot, q, [0, 0, -height - np.sqrt(DELTA_ROD**2 - radius**2)]


@pytest.mark.slow
def test_a_delta_robot_closes_and_its_motors_share_its_weight() -> None:
    robot, q, expected = delta_robot()
    np.testing.assert_allclose(robot.pose("platform")(q)[:3, 3], expected, atol=1e-12)
    assert robot.constraint_report(q).mobility == 3

    still = np.zeros(robot.nv)
    tau, _ = robot.constrained_inverse_dynamics(q, still, still)
    np.testing.assert_allclose(tau, tau[0] * np.ones(3), rtol=1e-9)


@pytest.mark.slow
def test_a_delta_robot_carries_itself_and_moves_its_platform_without_turning_it() -> None:
    robot, q, expected = delta_robot()
    still = np.zeros(robot.nv)
    tau, _ = robot.constrained_inverse_dynamics(q, still, still)
    held = hc.simulate(robot, q, duration=0.02, controller=robot.selection_matrix.T @ tau)
    np.testing.assert_allclose(held.q, np.tile(q, (21, 1)), atol=1e-12)

    pushed = robot.selection_matrix.T @ (tau + np.array([0.5, -0.3, 0.1]))
    motion = hc.simulate(robot, q, duration=0.05, controller=pushed, dt=5e-4)
    T = robot.pose("platform")(motion.q)
    assert np.abs(T[-1, :3, 3] - expected).max() > 1e-3
    np.testing.assert_allclose(T[:, :3, :3], np.broadcast_to(np.eye(3), (101, 3, 3)), atol=1e-10)
    assert np.abs(robot.constraint_position(motion.q)).max() < 1e-12
    np.testing.assert_allclose(motion.energy - motion.energy[0], work(motion), atol=1e-6)


@pytest.mark.slow
def test_a_stewart_platform_in_motion() -> None:
    robot = hc.load(stewart_urdf(2.0)).with_actuators(*(f"leg{k}" for k in range(6)))
    q = robot.neutral()
    for body in robot.model.bodies:
        if body.joint.name in robot.motor_joints:
            q[body.q] = 1.0
    q = robot.project_configuration(q)
    still = np.zeros(robot.nv)
    tau, _ = robot.constrained_inverse_dynamics(q, still, still)
    forces = robot.selection_matrix.T @ (tau + np.array([30, -20, 10, 25, -15, 5]))
    motion = hc.simulate(robot, q, duration=0.05, controller=forces)
    assert motion.kinetic_energy[-1] > 0.1
    assert np.abs(robot.constraint_position(motion.q)).max() < 1e-12
    assert np.abs(constraint_power(robot, motion)).max() < 1e-9
    np.testing.assert_allclose(motion.energy - motion.energy[0], work(motion), atol=1e-4)
