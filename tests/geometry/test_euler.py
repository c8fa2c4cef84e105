"""Euler angles in all orders: scipy as oracle, the lock, E against AD."""

import casadi as ca
import numpy as np
import pytest
from geometry_support import derivatives, quick, rate, rotations, vectors
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from helicoid.errors import InputError
from helicoid.geometry import euler, so3

orders = st.sampled_from(euler.ORDERS)
kinds = st.sampled_from(["intrinsic", "extrinsic"])
any_angles = vectors(3, 7.0)


def scipy_order(order, kind):
    return order.upper() if kind == "intrinsic" else order


def locked_angle(order):
    return np.pi / 2 if len(set(order)) == 3 else 0.0


@quick
@given(any_angles, orders, kinds)
def test_from_euler_is_that_of_scipy(angles, order, kind):
    oracle = Rotation.from_euler(scipy_order(order, kind), angles).as_matrix()
    assert np.allclose(euler.from_euler(angles, order, kind), oracle, atol=1e-14)


@quick
@given(rotations, orders, kinds)
def test_to_euler_gives_the_matrix_back_within_its_ranges(matrix, order, kind):
    angles = euler.to_euler(matrix, order, kind)
    assert np.allclose(euler.from_euler(angles, order, kind), matrix, atol=3e-14)
    low = -np.pi / 2 if len(set(order)) == 3 else 0.0
    assert low <= angles[1] <= low + np.pi
    assert np.all(np.abs(angles) <= np.pi)


@quick
@given(st.floats(-3.0, 3.0), st.floats(0.1, 1.4), st.floats(-3.0, 3.0), orders, kinds)
def test_to_euler_gives_the_angles_back(a, b, c, order, kind):
    angles = np.array([a, b, c])
    assert np.allclose(euler.to_euler(euler.from_euler(angles, order, kind), order, kind), angles, atol=1e-13)


@pytest.mark.parametrize("order", euler.ORDERS)
@pytest.mark.parametrize("kind", ["intrinsic", "extrinsic"])
@pytest.mark.parametrize("offset", [0.0, 1e-15, 1e-13, 1e-10, -1e-10, 1e-8, 1e-4])
def test_to_euler_holds_at_and_around_gimbal_lock(order, kind, offset):
    for lock in (locked_angle(order), locked_angle(order) - np.pi):
        matrix = euler.from_euler([0.7, lock + offset, -1.9], order, kind)
        angles = euler.to_euler(matrix, order, kind)
        assert np.allclose(euler.from_euler(angles, order, kind), matrix, atol=3e-14)


@pytest.mark.parametrize("order", euler.ORDERS)
def test_derivatives_at_gimbal_lock_are_finite(order):
    matrix = np.array(euler.from_euler([0.0, locked_angle(order), 0.0], order).round())
    for part in derivatives(lambda x: euler.to_euler(ca.reshape(x, 3, 3), order), matrix.ravel(order="F")):
        assert np.isfinite(part).all()


@quick
@given(vectors(3, 3.0))
def test_roll_pitch_yaw_is_that_of_urdf(rpy):
    roll, pitch, yaw = rpy
    rx, ry, rz = so3.exp([roll, 0.0, 0.0]), so3.exp([0.0, pitch, 0.0]), so3.exp([0.0, 0.0, yaw])
    assert np.allclose(euler.from_rpy(rpy), rz @ ry @ rx, atol=1e-14)
    assert np.allclose(euler.from_rpy(euler.to_rpy(euler.from_rpy(rpy))), euler.from_rpy(rpy), atol=3e-14)


def test_yaw_is_zero_at_the_lock_of_roll_pitch_yaw():
    roll, pitch, yaw = euler.to_rpy(euler.from_rpy([0.5, np.pi / 2, 0.2]))
    assert yaw == 0.0
    assert (roll, pitch) == pytest.approx((0.3, np.pi / 2), abs=1e-14)


@quick
@given(any_angles, vectors(3, 1.0), orders, kinds)
def test_rate_map_against_the_derivative_of_the_matrix(angles, angle_rates, order, kind):
    matrix = euler.from_euler(angles, order, kind)
    matrix_dot = rate(lambda x: euler.from_euler(x, order, kind), angles, angle_rates)
    for frame, skew in (("world", matrix_dot @ matrix.T), ("body", matrix.T @ matrix_dot)):
        e = euler.euler_rate_to_angular_velocity(angles, order, frame, kind)
        assert np.allclose(e @ angle_rates, so3.vee(skew), atol=1e-13)
        singularity = np.cos(angles[1]) if len(set(order)) == 3 else np.sin(angles[1])
        assert abs(np.linalg.det(e)) == pytest.approx(abs(singularity), abs=1e-13)


@quick
@given(any_angles, orders, kinds, st.sampled_from(["body", "world"]))
def test_inverse_rate_map(angles, order, kind, frame):
    angles[1] = locked_angle(order) + 0.05 + abs(angles[1]) % 3.0
    e = euler.euler_rate_to_angular_velocity(angles, order, frame, kind)
    inverse = euler.angular_velocity_to_euler_rate(angles, order, frame, kind)
    assert np.allclose(inverse @ e, np.eye(3), atol=1e-12)


def test_inverse_rate_map_grows_towards_the_lock_and_ends_there():
    near = euler.angular_velocity_to_euler_rate([0.3, 1e-9, 0.2], "zxz")
    assert np.abs(near).max() == pytest.approx(1e9, rel=0.1)
    with pytest.raises(InputError, match="gimbal lock"):
        euler.angular_velocity_to_euler_rate([0.3, 0.0, 0.2], "zxz")


def test_unknown_names_are_errors():
    with pytest.raises(InputError, match="'xxy' is unknown"):
        euler.from_euler([0.0, 0.0, 0.0], "xxy")
    with pytest.raises(InputError, match="kind is 'static'"):
        euler.to_euler(np.eye(3), "xyz", "static")
    with pytest.raises(InputError, match="expressed_in"):
        euler.euler_rate_to_angular_velocity([0.0, 0.0, 0.0], "xyz", "inertial")
