"""SO(3): group axioms, scipy as oracle, Jacobians against AD, derivatives at 0 and near π."""

import casadi as ca
import numpy as np
import pytest
from geometry_support import (
    SPECIAL_ANGLES,
    derivatives,
    flatten,
    quick,
    rate,
    rotation_vectors,
    rotations,
    unit_vectors,
    vectors,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm, logm
from scipy.spatial.transform import Rotation

from helicoid.errors import InputError
from helicoid.geometry import so3

BASIS = [so3.hat(e) for e in np.eye(3)]


@quick
@given(vectors(3), vectors(3))
def test_hat_is_the_cross_product_and_vee_undoes_it(w, x):
    assert np.allclose(so3.hat(w) @ x, np.cross(w, x), atol=1e-12)
    assert np.array_equal(so3.vee(so3.hat(w)), w)


def test_vee_takes_the_skew_part():
    skew = so3.hat([1.0, 2.0, 3.0])
    assert np.allclose(so3.vee(skew + np.ones((3, 3))), [1.0, 2.0, 3.0])


@quick
@given(rotation_vectors(largest=20.0))
def test_exp_is_a_rotation_and_the_matrix_exponential(r):
    matrix = so3.exp(r)
    assert np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(matrix) == pytest.approx(1.0, abs=1e-14)
    assert np.allclose(matrix, expm(so3.hat(r)), atol=1e-13)
    assert np.allclose(matrix, Rotation.from_rotvec(r).as_matrix(), atol=1e-14)


@quick
@given(rotation_vectors())
def test_log_undoes_exp_up_to_pi(r):
    assert np.allclose(so3.log(so3.exp(r)), r, rtol=1e-14, atol=1e-15)


@quick
@given(st.floats(1e-3, 3.0), unit_vectors())
def test_log_is_the_matrix_logarithm(angle, axis):
    matrix = so3.exp(angle * axis)
    with np.errstate(all="ignore"):  # scipy divides by subnormal numbers on its way
        oracle = logm(matrix).real
    assert np.allclose(so3.hat(so3.log(matrix)), oracle, atol=1e-10)


@quick
@given(unit_vectors())
def test_log_at_exactly_pi_gives_the_same_rotation(n):
    half_turn = 2 * np.outer(n, n) - np.eye(3)
    r = so3.log(half_turn)
    assert np.linalg.norm(r) == pytest.approx(np.pi, abs=1e-15)
    assert np.allclose(so3.exp(r), half_turn, atol=1e-14)


@quick
@given(rotations, rotations)
def test_inverse_and_conjugation(a, b):
    r = so3.log(b)
    assert np.allclose(so3.exp(-r), b.T, atol=1e-14)
    assert np.allclose(so3.exp(a @ r), a @ b @ a.T, atol=1e-13)


@quick
@given(rotation_vectors(largest=6.0), vectors(3, 1.0))
def test_jacobians_are_the_derivative_of_exp(r, r_dot):
    matrix, matrix_dot = so3.exp(r), rate(so3.exp, r, r_dot)
    assert np.allclose(matrix_dot, so3.hat(so3.left_jacobian(r) @ r_dot) @ matrix, atol=1e-13)
    assert np.allclose(matrix_dot, matrix @ so3.hat(so3.right_jacobian(r) @ r_dot), atol=1e-13)


@quick
@given(rotation_vectors(largest=5.5))
def test_inverse_jacobians(r):
    assert np.allclose(so3.left_jacobian_inverse(r) @ so3.left_jacobian(r), np.eye(3), atol=1e-13)
    assert np.allclose(so3.right_jacobian(r) @ so3.right_jacobian_inverse(r), np.eye(3), atol=1e-13)


@quick
@given(st.floats(-7.0, 7.0), unit_vectors(), st.floats(0.1, 10.0))
def test_angle_axis(angle, axis, length):
    assert np.allclose(so3.from_angle_axis(angle, length * axis), so3.exp(angle * axis), atol=1e-14)
    found, direction = so3.to_angle_axis(so3.from_angle_axis(angle, axis))
    assert 0.0 <= found <= np.pi + 1e-15
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    assert np.allclose(so3.exp(found * direction), so3.exp(angle * axis), atol=1e-13)


@quick
@given(st.floats(0.1, 3.0), unit_vectors(), vectors(3, 1.0), st.floats(-1.0, 1.0))
def test_angle_axis_rates(angle, axis, other, angle_dot):
    axis_dot = np.cross(axis, other)
    chi, chi_dot = np.array([angle, *axis]), np.array([angle_dot, *axis_dot])
    matrix_dot = rate(lambda x: so3.from_angle_axis(x[0], x[1:]), chi, chi_dot)
    matrix = so3.from_angle_axis(angle, axis)
    for frame, skew in (("world", matrix_dot @ matrix.T), ("body", matrix.T @ matrix_dot)):
        omega = so3.angle_axis_rate_to_angular_velocity(angle, axis, frame) @ chi_dot
        assert np.allclose(omega, so3.vee(skew), atol=1e-13)
        assert np.allclose(
            so3.angular_velocity_to_angle_axis_rate(angle, axis, frame) @ omega, chi_dot, atol=1e-12
        )


def symmetrized(a, b):
    return a @ b + b @ a


@pytest.mark.parametrize(
    ("function", "first", "second"),
    [
        (so3.exp, 1.0, 1 / 2),
        (so3.left_jacobian, 1 / 2, 1 / 6),
        (so3.right_jacobian, -1 / 2, 1 / 6),
        (so3.left_jacobian_inverse, -1 / 2, 1 / 12),
        (so3.right_jacobian_inverse, 1 / 2, 1 / 12),
    ],
)
@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_two_derivatives_at_zero_are_those_of_the_series(function, first, second, kind):
    value, jacobian, hessian = derivatives(function, np.zeros(3), kind)
    assert np.array_equal(value, flatten(np.eye(3)))
    for i in range(3):
        assert np.allclose(jacobian[:, i], first * flatten(BASIS[i]), rtol=0, atol=1e-16)
        for j in range(3):
            expected = second * flatten(symmetrized(BASIS[i], BASIS[j]))
            assert np.allclose(hessian[:, i, j], expected, rtol=0, atol=1e-16)


@pytest.mark.parametrize("angle", SPECIAL_ANGLES)
@pytest.mark.parametrize("axis", [[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [0.6, 0.0, -0.8], [-0.48, 0.6, 0.64]])
def test_log_of_exp_is_the_identity_in_two_derivatives(angle, axis):
    r = angle * np.array(axis)
    value, jacobian, hessian = derivatives(lambda x: so3.log(so3.exp(x)), r)
    assert np.allclose(value, r, rtol=1e-14, atol=1e-15)
    assert np.allclose(jacobian, np.eye(3), atol=1e-12)
    assert np.allclose(hessian, 0.0, atol=1e-10)


def test_log_of_the_half_turns_has_finite_derivatives():
    for n in np.eye(3):
        half_turn = 2 * np.outer(n, n) - np.eye(3)
        for part in derivatives(lambda x: so3.log(ca.reshape(x, 3, 3)), flatten(half_turn)):
            assert np.isfinite(part).all()


def test_no_rotation_has_an_axis_and_finite_derivatives():
    angle, axis = so3.to_angle_axis(np.eye(3))
    assert angle == 0.0
    assert np.array_equal(axis, [1.0, 0.0, 0.0])
    for part in derivatives(lambda x: ca.vertcat(*so3.to_angle_axis(so3.exp(x))), np.zeros(3)):
        assert np.isfinite(part).all()


@pytest.mark.parametrize("length", [1e-300, 1e-150, 1e200])
def test_an_axis_may_have_any_length(length):
    assert np.allclose(so3.from_angle_axis(0.5, [0.0, length, 0.0]), so3.exp([0.0, 0.5, 0.0]), atol=1e-15)


@pytest.mark.parametrize("angle", [1e-139, 1e-150, 1e-160, 1e-170])
def test_the_axis_of_a_vanishing_rotation_is_still_a_unit_vector(angle):
    _, axis = so3.to_angle_axis(so3.exp([0.0, 0.0, angle]))
    assert np.linalg.norm(axis) == pytest.approx(1.0, abs=1e-14)


def test_what_has_no_answer_is_an_error():
    with pytest.raises(InputError, match="zero vector"):
        so3.from_angle_axis(1.0, [0.0, 0.0, 0.0])
    with pytest.raises(InputError, match="angle 0"):
        so3.angular_velocity_to_angle_axis_rate(0.0, [1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="expressed_in is 'base'"):
        so3.angle_axis_rate_to_angular_velocity(1.0, [1.0, 0.0, 0.0], "base")
