"""Log-Cholesky coordinates: every choice is a body, every body has one, NumPy and CasADi agree."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helicoid.errors import InputError
from helicoid.identification.linear.solving.log_cholesky import (
    LogCholeskyCoordinates,
    inertial_parameters,
    log_cholesky,
)
from helicoid.model.inertia import Inertia
from random_trees import inertia, seeds

etas = arrays(np.float64, 10, elements=st.floats(-2.0, 2.0))


@given(etas)
def test_pseudo_inertia_is_the_textbook_product(eta: np.ndarray) -> None:
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = eta
    U = np.array(
        [[np.exp(d1), s12, s13, t1], [0, np.exp(d2), s23, t2], [0, 0, np.exp(d3), t3], [0, 0, 0, 1.0]]
    )
    P = Inertia.from_parameters(inertial_parameters(eta)).pseudo
    np.testing.assert_allclose(P, np.exp(2 * alpha) * U @ U.T, rtol=1e-12, atol=1e-12 * np.abs(P).max())


@given(etas)
def test_every_choice_is_a_body(eta: np.ndarray) -> None:
    assert Inertia.from_parameters(inertial_parameters(eta)).doubts() == []


@given(seeds)
def test_there_and_back(seed: int) -> None:
    bodies = [inertia(np.random.default_rng(seed + k)) for k in range(3)]
    pi = np.array([body.parameters for body in bodies])
    np.testing.assert_allclose(inertial_parameters(log_cholesky(pi)), pi, rtol=1e-10, atol=1e-12)
    relative = LogCholeskyCoordinates([inertia(np.random.default_rng(seed + 9 + k)) for k in range(3)])
    back = relative.parameters(relative.coordinates(pi.ravel()))
    np.testing.assert_allclose(back, pi.ravel(), rtol=1e-8, atol=1e-10)


@given(etas)
def test_casadi_gives_the_same(eta: np.ndarray) -> None:
    x = ca.SX.sym("x", 10)
    both = ca.Function("both", [x], [inertial_parameters(x), log_cholesky(inertial_parameters(x))])
    pi, back = both(eta)
    np.testing.assert_allclose(np.array(pi).ravel(), inertial_parameters(eta), rtol=1e-12)
    np.testing.assert_allclose(np.array(back).ravel(), eta, atol=1e-6)


def test_jacobian_is_that_of_small_steps(rng: np.random.Generator) -> None:
    relative = LogCholeskyCoordinates([inertia(rng), inertia(rng)])
    eta, step = rng.normal(0.0, 0.3, 20), 1e-6
    steps = [
        (relative.parameters(eta + step * unit) - relative.parameters(eta - step * unit)) / (2 * step)
        for unit in np.eye(20)
    ]
    np.testing.assert_allclose(relative.jacobian(eta), np.column_stack(steps), atol=1e-8)


def test_coordinates_of_a_body_are_pure_numbers(rng: np.random.Generator) -> None:
    """Twice the mass of a body that is ten times as long is the same step."""
    small = inertia(rng)
    scale = np.diag([10.0, 10.0, 10.0, 1.0])
    large = Inertia.from_pseudo(scale @ small.pseudo @ scale)
    heavy = [2 * body.parameters for body in (small, large)]
    steps = [
        LogCholeskyCoordinates([body]).coordinates(pi) for body, pi in zip((small, large), heavy, strict=True)
    ]
    expected = np.zeros(10)
    expected[0] = np.log(2.0) / 2
    np.testing.assert_allclose(steps, [expected, expected], atol=1e-9)


@pytest.mark.parametrize(
    "pi", [np.zeros(10), [1, 0, 0, 0, 1, 0, 0, 1, 0, 3], [-1, 0, 0, 0, 1, 0, 0, 1, 0, 1]]
)
def test_what_is_no_body_has_none(pi: np.ndarray) -> None:
    with pytest.raises(InputError, match="not positive definite"), np.errstate(all="ignore"):
        log_cholesky(pi)


@pytest.mark.parametrize("wrong", [np.zeros(9), ca.SX.sym("x", 9)])
def test_a_body_has_ten_numbers(wrong: object) -> None:
    with pytest.raises(InputError, match="10 numbers"):
        inertial_parameters(wrong)
