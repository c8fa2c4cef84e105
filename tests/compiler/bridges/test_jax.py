"""Properties of the JAX bridge alone: double precision, jit, and executables of other processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.compiler.build.binding import get_num_threads
from helicoid.compiler.evaluation.compiled import set_compile

jax = pytest.importorskip("jax", reason="jax is not installed: pip install 'helicoid[jax]'")


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    jax.config.update("jax_enable_x64", True)


def test_single_precision_is_refused_in_words() -> None:
    g = hc.serial_chain(2).gravity.jax()
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(hc.HelicoidError, match=r'jax.config.update\("jax_enable_x64", True\)'):
        g(np.zeros(2))


@pytest.mark.needs_compiler
def test_xla_calls_compiled_code_where_there_is_some() -> None:
    for on, wanted in ((True, "helicoid_call"), (False, "callback")):
        set_compile(on)
        g = hc.serial_chain(2).gravity.jax()
        assert wanted in jax.jit(g).lower(np.zeros(2)).as_text()


@pytest.mark.needs_compiler
def test_in_a_loop_of_xla_with_a_gradient_through_time() -> None:
    set_compile(True)
    robot = hc.serial_chain(2)
    acceleration, dt = robot.forward_dynamics.jax(), 0.01

    def end(torque: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            q, v = state
            v = v + dt * acceleration(q, v, torque)
            return (q + dt * v, v), None

        return jax.lax.scan(step, (np.zeros(2), np.zeros(2)), length=20)[0][0].sum()

    torque = np.array([0.3, -0.2])
    found = jax.jit(jax.grad(end))(torque)
    for k in range(2):
        ends = [torque + s * 1e-6 * np.eye(2)[k] for s in (1, -1)]
        assert found[k] == pytest.approx(float(end(ends[0]) - end(ends[1])) / 2e-6, rel=1e-6)


@pytest.mark.needs_compiler
def test_threads_follow_the_setting() -> None:
    set_compile(True)
    robot = hc.serial_chain(4)
    values = np.random.default_rng(0).normal(size=(3, 20_000, 4))
    before, g = get_num_threads(), robot.inverse_dynamics.jax()
    try:
        results = []
        for n in (1, 3):
            hc.set_num_threads(n)
            results.append(np.asarray(g(*values)))
    finally:
        hc.set_num_threads(before)
    np.testing.assert_array_equal(*results)
    np.testing.assert_array_equal(results[0], robot.inverse_dynamics(*values))


@pytest.mark.needs_compiler
def test_a_kernel_that_is_not_here_is_an_error_not_a_crash() -> None:
    from helicoid.compiler.bridges.xla_ffi import TARGET

    set_compile(True)
    hc.serial_chain(2).gravity.jax()(np.zeros(2))
    results = (jax.ShapeDtypeStruct((2,), np.float64),)
    call = jax.ffi.ffi_call(TARGET, results)
    with pytest.raises(Exception, match=r"made in another process"):
        jax.block_until_ready(call(jax.numpy.zeros(2), kernel=np.int64(1), rank=np.int64(1)))
