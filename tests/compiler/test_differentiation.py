"""Jacobians and time derivatives, against differences along the motion and closed forms."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from helicoid.compiler.function import Function, Input, Output
from helicoid.errors import HelicoidError, InputError


def product(p, q, stack):
    """Hamilton product of quaternions (w, x, y, z)."""
    return stack(
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


def stack_numpy(*elements):
    return np.array(elements)


def moved(q, w):
    """q exp(w/2): the attitude after turning by the rotation vector w, in body axes."""
    angle = np.linalg.norm(w)
    half = np.concatenate([[np.cos(angle / 2)], np.sinc(angle / 2 / np.pi) / 2 * np.asarray(w)])
    return product(q, half, stack_numpy)


def attitude() -> Input:
    """A unit quaternion: q_dot = 1/2 q (0, w) = N(q) w with the body angular velocity w."""
    q, w = ca.SX.sym("q", 4), ca.SX.sym("w", 3)
    N = ca.jacobian(product(q, ca.vertcat(0, w) / 2, ca.vertcat), w)
    return Input("q", (4,), tangent=ca.Function("N", [q], [N]), rate="w")


def rotated() -> Function:
    """The vector u turned by the attitude q, and the matrix R(q) itself."""
    q, u = ca.SX.sym("q", 4), ca.SX.sym("u", 3)
    conjugate = ca.vertcat(q[0], -q[1:])
    y = product(product(q, ca.vertcat(0, u), ca.vertcat), conjugate, ca.vertcat)[1:]
    return Function.from_expressions(
        "rotated",
        [(attitude(), q), (Input("u", (3,), rate="u_dot"), u)],
        [(Output("y", (3,)), y), (Output("R", (3, 3)), ca.jacobian(y, u))],
    )


Q = np.array([0.5, -0.1, 0.7, 0.5]) / np.linalg.norm([0.5, -0.1, 0.7, 0.5])
U = np.array([0.3, -1.2, 0.8])
W = np.array([0.4, 0.9, -0.6])
W_DOT = np.array([-0.2, 0.5, 0.3])
U_DOT = np.array([1.1, 0.2, -0.5])


def difference(function, h=1e-5):
    """Central difference of function(t) at 0."""
    return (np.asarray(function(h)) - np.asarray(function(-h))) / (2 * h)


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def test_jacobian_on_a_manifold_is_along_the_velocity():
    f = rotated()
    jacobian = f.jacobian("q", "u")
    result = jacobian(Q, U)
    assert result._fields == ("dy_dq", "dy_du", "dR_dq", "dR_du")
    assert [value.shape for value in result] == [(3, 3), (3, 3), (3, 3, 3), (3, 3, 3)]
    for k, direction in enumerate(np.eye(3)):
        y_k = difference(lambda t, d=direction: f(moved(Q, t * d), U).y)
        R_k = difference(lambda t, d=direction: f(moved(Q, t * d), U).R)
        np.testing.assert_allclose(result.dy_dq[:, k], y_k, atol=1e-9)
        np.testing.assert_allclose(result.dR_dq[:, :, k], R_k, atol=1e-9)
    R = f(Q, U).R
    np.testing.assert_allclose(result.dy_dq, -R @ skew(U), atol=1e-14)  # d(R u) = R (w x u)
    np.testing.assert_allclose(result.dy_du, R, atol=1e-14)
    np.testing.assert_array_equal(result.dR_du, np.zeros((3, 3, 3)))


def test_jacobian_of_matrices_scalars_and_tensors():
    A, x, s = ca.SX.sym("A", 2, 3), ca.SX.sym("x", 3), ca.SX.sym("s")
    f = Function.from_expressions(
        "f", {"A": A, "x": x, "s": s}, [(Output("B", (2, 3)), s**2 * A * ca.repmat(x.T, 2, 1))]
    )
    rng = np.random.default_rng(1)
    A, x, s = rng.normal(size=(2, 3)), rng.normal(size=3), 1.7
    first = f.jacobian()(A, x, s)
    assert first._fields == ("dB_dA", "dB_dx", "dB_ds")
    eye2, eye3 = np.eye(2), np.eye(3)
    np.testing.assert_allclose(first.dB_dA, s**2 * np.einsum("ik,jl,j->ijkl", eye2, eye3, x), atol=1e-14)
    np.testing.assert_allclose(first.dB_dx, s**2 * np.einsum("ij,jk->ijk", A, eye3), atol=1e-14)
    np.testing.assert_allclose(first.dB_ds, 2 * s * A * x, atol=1e-14)
    second = f.jacobian("x").jacobian("A")(A, x, s)
    np.testing.assert_allclose(second, s**2 * np.einsum("il,jm,jk->ijklm", eye2, eye3, eye3), atol=1e-14)
    batch = f.jacobian("x")(np.stack([A, 2 * A]), x, s)
    np.testing.assert_allclose(batch, [first.dB_dx, 2 * first.dB_dx], atol=1e-14)


def test_jacobian_is_cached_by_its_names():
    f = rotated()
    assert f.jacobian("q") is f.jacobian("q")
    assert f.jacobian() is f.jacobian("q", "u")
    assert f.jacobian("q") is not f.jacobian("u")
    assert f.jacobian("q", "q") is f.jacobian("q")
    assert f.time_derivative() is f.time_derivative()


def test_jacobian_by_an_unknown_name_is_refused():
    with pytest.raises(InputError, match=r"rotated\(q\[4\], u\[3\]\): has no input 'v' to differentiate by"):
        rotated().jacobian("q", "v")


def test_time_derivative_on_a_manifold():
    """d/dt (R u) = R (w x u + u_dot), and R_dot = R skew(w)."""
    f = rotated()
    derivative = f.time_derivative()
    assert [x.name for x in derivative.inputs] == ["q", "u", "w", "u_dot"]
    assert [x.shape for x in derivative.inputs] == [(4,), (3,), (3,), (3,)]
    result = derivative(Q, U, W, U_DOT)
    assert result._fields == ("y_dot", "R_dot")
    R = f(Q, U).R
    np.testing.assert_allclose(result.y_dot, R @ (np.cross(W, U) + U_DOT), atol=1e-14)
    np.testing.assert_allclose(result.R_dot, R @ skew(W), atol=1e-14)
    np.testing.assert_allclose(
        result.y_dot, difference(lambda t: f(moved(Q, t * W), U + t * U_DOT).y), atol=1e-9
    )


def test_second_time_derivative_on_a_manifold():
    """R_ddot = R (skew(w)^2 + skew(w_dot))."""
    f = rotated()
    second = f.time_derivative().time_derivative()
    assert [x.name for x in second.inputs] == ["q", "u", "w", "u_dot", "w_dot", "u_dot_dot"]
    result = second(q=Q, u=U, w=W, u_dot=U_DOT, w_dot=W_DOT, u_dot_dot=np.zeros(3))
    R = f(Q, U).R
    np.testing.assert_allclose(result.R_dot_dot, R @ (skew(W) @ skew(W) + skew(W_DOT)), atol=1e-14)


def test_rates_that_are_inputs_are_followed_and_constants_stay():
    """y = m a + sin(q) v: y_dot = m a_dot + cos(q) v^2 + sin(q) a, and once more."""
    q, v, a, m = (ca.SX.sym(name) for name in "qvam")
    inputs = [
        (Input("q", (), rate="v"), q),
        (Input("v", (), rate="a"), v),
        (Input("a", (), rate="a_dot"), a),
        (Input("m", ()), m),
    ]
    f = Function.from_expressions("f", inputs, [(Output("y", ()), m * a + ca.sin(q) * v)])
    first = f.time_derivative()
    assert [x.name for x in first.inputs] == ["q", "v", "a", "m", "a_dot"]
    values = {"q": 0.4, "v": -1.3, "a": 0.7, "m": 2.0, "a_dot": 0.9}
    sin, cos = np.sin(0.4), np.cos(0.4)
    assert first(**values) == pytest.approx(2 * 0.9 + cos * 1.3**2 + sin * 0.7, rel=1e-14)
    second = first.time_derivative()
    assert [x.name for x in second.inputs] == ["q", "v", "a", "m", "a_dot", "a_dot_dot"]
    expected = 2 * 0.25 - sin * (-1.3) ** 3 + 3 * cos * -1.3 * 0.7 + sin * 0.9
    assert second(**values, a_dot_dot=0.25) == pytest.approx(expected, rel=1e-14)


def test_a_matrix_input_moves_at_its_rate():
    A, x = ca.SX.sym("A", 2, 3), ca.SX.sym("x", 3)
    f = Function.from_expressions(
        "f", [(Input("A", (2, 3), rate="A_dot"), A), (Input("x", (3,)), x)], [(Output("y", (2,)), A @ x)]
    )
    rng = np.random.default_rng(2)
    A, x, A_dot = rng.normal(size=(2, 3)), rng.normal(size=3), rng.normal(size=(2, 3))
    np.testing.assert_allclose(f.time_derivative()(A, x, A_dot), A_dot @ x, rtol=1e-13)


def test_what_depends_on_constants_only_stands_still():
    m = ca.SX.sym("m", 2)
    f = Function.from_expressions("f", {"m": m}, {"y": m**2})
    np.testing.assert_array_equal(f.time_derivative()([1, 2]), [0, 0])


def test_a_rate_of_the_wrong_shape_is_refused():
    q, w = ca.SX.sym("q", 4), ca.SX.sym("w", 4)
    f = Function.from_expressions("f", [(attitude(), q), (Input("w", (4,)), w)], [(Output("y", (4,)), q + w)])
    message = r"f: input 'w' is the rate of 'q' and must have shape \(3,\); it has \(4,\)"
    with pytest.raises(HelicoidError, match=message):
        f.time_derivative()
