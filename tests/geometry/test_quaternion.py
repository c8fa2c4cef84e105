"""Unit quaternions: Hamilton's algebra, scipy as oracle, rates against AD, derivatives at 0 and near π."""

import casadi as ca
import numpy as np
import pytest
from geometry_support import (
    SPECIAL_ANGLES,
    derivatives,
    quaternions,
    quick,
    rate,
    rotation_vectors,
    rotations,
    unit_vectors,
    vectors,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from helicoid.errors import InputError
from helicoid.geometry import quaternion, so3

ONE, *IMAGINARY = np.eye(4)


def scipy_rotation(q):
    return Rotation.from_quat(np.roll(q, -1))


def test_hamiltons_carving():
    for unit in IMAGINARY:
        assert np.array_equal(quaternion.multiply(unit, unit), -ONE)
    i, j, k = IMAGINARY
    assert np.array_equal(quaternion.multiply(quaternion.multiply(i, j), k), -ONE)


@quick
@given(quaternions, quaternions, quaternions)
def test_group_axioms(a, b, c):
    left = quaternion.multiply(quaternion.multiply(a, b), c)
    assert np.allclose(left, quaternion.multiply(a, quaternion.multiply(b, c)), atol=1e-14)
    assert np.array_equal(quaternion.multiply(ONE, a), a)
    assert np.allclose(quaternion.multiply(a, quaternion.conjugate(a)), ONE, atol=1e-14)


@quick
@given(quaternions, quaternions, vectors(3))
def test_matrix_is_a_homomorphism_and_rotates(a, b, v):
    product = quaternion.to_matrix(quaternion.multiply(a, b))
    assert np.allclose(product, quaternion.to_matrix(a) @ quaternion.to_matrix(b), atol=1e-14)
    assert np.allclose(quaternion.to_matrix(a), scipy_rotation(a).as_matrix(), atol=1e-14)
    assert np.allclose(quaternion.rotate(a, v), quaternion.to_matrix(a) @ v, atol=1e-13)


@quick
@given(rotations)
def test_from_matrix_undoes_to_matrix(matrix):
    q = quaternion.from_matrix(matrix)
    assert q[0] >= 0.0
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)
    assert np.allclose(quaternion.to_matrix(q), matrix, atol=1e-14)


@quick
@given(unit_vectors(4))
def test_from_matrix_with_any_component_largest(q):
    found = quaternion.from_matrix(quaternion.to_matrix(q))
    assert np.allclose(found * np.sign(found @ q), q, atol=1e-14)


@quick
@given(rotation_vectors(), st.floats(0.1, 10.0))
def test_exp_and_log(r, length):
    q = quaternion.exp(r)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)
    assert np.allclose(quaternion.to_matrix(q), so3.exp(r), atol=1e-14)
    for same in (q, -q, length * q):
        assert np.allclose(quaternion.log(same), r, rtol=1e-14, atol=1e-15)


@quick
@given(rotation_vectors(largest=20.0))
def test_log_is_the_shortest(r):
    assert np.linalg.norm(quaternion.log(quaternion.exp(r))) <= np.pi + 1e-15
    assert np.allclose(quaternion.to_matrix(quaternion.exp(r)), so3.exp(r), atol=1e-13)


@quick
@given(st.floats(-7.0, 7.0), unit_vectors(), st.floats(0.1, 10.0))
def test_angle_axis(angle, axis, length):
    q = quaternion.from_angle_axis(angle, length * axis)
    assert np.allclose(q, quaternion.exp(angle * axis), atol=1e-14)
    assert np.allclose(
        np.prod(np.array(quaternion.to_angle_axis(q), dtype=object)), quaternion.log(q), atol=1e-14
    )


@quick
@given(quaternions, vectors(3, 1.0))
def test_rates_against_the_derivative_of_the_matrix(q, omega):
    matrix = quaternion.to_matrix(q)
    for frame in ("body", "world"):
        q_dot = quaternion.rate_matrix(q, frame) @ omega
        matrix_dot = rate(quaternion.to_matrix, q, q_dot)
        skew = matrix.T @ matrix_dot if frame == "body" else matrix_dot @ matrix.T
        assert np.allclose(skew, so3.hat(omega), atol=1e-13)
        assert np.allclose(quaternion.rate_matrix_inverse(q, frame) @ q_dot, omega, atol=1e-13)
        assert abs(q @ q_dot) < 1e-14


@quick
@given(rotation_vectors(largest=3.0), quaternions, st.floats(0.0, 1.0))
def test_slerp_is_that_of_scipy(r, a, t):
    b = quaternion.multiply(a, quaternion.exp(r))
    oracle = Slerp([0.0, 1.0], Rotation.concatenate([scipy_rotation(a), scipy_rotation(b)]))(t).as_matrix()
    for end in (b, -b):
        assert np.allclose(quaternion.to_matrix(quaternion.slerp(a, end, t)), oracle, atol=1e-13)


def test_two_derivatives_of_exp_at_zero():
    value, jacobian, hessian = derivatives(quaternion.exp, np.zeros(3))
    assert np.array_equal(value, ONE)
    assert np.array_equal(jacobian, np.vstack([np.zeros(3), np.eye(3) / 2]))
    assert np.allclose(hessian[0], -np.eye(3) / 4, atol=1e-16)
    assert np.allclose(hessian[1:], 0.0, atol=1e-16)


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_two_derivatives_of_log_at_one(kind):
    """Near 1, log q = 2 u/w + O(|u|³)."""
    value, jacobian, hessian = derivatives(quaternion.log, ONE, kind)
    expected = np.zeros((3, 4, 4))
    for i in range(3):
        expected[i, 0, i + 1] = expected[i, i + 1, 0] = -2.0
    assert np.array_equal(value, np.zeros(3))
    assert np.allclose(jacobian, np.hstack([np.zeros((3, 1)), 2 * np.eye(3)]), atol=1e-16)
    assert np.allclose(hessian, expected, atol=1e-15)


@pytest.mark.parametrize("angle", SPECIAL_ANGLES)
def test_log_of_exp_is_the_identity_in_two_derivatives(angle):
    r = angle * np.array([-0.48, 0.6, 0.64])
    for sign in (1.0, -1.0):
        value, jacobian, hessian = derivatives(lambda x, s=sign: quaternion.log(s * quaternion.exp(x)), r)
        assert np.allclose(value, r, rtol=1e-14, atol=1e-15)
        assert np.allclose(jacobian, np.eye(3), atol=1e-13)
        assert np.allclose(hessian, 0.0, atol=1e-11)


def test_what_has_no_answer_is_an_error():
    with pytest.raises(InputError, match="zero quaternion"):
        quaternion.normalize(np.zeros(4))
    with pytest.raises(InputError, match="expressed_in"):
        quaternion.rate_matrix(ONE, "local")


@quick
@given(quaternions, quaternions)
def test_matrices_of_the_product(p, q):
    """q ⊗ p = M_l(q) p = M_r(p) q, and M_l commutes with M_r."""
    left, right = quaternion.left_matrix(q), quaternion.right_matrix(p)
    assert np.allclose(left @ p, quaternion.multiply(q, p), atol=1e-15)
    assert np.allclose(right @ q, quaternion.multiply(q, p), atol=1e-15)
    assert np.allclose(left @ right, right @ left, atol=1e-14)
    rotated = left @ quaternion.right_matrix(quaternion.conjugate(q))
    assert np.allclose(rotated[1:, 1:], quaternion.to_matrix(q), atol=1e-14)
