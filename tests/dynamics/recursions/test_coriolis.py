"""The Coriolis matrices: what all of them share, what tells them apart, and a textbook's example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid import Robot
from random_trees import assert_close, fewer, robots, seeds, state

COORDINATE_RATES = ("revolute", "continuous", "prismatic", "helical", "universal", "planar")


@fewer
@given(robots(), seeds)
def test_coriolis_matrix(robot: Robot, seed: int) -> None:
    """C v is the bias less gravity, Ṁ = C + Cᵀ, Ṁ - 2 C skew, and C is linear in v."""
    q, v, w = state(robot, seed)
    C, M_dot = robot.coriolis_matrix(q, v), robot.mass_matrix.time_derivative()(q, v)
    assert_close(C @ v, robot.bias(q, v) - robot.gravity(q), scale=10.0)
    assert_close(robot.mass_matrix_dot(q, v), M_dot, scale=1.0)
    skew = M_dot - 2 * C
    assert_close(skew, -skew.T, scale=1.0)
    both = robot.coriolis_matrix(q, v + 2 * w)
    assert_close(both, C + 2 * robot.coriolis_matrix(q, w), scale=1.0)


@fewer
@given(robots(), seeds)
def test_christoffel_symbols(robot: Robot, seed: int) -> None:
    """Σ_k Γ_ijk v_k = C_ij for joints of every type."""
    q, v, _ = state(robot, seed)
    symbols = robot.christoffel_symbols(q)
    assert_close(symbols @ v, robot.coriolis_matrix(q, v), scale=1.0)
    assert_close(symbols, robot.coriolis_matrix.jacobian("v")(q, v), scale=1.0)


@fewer
@given(robots(kinds=COORDINATE_RATES, floating=False), seeds)
def test_christoffel_symbols_of_coordinates(robot: Robot, seed: int) -> None:
    """Where v = q̇, Γ_ijk = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i): symmetric in j and k."""
    q, _, _ = state(robot, seed)
    dM = robot.mass_matrix.jacobian("q")(q)
    definition = (dM + dM.transpose(0, 2, 1) - dM.transpose(2, 0, 1)) / 2
    symbols = robot.christoffel_symbols(q)
    assert_close(symbols, definition, scale=1.0)
    assert_close(symbols, symbols.transpose(0, 2, 1), scale=1.0)


@fewer
@given(robots(max_bodies=4), seeds)
def test_classic_choices(robot: Robot, seed: int) -> None:
    """All have the same C v; the first has Ṁ - 2 C skew and is the matrix of the symbols."""
    q, v, _ = state(robot, seed)
    c, choices = robot.coriolis(q, v), robot.coriolis_matrix_classic(q, v)
    for C in choices:
        assert_close(C @ v, c, scale=1.0)
    assert_close(choices.C_1, robot.coriolis_matrix(q, v), scale=1.0)


def test_classic_choices_differ() -> None:
    """By their definitions, from a tensor that CasADi finds; neither of the other two is skew."""
    robot = hc.load("ur5")
    q, v, _ = state(robot, 5)
    dM = robot.mass_matrix.jacobian("q")(q)
    M_dot, U = dM @ v, np.einsum("kji,k->ij", dM, v)
    expected = (M_dot + U.T - U) / 2, M_dot - U / 2, U.T - U / 2
    for C, definition in zip(robot.coriolis_matrix_classic(q, v), expected, strict=True):
        assert_close(C, definition)
    for C in expected[1:]:
        assert np.abs(M_dot - C - C.T).max() > 1e-3


@pytest.mark.parametrize("angle", [-2.0, 0.0, 0.4, 1.3])
def test_planar_2r(angle: float) -> None:
    """Γ_1 = [[0, -k], [-k, -k]], Γ_2 = [[k, 0], [0, 0]] with k = m_2 L_1 L_2 sin θ_2, in closed form."""
    robot = hc.load("planar_2r")
    q, (w_1, w_2) = np.array([0.7, angle]), (0.9, -1.7)
    k = 1.0 * 1.0 * 0.8 * np.sin(angle)
    symbols = robot.christoffel_symbols(q)
    np.testing.assert_allclose(symbols[0], [[0, -k], [-k, -k]], atol=1e-15)
    np.testing.assert_allclose(symbols[1], [[k, 0], [0, 0]], atol=1e-15)
    standard = [[-w_2 * k, -(w_1 + w_2) * k], [w_1 * k, 0]]
    v = np.array([w_1, w_2])
    np.testing.assert_allclose(robot.coriolis_matrix(q, v), standard, atol=1e-15)
    np.testing.assert_allclose(robot.coriolis_matrix_classic(q, v).C_1, standard, atol=1e-15)
