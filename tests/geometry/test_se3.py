"""SE(3): group axioms, scipy's expm and logm, Jacobians against AD, screws, product of exponentials."""

import casadi as ca
import numpy as np
import pytest
from geometry_support import (
    SPECIAL_ANGLES,
    derivatives,
    flatten,
    poses,
    quick,
    rate,
    rotation_vectors,
    twists,
    unit_vectors,
    vectors,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm, logm

from helicoid.errors import InputError
from helicoid.geometry import se3, so3, spatial

BASIS = [se3.hat(e) for e in np.eye(6)]
TWIST = np.array([0.3, -0.4, 0.5, 1.0, -2.0, 3.0])


@quick
@given(poses, poses, vectors(3))
def test_pose_maps_points_and_inverse_undoes_it(a, b, x):
    assert np.allclose(a @ se3.inverse(a), np.eye(4), atol=1e-13)
    assert np.allclose(se3.inverse(a @ b), se3.inverse(b) @ se3.inverse(a), atol=1e-12)
    assert np.allclose((a @ [*x, 1.0])[:3], se3.rotation(a) @ x + se3.translation(a), atol=1e-13)
    assert np.array_equal(se3.pose(se3.rotation(a), se3.translation(a)), a)


@quick
@given(twists(largest=20.0))
def test_exp_is_the_matrix_exponential(xi):
    assert np.array_equal(se3.vee(se3.hat(xi)), xi)
    assert np.allclose(se3.exp(xi), expm(se3.hat(xi)), atol=1e-12)


@quick
@given(twists())
def test_log_undoes_exp(xi):
    assert np.allclose(se3.log(se3.exp(xi)), xi, rtol=1e-13, atol=1e-13)
    assert np.allclose(se3.exp(-xi), se3.inverse(se3.exp(xi)), atol=1e-13)


def test_log_is_the_matrix_logarithm():
    assert np.allclose(se3.hat(se3.log(se3.exp(TWIST))), logm(se3.exp(TWIST)).real, atol=1e-12)


@quick
@given(poses, poses, twists(), vectors(6))
def test_adjoint(a, b, xi, wrench):
    assert np.allclose(se3.adjoint(a @ b), se3.adjoint(a) @ se3.adjoint(b), atol=1e-11)
    assert np.allclose(se3.adjoint(se3.inverse(a)) @ se3.adjoint(a), np.eye(6), atol=1e-11)
    assert np.allclose(se3.hat(se3.adjoint(a) @ xi), a @ se3.hat(xi) @ se3.inverse(a), atol=1e-11)
    # Power does not depend on the frame it is reckoned in.
    power = (se3.dual_adjoint(a) @ wrench) @ (se3.adjoint(a) @ xi)
    assert power == pytest.approx(wrench @ xi, abs=1e-9)


@quick
@given(twists(), vectors(6, 1.0))
def test_the_adjoint_of_exp_is_the_exponential_of_the_motion_cross_product(xi, other):
    assert np.allclose(se3.adjoint(se3.exp(xi)), expm(spatial.motion_cross(xi)), atol=1e-11)
    bracket = se3.hat(xi) @ se3.hat(other) - se3.hat(other) @ se3.hat(xi)
    assert np.allclose(se3.hat(spatial.motion_cross(xi) @ other), bracket, atol=1e-12)


@quick
@given(twists(largest=6.0), vectors(6, 1.0))
def test_jacobians_are_the_derivative_of_exp(xi, xi_dot):
    transform, transform_dot = se3.exp(xi), rate(se3.exp, xi, xi_dot)
    assert np.allclose(transform_dot, se3.hat(se3.left_jacobian(xi) @ xi_dot) @ transform, atol=1e-12)
    assert np.allclose(transform_dot, transform @ se3.hat(se3.right_jacobian(xi) @ xi_dot), atol=1e-12)


@quick
@given(twists(largest=6.0))
def test_left_jacobian_is_the_series_in_the_motion_cross_product(xi):
    """𝒥 = Σ ad^k/(k + 1)!, read off a matrix exponential: an oracle without AD, down to tiny angles."""
    ad = spatial.motion_cross(xi)
    series = expm(np.block([[ad, np.eye(6)], [np.zeros((6, 12))]]))[:6, 6:]
    assert np.allclose(se3.left_jacobian(xi), series, atol=1e-12)


@quick
@given(twists(largest=5.5))
def test_inverse_jacobians(xi):
    assert np.allclose(se3.left_jacobian_inverse(xi) @ se3.left_jacobian(xi), np.eye(6), atol=1e-11)
    assert np.allclose(se3.right_jacobian(xi) @ se3.right_jacobian_inverse(xi), np.eye(6), atol=1e-11)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5, 1e-3, 0.1])
def test_the_corner_of_the_jacobian_keeps_its_digits_at_small_angles(angle):
    """Q = v^/2 + (ω^ v^ + v^ ω^)/6 + …: the terms in ω survive to full relative accuracy."""
    w, v = angle * np.array([0.6, 0.0, 0.8]), np.array([1.0, -2.0, 3.0])
    corner = se3.left_jacobian(np.concatenate([w, v]))[3:, :3]
    first = (so3.hat(w) @ so3.hat(v) + so3.hat(v) @ so3.hat(w)) / 6
    assert np.allclose((corner - so3.hat(v) / 2), first, rtol=0, atol=angle**2 + 2e-16)


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_two_derivatives_of_exp_at_zero_are_those_of_the_series(kind):
    value, jacobian, hessian = derivatives(se3.exp, np.zeros(6), kind)
    assert np.array_equal(value, flatten(np.eye(4)))
    for i in range(6):
        assert np.array_equal(jacobian[:, i], flatten(BASIS[i]))
        for j in range(6):
            expected = flatten(BASIS[i] @ BASIS[j] + BASIS[j] @ BASIS[i]) / 2
            assert np.allclose(hessian[:, i, j], expected, rtol=0, atol=1e-16)


@pytest.mark.parametrize(
    ("function", "first", "second"),
    [(se3.left_jacobian, 1 / 2, 1 / 6), (se3.left_jacobian_inverse, -1 / 2, 1 / 12)],
)
def test_two_derivatives_of_the_jacobians_at_zero(function, first, second):
    ads = [spatial.motion_cross(e) for e in np.eye(6)]
    _, jacobian, hessian = derivatives(function, np.zeros(6))
    for i in range(6):
        assert np.allclose(jacobian[:, i], first * flatten(ads[i]), rtol=0, atol=1e-16)
        for j in range(6):
            expected = second * flatten(ads[i] @ ads[j] + ads[j] @ ads[i])
            assert np.allclose(hessian[:, i, j], expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("angle", SPECIAL_ANGLES)
def test_log_of_exp_is_the_identity_in_two_derivatives(angle):
    xi = np.concatenate([angle * np.array([-0.48, 0.6, 0.64]), [1.0, -2.0, 3.0]])
    value, jacobian, hessian = derivatives(lambda x: se3.log(se3.exp(x)), xi)
    assert np.allclose(value, xi, rtol=1e-14, atol=1e-15)
    assert np.allclose(jacobian, np.eye(6), atol=1e-11)
    assert np.allclose(hessian, 0.0, atol=1e-10)


@quick
@given(unit_vectors(), vectors(3), st.floats(-5.0, 5.0), st.floats(0.1, 3.0))
def test_screw_and_twist_both_ways(axis, point, pitch, magnitude):
    screw = se3.screw_from_twist(magnitude * se3.twist_from_screw(2.0 * axis, point, pitch))
    assert np.allclose(screw.axis, axis)
    assert (screw.pitch, screw.magnitude) == pytest.approx((pitch, magnitude), abs=1e-12)
    assert np.allclose(np.cross(screw.point - point, axis), 0.0, atol=1e-11)
    assert abs(screw.point @ axis) < 1e-11


@quick
@given(unit_vectors(), vectors(3), st.floats(-5.0, 5.0), st.floats(-3.0, 3.0))
def test_a_screw_motion_slides_its_axis_along_itself(axis, point, pitch, angle):
    motion = se3.exp(angle * se3.twist_from_screw(axis, point, pitch))
    assert np.allclose(motion @ [*point, 1.0], [*(point + pitch * angle * axis), 1.0], atol=1e-12)
    assert np.allclose(se3.rotation(motion), so3.from_angle_axis(angle, axis), atol=1e-13)


@quick
@given(unit_vectors(), vectors(3), st.floats(0.1, 3.0))
def test_pure_translation_is_a_screw_of_infinite_pitch(axis, point, magnitude):
    twist = magnitude * se3.twist_from_screw(axis, point, np.inf)
    assert np.allclose(se3.exp(twist), se3.pose(np.eye(3), magnitude * axis))
    screw = se3.screw_from_twist(twist)
    assert screw.pitch == np.inf
    assert screw.magnitude == pytest.approx(magnitude)
    assert np.allclose(screw.axis, axis)
    assert np.array_equal(screw.point, np.zeros(3))


def test_the_screw_of_symbols_decides_when_called():
    x = ca.SX.sym("x", 6)
    function = ca.Function("screw", [x], list(se3.screw_from_twist(x)))
    for twist in (TWIST, np.array([0.0, 0.0, 0.0, 3.0, 0.0, 4.0]), np.zeros(6)):
        for symbolic, numeric in zip(function(twist), se3.screw_from_twist(twist), strict=True):
            assert np.allclose(symbolic.full().squeeze(), numeric, rtol=1e-15)


@quick
@given(st.lists(st.tuples(rotation_vectors(3.0), vectors(3, 2.0)), min_size=1, max_size=4), st.data())
def test_product_of_exponentials_is_the_chain_of_relative_motions(placements, data):
    """The same chain joint by joint: fixed placement, then a turn about the local z axis."""
    q = data.draw(vectors(len(placements), 3.0))
    home, tip, screws = np.eye(4), np.eye(4), []
    for (r, p), angle in zip(placements, q, strict=True):
        placement = se3.pose(so3.exp(r), p)
        home = home @ placement
        tip = tip @ placement @ se3.exp([0.0, 0.0, angle, 0.0, 0.0, 0.0])
        screws.append(se3.twist_from_screw(home[:3, 2], home[:3, 3], 0.0))
    assert np.allclose(se3.product_of_exponentials(np.column_stack(screws), q, home), tip, atol=1e-12)


def test_product_of_exponentials_checks_its_screws():
    with pytest.raises(InputError, match=r"screws has shape \(2, 6\)"):
        se3.product_of_exponentials(np.zeros((2, 6)), np.zeros(2), np.eye(4))
    with pytest.raises(InputError, match="q has shape"):
        se3.product_of_exponentials(np.zeros((6, 2)), np.zeros(3), np.eye(4))
