"""Functions in JAX and PyTorch: our own numbers and gradients. Skipped where not installed."""

from __future__ import annotations

import sys
from typing import Any

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from compiler.bridges.learning_packages import Jax, Torch, bridge
from helicoid.compiler.evaluation.compiled import set_compile


@pytest.fixture(scope="module", params=[Jax, Torch], ids=["jax", "torch"])
def package(request: pytest.FixtureRequest) -> Any:
    return request.param()


# New ones for each test: what a bridge has compiled, it keeps.
@pytest.fixture(params=["panda", "quadruped"])
def robot(request: pytest.FixtureRequest) -> Any:
    return hc.load(request.param, base="floating" if request.param == "quadruped" else "fixed")


@pytest.fixture
def chain() -> Any:
    return hc.serial_chain(2)


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.needs_compiler)], ids=["", "compiled"])
def maybe_compiled(request: pytest.FixtureRequest) -> None:
    set_compile(request.param)


def random_motion(robot: Any, rng: np.random.Generator, n: int | None = None) -> list[Any]:
    lead = () if n is None else (n,)
    q = robot.random(rng) if n is None else np.stack([robot.random(rng) for _ in range(n)])
    return [q, *rng.normal(size=(2, *lead, robot.nv))]


@pytest.mark.parametrize("missing", ["jax", "torch"])
def test_the_error_names_the_extra(missing: str, chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(hc.HelicoidError, match=rf"pip install 'helicoid\[{missing}\]'"):
        getattr(chain.gravity.with_options(gravity=(0, 0, -1)), missing)()


class TestValues:
    def test_are_ours(self, package: Any, robot: Any, rng: np.random.Generator, maybe_compiled: None) -> None:
        f = robot.inverse_dynamics
        for n in (None, 1, 9):
            values = random_motion(robot, rng, n)
            result = bridge(package, f)(*map(package.array, values))
            np.testing.assert_allclose(result, f(*values), rtol=1e-12, atol=1e-12)

    def test_axes_in_front_broadcast(self, package: Any, chain: Any, rng: np.random.Generator) -> None:
        q, v, a = rng.normal(size=(4, 1, 3, 2)), rng.normal(size=(5, 1, 2)), rng.normal(size=2)
        result = bridge(package, chain.inverse_dynamics)(q, v, a=a)
        whole = [np.broadcast_to(x, (4, 5, 3, 2)).reshape(-1, 2) for x in (q, v, a)]
        np.testing.assert_allclose(result, chain.inverse_dynamics(*whole).reshape(4, 5, 3, 2), rtol=1e-13)

    def test_no_samples(self, package: Any, chain: Any) -> None:
        none = package.array(np.zeros((0, 2)))
        assert bridge(package, chain.inverse_dynamics)(none, none, np.zeros(2)).shape == (0, 2)

    def test_several_outputs_and_three_axes(self, package: Any, chain: Any, rng: np.random.Generator) -> None:
        f = chain.mass_matrix.jacobian("q")
        q = rng.normal(size=(3, 2))
        np.testing.assert_allclose(bridge(package, f)(package.array(q)), f(q), rtol=1e-13)
        several = chain.inverse_dynamics_derivatives
        results = bridge(package, several)(*(package.array(q) for _ in range(3)))
        assert results._fields == several(q, q, q)._fields
        for ours, theirs in zip(several(q, q, q), results, strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=1e-12, atol=1e-14)

    def test_float32_is_computed_in_double(
        self, package: Any, chain: Any, rng: np.random.Generator, maybe_compiled: None
    ) -> None:
        values = rng.normal(size=(3, 7, 2)).astype(np.float32)
        result = bridge(package, chain.inverse_dynamics)(*(package.array(x, np.float32) for x in values))
        ours = chain.inverse_dynamics(*values.astype(np.float64))
        assert str(result.dtype).endswith("float32")
        np.testing.assert_array_equal(np.asarray(result), ours.astype(np.float32))


class TestGradients:
    def test_are_ours_and_those_of_differences(
        self, package: Any, robot: Any, rng: np.random.Generator, maybe_compiled: None
    ) -> None:
        f, values, w = robot.inverse_dynamics, random_motion(robot, rng), rng.normal(size=robot.nv)
        g, weights = bridge(package, f), package.array(w)
        found = package.gradient(lambda *xs: (g(*xs) * weights).sum(), [package.array(x) for x in values])
        found = [np.asarray(x) for x in found]
        N = np.array(robot.tangent(values[0])) if robot.nq != robot.nv else np.eye(robot.nv)
        for ours, theirs in zip(f.vjp()(*values, w), [N.T @ found[0], *found[1:]], strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=1e-11, atol=1e-11)
        step = 1e-6  # along the entries of q, a quaternion's four included
        for k in range(robot.nq):
            ends = [values[0] + s * step * np.eye(robot.nq)[k] for s in (1, -1)]
            slope = np.subtract(*(f(q, *values[1:]) @ w for q in ends)) / (2 * step)
            assert found[0][k] == pytest.approx(slope, rel=1e-6, abs=1e-6)

    def test_of_what_samples_share_is_the_sum(
        self, package: Any, rng: np.random.Generator, maybe_compiled: None
    ) -> None:
        robot = hc.serial_chain(2).parametric("inertia")
        f, theta = robot.inverse_dynamics, np.asarray(robot.theta)
        q, v, a, w = rng.normal(size=(4, 6, 2))
        g, weights = bridge(package, f), package.array(w)

        def loss(theta: Any) -> Any:
            return (g(*map(package.array, (q, v, a)), theta) * weights).sum()

        (found,) = package.gradient(loss, [package.array(theta)])
        ours = f.vjp("theta")(q, v, a, theta, w).sum(axis=0)
        np.testing.assert_allclose(np.asarray(found), ours, rtol=1e-11, atol=1e-12)

    def test_of_gradients(
        self, package: Any, chain: Any, rng: np.random.Generator, maybe_compiled: None
    ) -> None:
        q, v, a, w = rng.normal(size=(4, 2))
        g, (v_, a_, w_) = bridge(package, chain.inverse_dynamics), map(package.array, (v, a, w))
        found = package.second(lambda q: (g(q, v_, a_) * w_).sum(), package.array(q))
        ours = np.einsum("k,kij->ij", w, chain.inverse_dynamics.hessian("q")(q, v, a))
        np.testing.assert_allclose(np.asarray(found), ours, rtol=1e-11, atol=1e-11)

    def test_of_float32_are_float32(self, package: Any, chain: Any, rng: np.random.Generator) -> None:
        values = rng.normal(size=(3, 2)).astype(np.float32)
        g = bridge(package, chain.inverse_dynamics)
        found = package.gradient(lambda *xs: g(*xs).sum(), [package.array(x, np.float32) for x in values])
        ours = chain.inverse_dynamics.vjp()(*values.astype(np.float64), np.ones(2))
        for one, other in zip(found, ours, strict=True):
            assert str(one.dtype).endswith("float32")
            np.testing.assert_array_equal(np.asarray(one), other.astype(np.float32))


class TestVmap:
    def test_nested_over_different_inputs(
        self, package: Any, chain: Any, rng: np.random.Generator, maybe_compiled: None
    ) -> None:
        q, v, a = rng.normal(size=(4, 2)), rng.normal(size=(3, 2)), rng.normal(size=2)
        g = bridge(package, chain.inverse_dynamics)
        both = package.vmap(package.vmap(g, (None, 0, None)), (0, None, None))
        result = np.asarray(both(*map(package.array, (q, v, a))))
        ours = [[chain.inverse_dynamics(one, other, a) for other in v] for one in q]
        np.testing.assert_allclose(result, ours, rtol=1e-12, atol=1e-13)

    def test_around_a_batch(self, package: Any, chain: Any, rng: np.random.Generator) -> None:
        q, v, a = rng.normal(size=(5, 2)), rng.normal(size=(3, 4, 2)), rng.normal(size=(2, 3))
        g = bridge(package, chain.inverse_dynamics)
        result = np.asarray(package.vmap(g, (None, 0, 1))(*map(package.array, (q[:4], v, a))))
        ours = [chain.inverse_dynamics(q[:4], v[k], a[:, k]) for k in range(3)]
        np.testing.assert_allclose(result, ours, rtol=1e-12, atol=1e-13)

    def test_of_gradients(
        self, package: Any, chain: Any, rng: np.random.Generator, maybe_compiled: None
    ) -> None:
        q, v, a = rng.normal(size=(3, 6, 2))
        g = bridge(package, chain.inverse_dynamics)
        grad = package.jax.grad if package.name == "jax" else package.torch.func.grad
        result = package.vmap(grad(lambda *xs: g(*xs).sum()))(*map(package.array, (q, v, a)))
        ours = chain.inverse_dynamics.vjp("q")(q, v, a, np.ones(2))
        np.testing.assert_allclose(np.asarray(result), ours, rtol=1e-12, atol=1e-12)


class TestWrongInput:
    def test_shapes(self, package: Any, chain: Any) -> None:
        g = bridge(package, chain.inverse_dynamics)
        with pytest.raises(hc.HelicoidError, match=r"input 'v' must have shape \(2,\).*got \(3,\)"):
            g(np.zeros(2), np.zeros(3), np.zeros(2))
        with pytest.raises(hc.HelicoidError, match=r"do not fit together: 'q' \(4,\), 'v' \(3,\)"):
            g(np.zeros((4, 2)), np.zeros((3, 2)), np.zeros(2))
        with pytest.raises(hc.HelicoidError, match="missing 'a'"):
            g(np.zeros(2), np.zeros(2))

    def test_kinds(self, package: Any, chain: Any) -> None:
        g = bridge(package, chain.gravity)
        for wrong in (package.array([1, 2], complex), package.array([1, 0], bool)):
            with pytest.raises(hc.HelicoidError, match="input 'q' must be real numbers; got"):
                g(wrong)
        with pytest.raises(hc.HelicoidError, match="input 'q' must be"):
            g("rest")

    def test_whole_numbers_are_numbers(self, package: Any, chain: Any) -> None:
        result = bridge(package, chain.gravity)(package.array([1, 2], int))
        assert str(result.dtype).endswith("float64")
        np.testing.assert_allclose(np.asarray(result), chain.gravity([1, 2]), rtol=1e-13)


def test_scalars(package: Any) -> None:
    x = ca.SX.sym("x")
    f = hc.Function.from_expressions("f", {"x": x}, {"y": x**3})
    (found,) = package.gradient(bridge(package, f), [package.array(2.0)])
    assert float(found) == 12.0
