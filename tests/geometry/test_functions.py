"""The scalar functions against exact rational arithmetic, value and two derivatives."""

from fractions import Fraction
from math import factorial

import casadi as ca
import numpy as np
import pytest
from geometry_support import derivatives

from helicoid.geometry import _functions

SQUARED_ANGLES = [0.0, 1e-30, 1e-12, 1e-3, 0.3, 1.0, 3.99, np.nextafter(4, 0), 4.0, 4.01, 9.8, 25.0]


def exact_stumpff(n, s, order):
    """The derivative of the given order of c_n, from 60 terms of its series in rational numbers."""
    terms = (
        Fraction((-1) ** k * factorial(k), factorial(k - order) * factorial(2 * k + n))
        * Fraction(s) ** (k - order)
        for k in range(order, 60)
    )
    return float(sum(terms))


@pytest.mark.parametrize("s", SQUARED_ANGLES)
def test_stumpff_functions_and_their_derivatives_are_exact(s):
    computed = derivatives(lambda x: ca.vertcat(*_functions.stumpff(x)), s)
    for order, tolerance in enumerate([3e-15, 1e-13, 3e-12]):
        for n in range(6):
            # Relative to the size at s = 0, since the functions cross zero.
            scale = 1 / factorial(2 * order + n)
            error = computed[order].ravel()[n] - exact_stumpff(n, s, order)
            assert abs(error) <= tolerance * scale, (order, n)


def test_stumpff_of_a_float_is_that_of_casadi():
    for s in SQUARED_ANGLES:
        numbers = np.array(_functions.stumpff(s))
        assert np.allclose(numbers, ca.vertcat(*_functions.stumpff(ca.DM(s))).full().ravel(), rtol=1e-15)


@pytest.mark.parametrize("s", SQUARED_ANGLES)
def test_the_coefficient_of_the_inverse_jacobian(s):
    value, slope = _functions.inverse_jacobian_coefficient(s)
    bernoulli = [1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160]
    if s < 1e-2:
        assert value == pytest.approx(sum(b * s**k for k, b in enumerate(bernoulli)), rel=1e-14)
    else:
        half = np.sqrt(s) / 2
        assert value == pytest.approx((1 - half / np.tan(half)) / s, rel=1e-12)
    _, first, second = derivatives(lambda x: _functions.inverse_jacobian_coefficient(x)[0], s)
    assert slope == pytest.approx(first[0, 0], rel=1e-11)
    if s < 1e-9:
        assert first[0, 0] == pytest.approx(bernoulli[1], rel=1e-10)
        assert second[0, 0, 0] == pytest.approx(2 * bernoulli[2], rel=1e-10)


def test_arctangent_ratio_is_smooth_through_zero():
    value, first, second = derivatives(lambda s: _functions.arctangent_ratio(s, 1.0), 0.0)
    assert (value[0], first[0, 0], second[0, 0, 0]) == pytest.approx((1.0, -1 / 3, 2 / 5), rel=1e-15)


@pytest.mark.parametrize("x_squared", [0.0624999999, 0.0625, 0.0625000001])
def test_both_branches_of_the_arctangent_meet_in_two_derivatives(x_squared):
    x = np.sqrt(x_squared)
    value, first, second = derivatives(lambda s: _functions.arctangent_ratio(s, 1.0), x_squared)
    slope = (1 / (1 + x_squared) - np.arctan(x) / x) / (2 * x_squared)
    curvature = (-1 / (1 + x_squared) ** 2 - 3 * slope) / (2 * x_squared)
    assert value[0] == pytest.approx(np.arctan(x) / x, rel=1e-15)
    assert first[0, 0] == pytest.approx(slope, rel=1e-13)
    assert second[0, 0, 0] == pytest.approx(curvature, rel=1e-11)


@pytest.mark.parametrize("s", [0.0, 1e-3, 4.0, 1e60])
def test_the_branch_that_is_not_taken_does_no_illegal_arithmetic(s):
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        _functions.stumpff(np.float64(s))
        _functions.arctangent_ratio(np.float64(s), np.float64(1.0))
        _functions.arctangent_ratio(np.float64(1.0), np.float64(s))
        _functions.magnitude_and_direction(np.array([0.0, 0.0, s]))
        _functions.polar(np.float64(s), np.float64(0.0))
    for part in derivatives(lambda x: ca.vertcat(*_functions.stumpff(x)), s):
        assert np.isfinite(part).all()
