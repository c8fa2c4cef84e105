"""The closed form and derivatives of M, C and g, against identities and algorithmic derivatives."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from complex_step import step
from helicoid import Robot
from random_trees import assert_close, fewer, robots, seeds, state

BUNDLED = [
    "ur5",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("panda", "kuka_lwr4", "double_pendulum")),
    "pan_tilt_pendulum",
    "planar_2r",
]


@fewer
@given(robots(), seeds)
def test_matrices(robot: Robot, seed: int) -> None:
    """(6): M and g are those of the recursions, C v is the Coriolis torque, and Ṁ - 2 C is skew."""
    q, v, a = state(robot, seed)
    M, C, g = robot.closed_form(q, v)
    assert_close(M, robot.mass_matrix(q))
    assert_close(g, robot.gravity(q), scale=1.0)
    assert_close(C @ v, robot.coriolis(q, v), scale=1.0)
    assert_close(C + C.T, robot.mass_matrix.time_derivative()(q, v), scale=1.0)
    assert_close(M @ a + C @ v + g, robot.inverse_dynamics(q, v, a), scale=10.0)


@fewer
@given(robots(max_bodies=3), seeds)
def test_time_derivatives(robot: Robot, seed: int) -> None:
    """(25) and the next order are what forward differentiation finds."""
    q, v, a = state(robot, seed)
    a_dot = np.random.default_rng(seed).normal(size=robot.nv)
    algorithmic = robot.closed_form.time_derivative()
    first = robot.closed_form_dot(q, v, a)
    for exact, expected in zip(first, (*robot.closed_form(q, v), *algorithmic(q, v, a)), strict=True):
        assert_close(exact, expected, scale=10.0)
    second = algorithmic.time_derivative()(q, v, a, a_dot)
    for exact, expected in zip(robot.closed_form_ddot(q, v, a, a_dot), second, strict=True):
        assert_close(exact, expected, scale=100.0)


@fewer
@given(robots(max_bodies=2), seeds)
def test_state_derivatives(robot: Robot, seed: int) -> None:
    """(24) with (31, 32): what algorithmic differentiation finds, joints on manifolds included (33)."""
    q, v, _ = state(robot, seed)
    exact, found = robot.closed_form_derivatives(q, v), robot.closed_form.jacobian("q", "v")(q, v)
    assert_close(exact.dM_dq, found.dM_dq, scale=1.0)
    assert_close(exact.dC_dq, found.dC_dq, scale=1.0)
    assert_close(exact.dC_dv, found.dC_dv, scale=1.0)
    assert_close(exact.dg_dq, found.dg_dq, scale=1.0)


@fewer
@given(robots(max_bodies=2), seeds)
def test_rates(robot: Robot, seed: int) -> None:
    """Ċ and ġ are what the state derivatives give along the motion; τ̇ and τ̈ follow from τ = M a + C v + g."""
    q, v, a = state(robot, seed)
    a_dot, a_ddot = np.random.default_rng(seed).normal(size=(2, robot.nv))
    dC_dq, dC_dv = robot.coriolis_matrix_derivatives(q, v)
    assert_close(robot.coriolis_matrix_dot(q, v, a), dC_dq @ v + dC_dv @ a, scale=1.0)
    assert_close(robot.gravity_dot(q, v), robot.gravity_derivatives(q) @ v, scale=1.0)
    M, C, _, M_dot, C_dot, g_dot = robot.closed_form_dot(q, v, a)
    M_ddot, C_ddot, g_ddot = robot.closed_form_ddot(q, v, a, a_dot)
    tau_dot = M_dot @ a + M @ a_dot + C_dot @ v + C @ a + g_dot
    tau_ddot = (
        (M_ddot @ a + 2 * M_dot @ a_dot + M @ a_ddot) + (C_ddot @ v + 2 * C_dot @ a + C @ a_dot) + g_ddot
    )
    assert_close(robot.inverse_dynamics_dot(q, v, a, a_dot), tau_dot, scale=100.0)
    assert_close(robot.inverse_dynamics_ddot(q, v, a, a_dot, a_ddot), tau_ddot, scale=1000.0)


@fewer
@given(robots(), seeds)
def test_matrix_derivatives(robot: Robot, seed: int) -> None:
    """∂M/∂q and ∂g/∂q are what algorithmic differentiation finds, Σ_k ∂M/∂q_k v_k = Ṁ."""
    q, v, _ = state(robot, seed)
    dM = robot.mass_matrix_derivatives(q)
    assert_close(dM, robot.mass_matrix.jacobian("q")(q), scale=1.0)
    assert_close(dM @ v, robot.mass_matrix_dot(q, v), scale=1.0)
    assert_close(robot.gravity_derivatives(q), robot.gravity.jacobian("q")(q), scale=1.0)


@fewer
@given(robots(max_bodies=2), seeds)
def test_parameter_derivatives(robot: Robot, seed: int) -> None:
    """(13): exact derivatives of linear functions, so that their product with π gives back M, C and g."""
    q, v, _ = state(robot, seed)
    pi = robot.parameters.values
    armature = np.diag(robot.parametric("armature").parameters.values)
    dM, dC = robot.mass_matrix_parameter_derivatives(q), robot.coriolis_matrix_parameter_derivatives(q, v)
    assert_close(dM @ pi + armature, robot.mass_matrix(q))
    assert_close(dC @ pi, robot.coriolis_matrix(q, v), scale=1.0)
    assert_close(robot.gravity_parameter_derivatives(q) @ pi, robot.gravity(q), scale=1.0)
    theta = robot.parametric("inertia")
    assert_close(dM, theta.mass_matrix.jacobian("theta")(q, pi))
    assert_close(dC, theta.coriolis_matrix.jacobian("theta")(q, v, pi), scale=1.0)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_robots(name: str, rng: np.random.Generator) -> None:
    """The same identities where numbers are those of real robots."""
    robot = hc.load(name)
    q, v, a = state(robot, rng)
    _, C, _, M_dot, C_dot, g_dot = robot.closed_form_dot(q, v, a)
    assert_close(C + C.T, M_dot, 1e-13)
    assert_close(C @ v, robot.bias(q, v) - robot.gravity(q), scale=1.0)
    assert_close(g_dot, robot.gravity_dot(q, v), scale=1.0)
    assert_close(C_dot + C_dot.T, robot.closed_form_ddot(q, v, a, a).M_ddot, scale=1.0)
    assert_close(M_dot, robot.mass_matrix_derivatives(q) @ v, scale=1.0)


def test_difference_quotients() -> None:
    """Nothing symbolic in the check: central differences in time of a floating robot's matrices."""
    robot = hc.load("double_pendulum", base="floating")
    q, v, a = state(robot, 7)
    step = 1e-5
    nearby = [(robot.integrate(q, h * v + h * h * a / 2), v + h * a) for h in (-step, step)]
    before, after = (robot.closed_form(*point) for point in nearby)
    exact = robot.closed_form_dot(q, v, a)
    for k in range(3):
        assert_close(exact[3 + k], (after[k] - before[k]) / (2 * step), 1e-7, scale=1.0)


@pytest.mark.parametrize(
    ("name", "base"), [pytest.param("ur5", "fixed", marks=pytest.mark.slow), ("double_pendulum", "floating")]
)
def test_complex_step(name: str, base: Literal["fixed", "floating"]) -> None:
    """f(x + iε d) = f(x) + iε f'(x) d: derivatives to machine precision without differentiating anything."""
    robot = hc.load(name, base=base)
    q, v, a = state(robot, 3)
    tangent = np.eye(robot.nv) if robot.tangent is None else np.array(robot.tangent(q))
    still, exact = np.zeros(robot.nv), robot.closed_form_derivatives(q, v)
    dM, (dC_dq, dC_dv) = robot.mass_matrix_derivatives(q), robot.coriolis_matrix_derivatives(q, v)
    for k in range(robot.nv):
        along_q = step(robot.closed_form, (q, tangent[:, k]), (v, still))
        along_v = step(robot.closed_form, (q, 0 * q), (v, np.eye(robot.nv)[k]))
        assert_close(exact.dM_dq[..., k], along_q[0], 1e-12, scale=1.0)
        assert_close(exact.dC_dq[..., k], along_q[1], 1e-12, scale=1.0)
        assert_close(exact.dg_dq[..., k], along_q[2], 1e-12, scale=1.0)
        assert_close(exact.dC_dv[..., k], along_v[1], 1e-12, scale=1.0)
        assert_close(dM[..., k], along_q[0], 1e-12, scale=1.0)
        assert_close(robot.gravity_derivatives(q)[:, k], along_q[2], 1e-12, scale=1.0)
        along_q = step(robot.coriolis_matrix, (q, tangent[:, k]), (v, still))
        along_v = step(robot.coriolis_matrix, (q, 0 * q), (v, np.eye(robot.nv)[k]))
        assert_close(dC_dq[..., k], along_q[0], 1e-12, scale=1.0)
        assert_close(dC_dv[..., k], along_v[0], 1e-12, scale=1.0)
    in_time = step(robot.closed_form, (q, tangent @ v), (v, a))
    for found, expected in zip(robot.closed_form_dot(q, v, a)[3:], in_time, strict=True):
        assert_close(found, expected, 1e-12, scale=1.0)
