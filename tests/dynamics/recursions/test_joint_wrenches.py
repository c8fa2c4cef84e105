"""Wrenches that joints transmit, inertias of what they carry, and rates of Jacobians: identities on trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid import Robot
from helicoid.geometry import se3
from helicoid.model.model import WORLD
from random_trees import assert_close, few, fewer, robots, seeds, state


def subspaces(robot: Robot, q: np.ndarray) -> list[np.ndarray]:
    """S of each body's joint in its own frame, by the columns of the body Jacobians that the parent lacks."""
    found = []
    for body in robot.model.bodies:
        J = np.asarray(robot.jacobian(body.name, "body")(q))
        if body.parent != WORLD:
            parent = robot.model.bodies[body.parent].name
            T = np.linalg.inv(robot.pose(body.name)(q)) @ robot.pose(parent)(q)
            J = J - se3.adjoint(T) @ robot.jacobian(parent, "body")(q)
        found.append(J)
    return found


@few
@given(robots(), seeds)
def test_projections_are_the_joint_torques(robot: Robot, seed: int) -> None:
    """τ = Σ S_iᵀ F_i and the armature's torque, mimic joints included."""
    q, v, a = state(robot, seed)
    F = robot.joint_wrenches(q, v, a)
    assert F.shape == (robot.n_bodies, 6)
    projected = sum((S.T @ f for S, f in zip(subspaces(robot, q), F, strict=True)), np.zeros(robot.nv))
    armature = robot.parametric("armature").parameters.values
    springs = robot.spring_torque(q)
    assert_close(
        projected + armature * a + springs, robot.inverse_dynamics(q, v, a), scale=float(np.abs(F).max())
    )


@fewer
@given(robots(max_bodies=4), seeds)
def test_regressor(robot: Robot, seed: int) -> None:
    """Y π is the joint's wrench, for each body."""
    q, v, a = state(robot, seed)
    F, pi = robot.joint_wrenches(q, v, a), robot.parameters.values
    for body, expected in zip(robot.model.bodies, F, strict=True):
        Y = robot.wrench_regressor(body.name)
        assert Y.columns == robot.parameters.names
        assert_close(Y(q, v, a) @ pi, expected, scale=float(np.abs(F).max()))


def test_sensor_with_an_offset_and_a_rotation(rng: np.random.Generator) -> None:
    """The wrench at a sensor's own frame is the joint's, moved by the transpose of its adjoint."""
    robot = hc.load("ur5")
    T = se3.exp(rng.normal(size=6))
    mounted = robot.with_frame("sensor", "wrist_3_link", T)
    q, v, a = state(robot, rng)
    pi = robot.parameters.values
    at_body = robot.wrench_regressor("wrist_3_link")(q, v, a) @ pi
    at_sensor = mounted.wrench_regressor("sensor")(q, v, a) @ pi
    assert_close(at_sensor, se3.adjoint(T).T @ at_body)


def test_external_wrench_and_gravity(rng: np.random.Generator) -> None:
    """A wrench on the last link reduces what the joints transmit; without gravity nothing does at rest."""
    robot = hc.load("panda")
    q, v, a = state(robot, rng)
    w, last = rng.normal(size=6), robot.model.bodies[-1].name
    difference = robot.joint_wrenches(q, v, a) - robot.joint_wrenches(q, v, a, f_ext={last: w})
    for body, change in zip(robot.model.bodies, difference, strict=True):
        T = np.linalg.inv(robot.pose(last)(q)) @ robot.pose(body.name)(q)
        assert_close(change, se3.adjoint(T).T @ w)
    rest = np.zeros(robot.nv)
    assert np.abs(robot.joint_wrenches(q, rest, rest, gravity=(0.0, 0.0, 0.0))).max() == 0.0


def test_batch_derivatives_and_symbols(rng: np.random.Generator) -> None:
    """Three ways of calling; ∂F/∂a projected on the joints is the mass matrix."""
    robot = hc.load("ur5")
    q, v, a = state(robot, rng)
    F = robot.joint_wrenches(q, v, a)
    batch = robot.joint_wrenches(np.tile(q, (3, 1)), v, a)
    assert batch.shape == (3, 6, 6)
    assert_close(batch[1], F)
    slope = np.asarray(robot.joint_wrenches.jacobian("a")(q, v, a))
    S = subspaces(robot, q)
    projected = sum(S[i].T @ slope[i] for i in range(robot.n_bodies))
    armature = np.diag(robot.parametric("armature").parameters.values)
    assert_close(projected + armature, robot.mass_matrix(q))


def test_wrong_use_is_named() -> None:
    robot = hc.load("panda")
    with pytest.raises(hc.HelicoidError, match="does not move"):
        robot.wrench_regressor(robot.link_names[0])
    with pytest.raises(hc.HelicoidError, match="no option 'friction'"):
        robot.joint_wrenches(robot.neutral(), np.zeros(7), np.zeros(7), friction=True)
    with pytest.raises(hc.HelicoidError, match="nobody"):
        robot.wrench_regressor("nobody")


@fewer
@given(robots(max_bodies=5), seeds)
def test_composite_inertias(robot: Robot, seed: int) -> None:
    """M_ii = S_iᵀ Iᶜ_i S_i: with all other joints locked, a joint moves its composite body."""
    q, _, _ = state(robot, seed)
    I_c, M = robot.composite_inertias(q), robot.mass_matrix(q)
    M = M - np.diag(robot.parametric("armature").parameters.values)
    if any(body.joint.mimic for body in robot.model.bodies):
        return
    for body, S, I in zip(robot.model.bodies, subspaces(robot, q), I_c, strict=True):
        assert_close(S.T[body.v] @ I @ S[:, body.v], M[body.v, body.v], scale=float(np.abs(M).max()))
        assert_close(I, I.T, scale=float(np.abs(I).max()))


@fewer
@given(robots(max_bodies=4), seeds)
def test_articulated_inertias(robot: Robot, seed: int) -> None:
    """At the root, S (Sᵀ Iᴬ S + armature)⁻¹ Sᵀ gives the diagonal block of M⁻¹ of its joint."""
    if any(body.joint.mimic for body in robot.model.bodies):
        with pytest.raises(hc.ModelError, match="mimics"):
            robot.articulated_inertias(robot.neutral())
        return
    q, _, _ = state(robot, seed)
    armature = robot.parametric("armature").parameters.values
    inverse = robot.mass_matrix_inverse(q)
    for body, S, I in zip(
        robot.model.bodies, subspaces(robot, q), robot.articulated_inertias(q), strict=True
    ):
        if body.parent == WORLD:
            D = S.T[body.v] @ I @ S[:, body.v] + np.diag(armature[body.v])
            assert_close(np.linalg.inv(D), inverse[body.v, body.v], 1e-9)


@fewer
@given(robots(max_bodies=4), seeds)
def test_second_rate_of_a_jacobian(robot: Robot, seed: int) -> None:
    """J ȧ + 2 J̇ a + J̈ v is the rate of the acceleration."""
    q, v, a = state(robot, seed)
    a_dot = np.random.default_rng(seed + 1).normal(size=robot.nv)
    for reference in ("world", "world_aligned", "body"):
        link = robot.model.bodies[-1].name
        J, J_dot = robot.jacobian(link, reference)(q), robot.jacobian_dot(link, reference)(q, v)
        J_ddot = robot.jacobian_ddot(link, reference)(q, v, a)
        jerk = robot.acceleration(link, reference).time_derivative()(q, v, a, a_dot)
        assert_close(J @ a_dot + 2 * J_dot @ a + J_ddot @ v, jerk, 1e-9, scale=10.0)


def test_task_coriolis_matrix(rng: np.random.Generator) -> None:
    """Λ̇ - 2 C_task is skew-symmetric on a redundant arm; C_task ẋ is μ where the task is square."""
    panda, ur5 = hc.load("panda"), hc.load("ur5")
    q, v, _ = state(panda, rng)
    C = panda.task_coriolis_matrix("panda_link8")(q, v)
    rate = panda.task_inertia("panda_link8").time_derivative()(q, v)
    assert_close((rate - 2 * C) + (rate - 2 * C).T, np.zeros((6, 6)), scale=float(np.abs(rate).max()))
    q, v, _ = state(ur5, rng)
    C = ur5.task_coriolis_matrix("tool0")(q, v)
    twist = ur5.velocity("tool0", "world_aligned")(q, v)
    assert_close(C @ twist, ur5.task_coriolis("tool0")(q, v), 1e-8)
