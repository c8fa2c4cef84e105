"""Laws of mechanics that hold for every tree: one test a law, or several where they share functions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helicoid import Robot
from helicoid.model import model
from helicoid.model.inertia import Inertia
from helicoid.model.model import WORLD
from random_trees import Array, assert_close, few, fewer, robots, seeds, state

GRAVITY = np.array(model.GRAVITY)


@few
@given(robots(max_bodies=7), seeds)
def test_mass_matrix(robot: Robot, seed: int) -> None:
    """M = ∂τ/∂a, symmetric and positive definite; M⁻¹ M = 1; T = ½ vᵀ M v."""
    q, v, a = state(robot, seed)
    M = robot.mass_matrix(q)
    assert_close(robot.inverse_dynamics.jacobian("a")(q, v, a), M)
    assert_close(M, M.T, 1e-15)
    assert np.linalg.eigvalsh(M).min() > 0
    assert_close(robot.mass_matrix_inverse(q) @ M, np.eye(robot.nv), 1e-13 * np.linalg.cond(M))
    assert_close(robot.kinetic_energy(q, v), v @ M @ v / 2)


@few
@given(robots(max_bodies=7), seeds)
def test_forward_is_the_inverse_of_inverse_dynamics(robot: Robot, seed: int) -> None:
    """ABA and CRBA agree, and ID(FD(τ)) = τ: with friction, gravity and armature."""
    q, v, tau = state(robot, seed)
    a = robot.forward_dynamics(q, v, tau, friction=True)
    held = robot.inverse_dynamics(q, v, np.zeros(robot.nv), friction=True)
    assert_close(robot.inverse_dynamics(q, v, a, friction=True), tau, scale=float(np.abs(held).max()))
    assert_close(robot.forward_dynamics_crba(q, v, tau, friction=True), a, 1e-9)


@few
@given(robots(), seeds)
def test_energy_and_power(robot: Robot, seed: int) -> None:
    """g = ∂U/∂q in the tangent space, and d/dt (T + U) = vᵀ τ along any motion."""
    q, v, a = state(robot, seed)
    g = robot.gravity(q)
    assert_close(robot.potential_energy.jacobian("q")(q), g, scale=1.0)
    assert_close(robot.potential_energy.time_derivative()(q, v), g @ v, scale=1.0)
    power = robot.kinetic_energy.time_derivative()(q, v, a) + g @ v
    tau = robot.inverse_dynamics(q, v, a)
    assert_close(v @ tau, power, scale=float(np.abs(v) @ np.abs(tau)))


@fewer
@given(robots(), seeds, st.floats(-3.0, 3.0))
def test_parts_of_the_torque(robot: Robot, seed: int, factor: float) -> None:
    """τ = M a + h and h = c + g; c is quadratic in v and knows no gravity."""
    q, v, a = state(robot, seed)
    c, h = robot.coriolis(q, v), robot.bias(q, v)
    size = float(np.abs(c).max() + np.abs(h).max())
    assert_close(c + robot.gravity(q), h, scale=size)
    assert_close(robot.coriolis(q, factor * v), factor**2 * c, scale=size)
    assert_close(robot.inverse_dynamics(q, v, a), robot.mass_matrix(q) @ a + h, scale=size)
    assert_close(robot.bias(q, v, gravity=(0.0, 0.0, 0.0)), c, scale=size)


@fewer
@given(robots(), seeds)
def test_center_of_mass(robot: Robot, seed: int) -> None:
    """J_c = ∂c/∂q in the tangent space, dc/dt = J_c v, and the weight's torque is -m J_cᵀ g."""
    q, v, _ = state(robot, seed)
    J = robot.com_jacobian(q)
    assert_close(robot.center_of_mass.jacobian("q")(q), J)
    assert_close(robot.center_of_mass.time_derivative()(q, v), J @ v, scale=1.0)
    mass = sum(body.inertia.mass for body in robot.model.bodies)
    assert_close(robot.gravity(q), -mass * J.T @ GRAVITY, scale=1.0)


@few
@given(robots(max_bodies=3), seeds)
def test_projected_newton_euler(robot: Robot, seed: int) -> None:
    """τ = Σ Jᵀ (what Newton and Euler ask of each link) + armature a (Kane), and the energies likewise.

    Link by link, each in its own frame: no recursion, no merging of fixed links, no regrouping of mass. J̇
    is a difference quotient here.
    """
    q, v, a = state(robot, seed)
    step = 1e-5
    nearby = robot.integrate(q, np.array([step * v, -step * v]))
    armature = robot.parametric("armature").parameters.values
    tau, T, U, moment, mass = armature * a, armature @ v**2 / 2, 0.0, np.zeros(3), 0.0
    for link in robot.model.links:
        if link.inertia is None or robot.model.frame(link.name).body == WORLD:
            continue
        J, pose = robot.jacobian(link.name, "body"), robot.pose(link.name)(q)
        before, after = J(nearby[1]), J(nearby[0])
        V, A = J(q) @ v, J(q) @ a + (after - before) @ v / (2 * step)
        tau = tau + J(q).T @ newton_euler(link.inertia, V, A, pose[:3, :3].T @ GRAVITY)
        m, c = link.inertia.mass, link.inertia.com
        at_com = V[3:] + np.cross(V[:3], c)
        T += (m * at_com @ at_com + V[:3] @ link.inertia.at_com @ V[:3]) / 2
        moment, mass = moment + m * (pose[:3, 3] + pose[:3, :3] @ c), mass + m
        U = -GRAVITY @ moment
    assert_close(robot.inverse_dynamics(q, v, a), tau, 1e-7)
    assert_close(robot.kinetic_energy(q, v), T)
    assert_close(robot.potential_energy(q), U, scale=10.0)
    assert_close(robot.center_of_mass(q), moment / mass, scale=1.0)


def newton_euler(inertia: Inertia, V: Array, A: Array, gravity: Array) -> Array:
    """Wrench about a link's origin, link axes, from its body twist V and the rate A of V's components."""
    ω, v, ωd, vd = V[:3], V[3:], A[:3], A[3:]
    c, I = inertia.com, inertia.at_com
    # V is expressed in turning axes: the velocity of the origin changes by v̇ + ω × v.
    acceleration = vd + np.cross(ω, v) + np.cross(ωd, c) + np.cross(ω, np.cross(ω, c))
    force = inertia.mass * (acceleration - gravity)
    return np.concatenate([I @ ωd + np.cross(ω, I @ ω) + np.cross(c, force), force])
