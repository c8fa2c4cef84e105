"""Motions that have been known in closed form for centuries."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.geometry import so3
from helicoid.model.inertia import Inertia
from helicoid.model.joints import Spherical
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link
from random_trees import Array, assert_close

G = 9.81


def rk4(robot: hc.Robot, q: Array, v: Array, duration: float, steps: int) -> tuple[Array, Array]:
    """Free motion by the classical Runge-Kutta method, in coordinates: q̇ = Γ(q) v. Both (steps + 1, n)."""
    h, still = duration / steps, np.zeros(robot.nv)
    tangent, acceleration = robot.tangent, robot.forward_dynamics

    def rate(q: Array, v: Array) -> tuple[Array, Array]:
        q_dot = v if tangent is None else np.array(tangent(q) @ v).ravel()
        return q_dot, acceleration(q, v, still)

    Q, V = [q], [v]
    for _ in range(steps):
        k1 = rate(q, v)
        k2 = rate(q + h / 2 * k1[0], v + h / 2 * k1[1])
        k3 = rate(q + h / 2 * k2[0], v + h / 2 * k2[1])
        k4 = rate(q + h * k3[0], v + h * k3[1])
        q = q + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        v = v + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
        q = robot.integrate(q, still)  # back on the manifold
        Q.append(q)
        V.append(v)
    return np.array(Q), np.array(V)


# --- planar arm with point masses at the ends of its links ------------------------------------------

L1, L2, M1, M2 = 1.0, 0.8, 1.5, 1.0


def planar_terms(q: Array, v: Array) -> tuple[Array, Array, Array]:
    """M, c, g of the planar 2R arm (Lynch and Park, Modern Robotics, section 8.1.1)."""
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    coupling = M2 * (L1 * L2 * c2 + L2**2)
    M = np.array(
        [
            [M1 * L1**2 + M2 * (L1**2 + 2 * L1 * L2 * c2 + L2**2), coupling],
            [coupling, M2 * L2**2],
        ]
    )
    c = M2 * L1 * L2 * s2 * np.array([-(2 * v[0] * v[1] + v[1] ** 2), v[0] ** 2])
    outer = M2 * L2 * G * np.cos(q[0] + q[1])
    return M, c, np.array([(M1 + M2) * L1 * G * np.cos(q[0]) + outer, outer])


@pytest.mark.parametrize("seed", range(2))
def test_planar_arm(seed: int) -> None:
    robot = hc.load("planar_2r")
    q, v, a = np.random.default_rng(seed).normal(size=(3, 2))
    M, c, g = planar_terms(q, v)
    assert_close(robot.mass_matrix(q), M, 1e-14)
    assert_close(robot.coriolis(q, v), c, 1e-14)
    assert_close(robot.gravity(q), g, 1e-14)
    assert_close(robot.inverse_dynamics(q, v, a), M @ a + c + g, 1e-14)
    expected = np.linalg.solve(M, a - c - g)
    assert_close(robot.forward_dynamics(q, v, a), expected, 1e-13)
    assert_close(robot.forward_dynamics_crba(q, v, a), expected, 1e-13)
    assert_close(robot.mass_matrix_inverse(q), np.linalg.inv(M), 1e-13)


def test_planar_arm_with_friction() -> None:
    """τ gains F_v q̇ + F_s sgn q̇ at each joint."""
    robot = hc.load("planar_2r")
    F_v, F_s = np.array([0.3, 0.2]), np.array([0.5, 0.4])
    with_friction = robot.with_joints(damping=F_v, friction=F_s)
    q, v, a = np.random.default_rng(6).normal(size=(3, 2))
    M, c, g = planar_terms(q, v)
    expected = M @ a + c + g + F_v * v + F_s * np.sign(v)
    assert_close(with_friction.inverse_dynamics(q, v, a, friction=True, smoothing=0), expected, 1e-14)


def test_planar_arm_centripetal_and_coriolis_acceleration() -> None:
    """The outer mass at θ = (0, π/2) and θ̈ = 0."""
    robot, (w1, w2) = hc.load("planar_2r"), (0.7, -1.3)
    q, v = np.array([0.0, np.pi / 2]), np.array([w1, w2])
    acceleration = robot.acceleration("tip", "world_aligned")(q, v, np.zeros(2))[3:]
    expected = [-L1 * w1**2, 0.0, -L2 * w1**2 - L2 * w2**2 - 2 * L2 * w1 * w2]
    assert_close(acceleration, expected, 1e-14)


# --- a free body ------------------------------------------------------------------------------------

COM, PRINCIPAL = np.array([0.1, -0.2, 0.3]), np.diag([0.2, 0.3, 0.4])


def free_body() -> hc.Robot:
    """One link on a floating base; its frame is not at its center of mass."""
    return hc.Robot(Model("stone", (Link("stone", Inertia.from_com(2.0, COM, PRINCIPAL)),), (), True))


def test_free_body_falls_and_turns_as_euler_says() -> None:
    """The center of mass has acceleration g; I ω̇ = Iω × ω about it."""
    robot = free_body()
    rng = np.random.default_rng(4)
    q, v = robot.random(rng), rng.normal(size=6)
    a = robot.forward_dynamics(q, v, np.zeros(6))
    ω = v[:3]
    ωd = np.linalg.solve(PRINCIPAL, np.cross(PRINCIPAL @ ω, ω))
    assert_close(a[:3], ωd, 1e-12)
    R = robot.pose("stone")(q)[:3, :3]
    of_origin = robot.acceleration("stone", "world_aligned")(q, v, a)[3:]
    of_com = of_origin + R @ (np.cross(ωd, COM) + np.cross(ω, np.cross(ω, COM)))
    assert_close(of_com, [0.0, 0.0, -G], 1e-12)


def test_free_body_at_rest_falls_with_its_frame() -> None:
    robot = free_body()
    q = robot.neutral()
    assert_close(robot.forward_dynamics(q, np.zeros(6), np.zeros(6)), [0, 0, 0, 0, 0, -G], 1e-13)
    assert_close(robot.forward_dynamics(q, np.zeros(6), np.zeros(6), gravity=(1, 2, 3)), [0, 0, 0, 1, 2, 3])


def test_free_body_flies_along_a_parabola() -> None:
    """Over a second: parabola of the center of mass, constant energy and angular momentum in the world."""
    robot = free_body()
    q = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    v = np.array([0.5, 4.0, 0.3, 1.0, -0.5, 2.0])
    Q, V = rk4(robot, q, v, duration=1.0, steps=400)
    com = robot.center_of_mass(Q)
    start = robot.com_jacobian(q) @ v
    t = np.linspace(0.0, 1.0, 401)[:, None]
    assert_close(com, COM + start * t + 0.5 * np.array([0.0, 0.0, -G]) * t**2, 1e-8)
    energy = robot.kinetic_energy(Q, V) + robot.potential_energy(Q)
    assert_close(energy, np.full(401, energy[0]), 1e-8)
    momentum = np.einsum("nij,nj->ni", robot.pose("stone")(Q)[:, :3, :3], V[:, :3] @ PRINCIPAL)
    assert_close(momentum, np.tile(momentum[0], (401, 1)), 1e-8)


# --- spinning top -----------------------------------------------------------------------------------

TOP_MASS, LENGTH, I1, I3 = 0.5, 0.2, 0.024, 0.007  # moments about the tip


def top() -> hc.Robot:
    """A symmetric top on its tip."""
    about_com = np.diag([I1 - TOP_MASS * LENGTH**2, I1 - TOP_MASS * LENGTH**2, I3])
    body = Inertia.from_com(TOP_MASS, [0.0, 0.0, LENGTH], about_com)
    joint = Joint("tip", Spherical(), "table", "top")
    return hc.Robot(Model("top", (Link("table"), Link("top", body)), (joint,)))


TILT, PRECESSION = 0.6, 2.5


def steady_state() -> tuple[Array, Array, float]:
    """q, body ω and spin ψ̇ of steady precession Ω: m g l = I3 ω3 Ω - I1 Ω² cos θ, ω3 = ψ̇ + Ω cos θ."""
    total = (TOP_MASS * G * LENGTH + I1 * PRECESSION**2 * np.cos(TILT)) / (I3 * PRECESSION)
    spin = total - PRECESSION * np.cos(TILT)
    R = so3.exp(np.array([TILT, 0.0, 0.0]))
    ω = R.T @ np.array([0.0, 0.0, PRECESSION]) + np.array([0.0, 0.0, spin])
    return np.array([np.cos(TILT / 2), np.sin(TILT / 2), 0.0, 0.0]), ω, spin


@pytest.mark.slow
def test_top_precesses_steadily() -> None:
    """In steady motion the spin axis turns about the vertical, and nothing else changes: ω̇ = Ω × ψ̇ e."""
    robot = top()
    q, ω, spin = steady_state()
    R = robot.pose("top")(q)[:3, :3]
    rate = R.T @ np.cross([0.0, 0.0, PRECESSION], spin * R[:, 2])
    assert_close(robot.forward_dynamics(q, ω, np.zeros(3)), rate, 1e-12)
    Q, _ = rk4(robot, q, ω, duration=0.5, steps=2000)
    axis = robot.pose("top")(Q)[:, :3, 2]
    azimuth = np.unwrap(np.arctan2(axis[:, 0], -axis[:, 1]))
    assert_close(np.arccos(axis[:, 2]), np.full(2001, TILT), 1e-7)
    assert_close(azimuth, PRECESSION * np.linspace(0.0, 0.5, 2001), 1e-7)


@pytest.mark.slow
def test_top_keeps_energy_and_two_momenta() -> None:
    """A nutating top keeps its energy, its angular momentum about the vertical and about its own axis."""
    robot = top()
    q, ω, _ = steady_state()
    Q, W = rk4(robot, q, ω * [1.0, 0.5, 1.0] + [0.8, 0.0, 0.0], duration=0.5, steps=2000)
    R = robot.pose("top")(Q)[:, :3, :3]
    momentum = np.einsum("nij,nj->ni", R, W * [I1, I1, I3])
    energy = robot.kinetic_energy(Q, W) + robot.potential_energy(Q)
    tilt = R[:, 2, 2]
    assert np.ptp(tilt) > 0.01  # it does nutate
    assert_close(energy, np.full(2001, energy[0]), 1e-8)
    assert_close(momentum[:, 2], np.full(2001, momentum[0, 2]), 1e-8)
    assert_close(W[:, 2], np.full(2001, W[0, 2]), 1e-10)


# --- double pendulum --------------------------------------------------------------------------------


@pytest.mark.slow
def test_double_pendulum_keeps_its_energy() -> None:
    """Ten seconds of chaos. A wrong sign anywhere in the Coriolis terms loses it within a swing."""
    robot = hc.load("double_pendulum")
    Q, V = rk4(robot, np.array([2.5, 1.0]), np.zeros(2), duration=10.0, steps=10_000)
    energy = robot.kinetic_energy(Q, V) + robot.potential_energy(Q)
    swing = np.ptp(robot.potential_energy(Q))
    assert swing > 5.0
    assert np.abs(energy - energy[0]).max() < 1e-7 * swing


def test_small_swings_have_the_period_of_a_pendulum() -> None:
    """One rod on a hinge: ω² = m g l / I."""
    pendulum = hc.load("double_pendulum")
    robot = pendulum.lock({pendulum.joint_names[1]: 0.0})
    q = np.zeros(1)
    stiffness = robot.gravity.jacobian("q")(q)[0, 0]
    M = robot.mass_matrix(q)[0, 0]
    mass, com = robot.parameters.values[0], robot.center_of_mass(q)
    assert com[2] < 0
    assert_close(stiffness, -mass * G * com[2], 1e-12)
    period = 2 * np.pi / np.sqrt(stiffness / M)
    Q, _ = rk4(robot, np.array([1e-4]), np.zeros(1), duration=period, steps=400)
    assert_close(Q[-1], [1e-4], 1e-6)
