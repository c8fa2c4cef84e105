"""Unit dual quaternions: the same group as the homogeneous matrices."""

import numpy as np
import pytest
from geometry_support import SPECIAL_ANGLES, derivatives, poses, quick, rate, twists, vectors
from hypothesis import given

from helicoid.errors import InputError
from helicoid.geometry import dual_quaternion, se3

ONE = np.eye(8)[0]


@quick
@given(poses, poses)
def test_the_product_is_that_of_the_poses(a, b):
    product = dual_quaternion.multiply(dual_quaternion.from_pose(a), dual_quaternion.from_pose(b))
    assert np.allclose(dual_quaternion.to_pose(product), a @ b, atol=1e-12)


@quick
@given(poses, vectors(8), vectors(8))
def test_group_axioms(t, b, c):
    a = dual_quaternion.from_pose(t)
    multiply = dual_quaternion.multiply
    assert np.allclose(multiply(multiply(a, b), c), multiply(a, multiply(b, c)), atol=1e-10)
    assert np.array_equal(multiply(ONE, b), b)
    assert np.allclose(multiply(a, dual_quaternion.conjugate(a)), ONE, atol=1e-12)


@quick
@given(poses, vectors(3))
def test_pose_round_trip_and_points(t, x):
    q = dual_quaternion.from_pose(t)
    assert q[:4] @ q[:4] == pytest.approx(1.0, abs=1e-15)
    assert q[:4] @ q[4:] == pytest.approx(0.0, abs=1e-14)
    assert np.allclose(dual_quaternion.to_pose(q), t, atol=1e-13)
    assert np.allclose(dual_quaternion.to_pose(-q), t, atol=1e-13)
    assert np.allclose(dual_quaternion.transform_point(q, x), (t @ [*x, 1.0])[:3], atol=1e-13)


@quick
@given(twists())
def test_exp_and_log_are_those_of_se3(xi):
    q = dual_quaternion.exp(xi)
    assert np.allclose(dual_quaternion.to_pose(q), se3.exp(xi), atol=1e-13)
    assert np.allclose(dual_quaternion.log(q), xi, rtol=1e-13, atol=1e-13)
    assert np.allclose(dual_quaternion.log(-q), xi, rtol=1e-13, atol=1e-13)


@quick
@given(poses, vectors(8, 0.1))
def test_normalize_restores_both_constraints_and_leaves_a_motion_alone(t, noise):
    q = dual_quaternion.from_pose(t)
    assert np.allclose(dual_quaternion.normalize(q), q, atol=1e-14)
    unit = dual_quaternion.normalize(3.0 * q + noise)
    assert unit[:4] @ unit[:4] == pytest.approx(1.0, abs=1e-14)
    assert unit[:4] @ unit[4:] == pytest.approx(0.0, abs=1e-13)


@quick
@given(poses, vectors(6, 1.0))
def test_rate_of_the_body_twist(t, twist):
    q = dual_quaternion.from_pose(t)
    transform_dot = rate(dual_quaternion.to_pose, q, dual_quaternion.rate_matrix(q) @ twist)
    assert np.allclose(transform_dot, t @ se3.hat(twist), atol=1e-12)


@pytest.mark.parametrize("angle", SPECIAL_ANGLES)
def test_log_of_exp_is_the_identity_in_two_derivatives(angle):
    xi = np.concatenate([angle * np.array([-0.48, 0.6, 0.64]), [1.0, -2.0, 3.0]])
    value, jacobian, hessian = derivatives(lambda x: dual_quaternion.log(dual_quaternion.exp(x)), xi)
    assert np.allclose(value, xi, rtol=1e-14, atol=1e-15)
    assert np.allclose(jacobian, np.eye(6), atol=1e-12)
    assert np.allclose(hessian, 0.0, atol=1e-10)


def test_a_zero_real_part_is_an_error():
    with pytest.raises(InputError, match="no motion"):
        dual_quaternion.normalize([0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
