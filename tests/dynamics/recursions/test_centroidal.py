"""Momentum of the whole robot: sums over its links, Newton's laws, and what a free flight conserves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid.geometry import spatial
from helicoid.model.inertia import Inertia
from helicoid.model.model import WORLD
from random_trees import Array, assert_close, few, fewer, robots, seeds, state

GRAVITY = np.array([0.0, 0.0, -9.81])


def moving_inertias(robot: hc.Robot) -> list[tuple[str, Inertia]]:
    """The links that move and have mass, as described: no merging over fixed joints."""
    return [
        (link.name, link.inertia)
        for link in robot.model.links
        if link.inertia is not None and robot.model.frame(link.name).body != WORLD
    ]


@few
@given(robots(), seeds)
def test_momentum_is_the_sum_over_the_links(robot: hc.Robot, seed: int) -> None:
    """A v = Σ (R I_com ω + (x - c) × m ẋ, m ẋ), and the locked inertia is the sum about c."""
    q, v, _ = state(robot, seed)
    c = robot.center_of_mass(q)
    momentum, locked = np.zeros(6), np.zeros((3, 3))
    for name, inertia in moving_inertias(robot):
        T, twist = robot.pose(name)(q), robot.velocity(name, "world_aligned")(q, v)
        R, arm = T[:3, :3], T[:3, :3] @ inertia.com
        f = inertia.mass * (twist[3:] + np.cross(twist[:3], arm))
        r = T[:3, 3] + arm - c
        I = R @ inertia.at_com @ R.T
        momentum += np.concatenate([I @ twist[:3] + np.cross(r, f), f])
        locked += I + inertia.mass * (r @ r * np.eye(3) - np.outer(r, r))
    A = robot.centroidal_momentum_matrix(q)
    assert_close(A @ v, momentum, 1e-11)
    assert_close(robot.centroidal_momentum(q, v), momentum, 1e-11)
    assert_close(robot.locked_inertia(q), locked, 1e-11)
    mass = sum(body.inertia.mass for body in robot.model.bodies)
    assert_close(A[3:], mass * robot.com_jacobian(q), 1e-12)


@fewer
@given(robots(max_bodies=4), seeds)
def test_rate_of_the_matrix(robot: hc.Robot, seed: int) -> None:
    """ḣ = A a + Ȧ v, h differentiated along the motion; Ȧ against a difference quotient."""
    q, v, a = state(robot, seed)
    A, A_dot = robot.centroidal_momentum_matrix, robot.centroidal_momentum_matrix_dot(q, v)
    expected = robot.centroidal_momentum.time_derivative()(q, v, a)
    scale = float(np.abs(A(q)).max())
    assert_close(A(q) @ a + A_dot @ v, expected, 1e-11, scale)
    h = 1e-5
    ahead, back = A(robot.integrate(q, np.array([h * v, -h * v])))
    assert_close(A_dot, (ahead - back) / (2 * h), 1e-7, scale)


@fewer
@given(robots(max_bodies=4, floating=True), seeds)
def test_outside_forces_alone_change_the_momentum(robot: hc.Robot, seed: int) -> None:
    """Whatever its joints do, a flying robot's momentum changes by its weight and by the wrench on a link."""
    q, v, tau = state(robot, seed)
    tau[:6] = 0.0
    # Rotors that armature stands for take part in the joints' balance, not in the momentum.
    robot = robot.parametric("armature")
    link, wrench = robot.link_names[-1], np.random.default_rng(seed).normal(size=6)
    theta = np.zeros(robot.nv)
    a = robot.forward_dynamics(q, v, tau, theta, f_ext={link: wrench}, expressed_in="world")
    rate = robot.centroidal_momentum_matrix(q, theta) @ a
    rate = rate + robot.centroidal_momentum_matrix_dot(q, v, theta) @ v
    mass = sum(body.inertia.mass for body in robot.model.bodies)
    r = robot.pose(link)(q)[:3, 3] - robot.center_of_mass(q, theta)
    n, f = wrench[:3] + np.cross(r, wrench[3:]), wrench[3:] + mass * GRAVITY
    size = float(np.abs(robot.centroidal_momentum_matrix(q, theta)).max() * np.abs(a).max())
    assert_close(rate, np.concatenate([n, f]), 1e-9, scale=size)


@pytest.mark.slow
def test_a_cat_lands_on_its_feet() -> None:
    """In free flight angular momentum stays zero while torques inside turn the body round."""
    robot = hc.load("quadruped", base="floating")
    h, steps = 1e-3, 200
    q, v = robot.neutral(), np.zeros(robot.nv)
    tau = np.zeros(robot.nv)
    tau[6:] = np.random.default_rng(0).normal(0.0, 0.5, robot.nv - 6)
    for _ in range(steps):  # the midpoint rule
        q_half = robot.integrate(q, h / 2 * v)
        v_half = v + h / 2 * robot.forward_dynamics(q, v, tau)
        q, v = robot.integrate(q, h * v_half), v + h * robot.forward_dynamics(q_half, v_half, tau)
    momentum = robot.centroidal_momentum(q, v)
    spinning = np.abs(robot.centroidal_momentum_matrix(q)[:3, 6:]) @ np.abs(v[6:])
    assert np.abs(momentum[:3]).max() < 1e-4 * spinning.max()
    mass = sum(body.inertia.mass for body in robot.model.bodies)
    assert_close(momentum[3:], mass * GRAVITY * h * steps, 1e-4)
    assert np.abs(robot.difference(robot.neutral(), q)[:3]).max() > 0.01


def test_a_rigid_body_has_the_momentum_of_its_inertia() -> None:
    """Of one free body: A is its spatial inertia about the center of mass, turned to world axes."""
    robot = hc.load(
        """<robot name="brick"><link name="brick"><inertial><origin xyz="0.1 -0.2 0.3"/><mass value="2"/>
        <inertia ixx="1" ixy="0.1" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial></link></robot>""",
        base="floating",
    )
    q = robot.random(2)
    R = robot.pose("brick")(q)[:3, :3]
    I = np.array([[1, 0.1, 0], [0.1, 2, 0], [0, 0, 2.5]])
    twist_at_com: Array = spatial.motion_transform(np.eye(3), [-0.1, 0.2, -0.3])
    expected = np.block([[R @ I, np.zeros((3, 3))], [np.zeros((3, 3)), 2 * R]]) @ twist_at_com
    assert_close(robot.centroidal_momentum_matrix(q), expected, 1e-14)
    assert_close(robot.locked_inertia(q), R @ I @ R.T, 1e-14)


def test_parameters_enter() -> None:
    """Momentum is linear in masses and inertias."""
    robot = hc.load("ur5").parametric("inertia")
    q, v, _ = state(robot, 0)
    theta = robot.parameters.values
    assert_close(
        robot.centroidal_momentum(q, v, 3 * theta), 3 * robot.centroidal_momentum(q, v, theta), 1e-13
    )
    assert_close(robot.locked_inertia(q, 3 * theta), 3 * hc.load("ur5").locked_inertia(q), 1e-13)
