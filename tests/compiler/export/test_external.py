"""Compiled functions in CasADi's graphs: the same values, derivatives and solutions as SX gives."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.compiler.export.casadi_external import casadi_external
from helicoid.compiler.function import Function, Input, Output
from helicoid.errors import HelicoidError

pytestmark = pytest.mark.needs_compiler

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler"
)


@pytest.fixture(scope="module", autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELICOID_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def pair() -> tuple[ca.Function, ca.Function]:
    """Two outputs of three inputs, with sparse Jacobians, as SX and compiled."""
    x, y, k = ca.SX.sym("x", 3), ca.SX.sym("y", 2, 2), ca.SX.sym("k")
    a = ca.vertcat(ca.sin(x[0]) * y[0, 1], ca.exp(k * x[2]))
    b = ca.mtimes(y, ca.diag(ca.vertcat(x[1] ** 2, ca.cos(k) + 2)))
    function = Function.from_expressions(
        "exp",  # a name that C has taken
        [(Input("x", (3,)), x), (Input("y", (2, 2)), y), (Input("k", ()), k)],
        [(Output("a", (2,)), a), (Output("b", (2, 2)), b)],
    )
    return function.casadi, casadi_external(function)


def symbols(function: ca.Function) -> list[ca.MX]:
    return [ca.MX.sym(function.name_in(k), *function.size_in(k)) for k in range(function.n_in())]


def evaluated(function: ca.Function, expression: Any) -> Any:
    """Expressions in calls of a function and its derivatives, at a point, in memory that was used before."""
    arguments = symbols(function)
    rng = np.random.default_rng(7)
    values = [rng.uniform(-1, 1, argument.shape) for argument in arguments]
    result = ca.Function("e", arguments, expression(function, arguments))
    result.call([value + 1 for value in values])
    return result.call(values)


def assert_same(pair: tuple[ca.Function, ca.Function], expression: Any) -> None:
    plain, compiled = (evaluated(function, expression) for function in pair)
    for wanted, found in zip(plain, compiled, strict=True):
        assert found.sparsity() == wanted.sparsity()
        np.testing.assert_allclose(np.array(found), np.array(wanted), rtol=1e-12, atol=1e-13)


def test_has_the_same_inputs_and_outputs(pair: tuple[ca.Function, ca.Function]) -> None:
    plain, compiled = pair
    assert compiled.is_a("External")
    for names in ("name_in", "name_out"):
        assert getattr(compiled, names)() == getattr(plain, names)()
    assert [compiled.size_in(k) for k in range(3)] == [plain.size_in(k) for k in range(3)]
    assert [compiled.size_out(k) for k in range(2)] == [plain.size_out(k) for k in range(2)]


def test_values(pair: tuple[ca.Function, ca.Function]) -> None:
    assert_same(pair, lambda f, arguments: f.call(arguments))


def test_jacobians_are_as_sparse(pair: tuple[ca.Function, ca.Function]) -> None:
    def jacobians(f: ca.Function, arguments: list[ca.MX]) -> list[ca.MX]:
        return [ca.jacobian(ca.vec(y), x) for y in f.call(arguments) for x in arguments]

    assert_same(pair, jacobians)


def test_gradient_and_hessian_of_a_scalar(pair: tuple[ca.Function, ca.Function]) -> None:
    def derivatives(f: ca.Function, arguments: list[ca.MX]) -> list[ca.MX]:
        a, b = f.call(arguments)
        objective = ca.sumsqr(a) + ca.sin(ca.sum1(ca.vec(b)))
        return [item for x in arguments for item in ca.hessian(objective, x)]

    assert_same(pair, derivatives)


def test_an_input_that_is_zero_and_an_output_that_is_not_requested(
    pair: tuple[ca.Function, ca.Function],
) -> None:
    """CasADi passes null pointers for both, and so does a buffer for what is not set."""
    plain, compiled = pair
    x, y, a = np.array([0.3, 0.2, 0.1]), np.array([0.5, 0.6, 0.7, 0.8]), np.zeros(2)
    buffer, evaluate = compiled.buffer()
    buffer.set_arg(0, x.data)
    buffer.set_arg(1, y.data)
    buffer.set_res(0, a.data)
    for _ in range(2):  # the second time with what the first left in the scratch memory
        evaluate()
        np.testing.assert_allclose(a, np.array(plain(x, y.reshape(2, 2).T, 0)[0]).ravel(), rtol=1e-14)


@pytest.mark.parametrize("how", [("serial",), ("thread", 4)])
def test_map_serial_and_in_threads(pair: tuple[ca.Function, ca.Function], how: tuple[Any, ...]) -> None:
    rng = np.random.default_rng(8)
    arguments = [rng.uniform(-1, 1, (rows, 200)) for rows in (3, 1)]
    arguments.insert(1, rng.uniform(-1, 1, (2, 400)))
    plain, compiled = (function.map(200, *how).call(arguments) for function in pair)
    for wanted, found in zip(plain, compiled, strict=True):
        np.testing.assert_allclose(np.array(found), np.array(wanted), rtol=1e-12, atol=1e-13)


def test_hessian_through_map(pair: tuple[ca.Function, ca.Function]) -> None:
    def hessian(f: ca.Function, arguments: list[ca.MX]) -> list[ca.MX]:
        x, y, k = arguments
        a, b = f.map(3)(ca.horzcat(x, 2 * x, ca.sin(x)), ca.repmat(y, 1, 3), ca.repmat(k, 1, 3))
        return list(ca.hessian(ca.sumsqr(a) + ca.sumsqr(b), x))

    assert_same(pair, hessian)


def test_ipopt_finds_the_same_solution_with_exact_hessians() -> None:
    """Swing a double pendulum up: collocation by the trapezoidal rule on forward dynamics."""
    robot = hc.load("double_pendulum")
    n, step = 12, 0.1
    dynamics = robot.forward_dynamics
    solutions, iterations = [], []
    for function in (dynamics.casadi, casadi_external(dynamics)):
        q, v, tau = (ca.MX.sym(name, 2, n) for name in ("q", "v", "tau"))
        a = function.map(n)(q, v, tau)
        defects = [
            (x[:, 1:] - x[:, :-1]) - step / 2 * (rate[:, 1:] + rate[:, :-1]) for x, rate in ((q, v), (v, a))
        ]
        ends = [q[:, 0], v[:, 0], q[:, -1] - ca.DM([1.0, 0.5]), v[:, -1]]
        problem = {
            "x": ca.veccat(q, v, tau),
            "f": ca.sumsqr(tau) + ca.sumsqr(a) / 100,
            "g": ca.veccat(*defects, *ends),
        }
        options = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-10}}
        solver = ca.nlpsol("solver", "ipopt", problem, options)
        solutions.append(np.array(solver(x0=0, lbg=0, ubg=0)["x"]))
        assert solver.stats()["success"]
        iterations.append(solver.stats()["iter_count"])
    assert iterations[0] == iterations[1]
    np.testing.assert_allclose(solutions[1], solutions[0], rtol=1e-8, atol=1e-8)


def test_first_order_only_is_enough_for_jacobians() -> None:
    function = hc.load("double_pendulum").inverse_dynamics
    pair = (function.casadi, casadi_external(function, order=1))
    assert_same(pair, lambda f, arguments: [ca.jacobian(f(*arguments), arguments[0])])
    with pytest.raises(RuntimeError):
        assert_same(pair, lambda f, arguments: [ca.hessian(ca.sumsqr(f(*arguments)), arguments[0])[0]])


def test_the_library_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HELICOID_CACHE", str(tmp_path / "cache"))
    x = ca.SX.sym("x", 2)
    function = Function.from_expressions("scaled", {"x": x}, {"y": 3 * ca.sin(x)})
    assert np.array(casadi_external(function)([0.1, 0.2])).shape == (2, 1)
    monkeypatch.setenv("CC", "/nonexistent/compiler")
    assert float(casadi_external(function)([0.1, 0.2])[1]) == pytest.approx(3 * np.sin(0.2))


def test_other_orders_are_refused() -> None:
    with pytest.raises(HelicoidError, match="order is 0, 1 or 2, got 3"):
        casadi_external(hc.load("double_pendulum").gravity, order=3)
