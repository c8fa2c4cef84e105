"""Jacobians and time derivatives, against differences along the motion and closed forms."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.random_graphs import graphs

import helicoid as hc
from helicoid._typing import Array
from helicoid.compiler.evaluation.compiled import CompiledEvaluator
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


def base_height_energy() -> Function:
    """Something of a floating robot with a quaternion, a vector and a number among its outputs."""
    robot = hc.load("double_pendulum", base="floating")
    q, v = ca.SX.sym("q", robot.nq), ca.SX.sym("v", robot.nv)
    own = robot.inverse_dynamics.inputs[0]
    outputs = {"E": robot.kinetic_energy(q, v), "g": robot.gravity(q), "M": robot.mass_matrix(q)}
    shapes = {"E": (), "g": (robot.nv,), "M": (robot.nv, robot.nv)}
    return Function.from_expressions(
        "floating",
        [(own, q), (Input("v", (robot.nv,)), v)],
        [(Output(name, shapes[name]), value) for name, value in outputs.items()],
    )


def values_for(function: Function, rng: np.random.Generator) -> list[Array]:
    values = [rng.uniform(-0.9, 0.9, item.shape) for item in function.inputs]
    for item, value in zip(function.inputs, values, strict=True):
        if item.tangent is not None:
            value[3:7] /= np.linalg.norm(value[3:7])
    return values


def check_products(
    function: Function, names: list[str], rng: np.random.Generator, rtol: float = 1e-11
) -> None:
    """J u by jvp, and wᵀ J by vjp, against the Jacobian that is formed."""
    values = values_for(function, rng)
    along = [item for item in function.inputs if item.name in names]
    jacobian = iter(_several(function, names, values))
    u = [rng.normal(size=item.rate_shape) for item in along]
    w = [rng.normal(size=item.shape) for item in function.outputs]
    pushed = [np.zeros(item.shape) for item in function.outputs]
    pulled = [np.zeros(item.rate_shape) for item in along]
    for i, output in enumerate(function.outputs):
        for k, item in enumerate(along):
            J = np.reshape(next(jacobian), (int(np.prod(output.shape)), int(np.prod(item.rate_shape))))
            pushed[i] = pushed[i] + (J @ np.ravel(u[k])).reshape(output.shape)
            pulled[k] = pulled[k] + (np.ravel(w[i]) @ J).reshape(item.rate_shape)
    for found, wanted in (
        (function.jvp(*names)(*values, *u), pushed),
        (function.vjp(*names)(*values, *w), pulled),
    ):
        for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
            scale = 1 + np.max(np.abs(other), initial=0.0)
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * scale)


def _several(function: Function, names: list[str], values: list[Array]) -> list[Any]:
    result = function.jacobian(*names)(*values)
    return list(result) if isinstance(result, tuple) else [result]


@given(graphs(max_nodes=25), st.integers(0, 2**32 - 1))
def test_products_with_the_jacobian_of_random_graphs(graph: ca.Function, seed: int) -> None:
    sizes = [(graph.numel_in(k),) for k in range(graph.n_in())]
    inputs = [Input(f"x{k}", shape) for k, shape in enumerate(sizes)]
    outputs = [Output(f"y{k}", (graph.numel_out(k),)) for k in range(graph.n_out())]
    function = Function("graph", inputs, outputs, graph)
    check_products(function, [item.name for item in inputs], np.random.default_rng(seed), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
@pytest.mark.parametrize("names", [["q"], ["v"], ["q", "v"]])
def test_products_with_the_jacobian_of_a_floating_robot(names: list[str], rng: np.random.Generator) -> None:
    check_products(base_height_energy(), names, rng)


def test_products_of_matrices(rng: np.random.Generator) -> None:
    A, B = ca.SX.sym("A", 2, 3), ca.SX.sym("B", 3, 2)
    function = Function.from_expressions("product", {"A": A, "B": B}, {"C": A @ B, "t": ca.trace(A @ B)})
    check_products(function, ["A", "B"], rng)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
@pytest.mark.needs_compiler
def test_products_are_compiled_and_batched(rng: np.random.Generator) -> None:
    hc.set_compile(True)
    robot = hc.load("double_pendulum", base="floating")
    jvp, vjp = robot.inverse_dynamics.jvp("q"), robot.inverse_dynamics.vjp("q")
    Q, V, A, D = robot.random(rng, size=5), *rng.normal(size=(3, 5, robot.nv))
    J = robot.inverse_dynamics.jacobian("q")(Q, V, A)
    np.testing.assert_allclose(jvp(Q, V, A, D), np.einsum("nij,nj->ni", J, D), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(vjp(Q, V, A, D), np.einsum("nij,ni->nj", J, D), rtol=1e-10, atol=1e-10)
    assert isinstance(jvp._numeric.evaluator, CompiledEvaluator) and isinstance(
        vjp._numeric.evaluator, CompiledEvaluator
    )


def test_names_of_vectors_do_not_collide() -> None:
    v, dv = ca.SX.sym("v", 2), ca.SX.sym("dv", 2)
    function = Function.from_expressions("f", {"v": v, "dv": dv}, {"y": ca.dot(v, dv)})
    assert [item.name for item in function.jvp().inputs] == ["v", "dv", "dv_", "ddv"]
    with pytest.raises(InputError, match="no input 'x' to differentiate by"):
        function.vjp("x")


def test_the_hessian_on_a_manifold_is_that_of_the_motion(rng: np.random.Generator) -> None:
    """d²y/dt² along q exp(t w) for constant w, and symmetric in the two directions."""
    function = rotated()
    d2y, mixed, straight, d2R, *_ = function.hessian("q", "u")(Q, U)
    assert d2y.shape == (3, 3, 3) and mixed.shape == (3, 3, 3) and d2R.shape == (3, 3, 3, 3)
    np.testing.assert_allclose(d2y, np.swapaxes(d2y, 1, 2), atol=1e-14)
    h = 1e-4
    for w in rng.normal(size=(3, 3)):
        ends = [function(moved(Q, t * w), U)[0] for t in (-h, 0.0, h)]
        wanted = (ends[0] - 2 * ends[1] + ends[2]) / h**2
        np.testing.assert_allclose(np.einsum("kij,i,j->k", d2y, w, w), wanted, atol=1e-6)
    np.testing.assert_allclose(straight, 0.0, atol=1e-14)
    np.testing.assert_allclose(mixed, function.jacobian("q").jacobian("u")(Q, U)[0], atol=1e-12)


def test_the_hessian_of_flat_inputs_is_the_jacobian_of_the_jacobian(rng: np.random.Generator) -> None:
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y")
    result = ca.vertcat(ca.sin(x[0] * x[1]) * y, x[2] ** 3 + y * ca.exp(x[0]))
    function = Function.from_expressions("f", {"x": x, "y": y}, {"z": result, "s": ca.dot(x, x) * y})
    values = rng.normal(size=3), 0.7
    second = function.hessian()(*values)
    assert second._fields == ("d2z_dx_dx", "d2z_dx_dy", "d2z_dy_dy", "d2s_dx_dx", "d2s_dx_dy", "d2s_dy_dy")
    twice = function.jacobian("x").jacobian("x", "y")(*values)
    for name, wanted in (("d2z_dx_dx", "ddz_dx_dx"), ("d2z_dx_dy", "ddz_dx_dy"), ("d2s_dx_dx", "dds_dx_dx")):
        np.testing.assert_allclose(getattr(second, name), getattr(twice, wanted), rtol=1e-13, atol=1e-14)
