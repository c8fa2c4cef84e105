"""The virtual machine behind a function, from many threads at once."""

from __future__ import annotations

import threading

import casadi as ca
import numpy as np
import pytest

from helicoid.compiler.evaluation.evaluator import VirtualMachineEvaluator
from helicoid.compiler.evaluation.interpreted import interpreted
from helicoid.compiler.function import Function, Input, Output


def long_function() -> Function:
    """Several hundred operations, so that CasADi lets other threads run in the middle of a call."""
    x, y = ca.SX.sym("x", 4), ca.SX.sym("y", 4)
    z = x
    for _ in range(60):
        z = ca.sin(z) + ca.cos(y) * z[::-1] / (1 + y**2)
    return Function(
        "long",
        [Input("x", (4,)), Input("y", (4,))],
        [Output("z", (4,)), Output("outer", (4, 4))],
        lambda: ([x, y], [z, z @ x.T]),
    )


def run_threads(work, count: int) -> None:
    """Start all threads together; raise the first failure of any of them."""
    failures, barrier = [], threading.Barrier(count)

    def guarded(k):
        try:
            barrier.wait()
            work(k)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.slow
def test_threads_do_not_disturb_each_other():
    """Eight threads build, call, call in batches and with out=; all results equal those of one thread."""
    n_threads, n_samples, reference = 8, 300, long_function()
    samples = np.random.default_rng(0).normal(size=(n_threads, 2, n_samples, 4))
    expected = [
        [reference.casadi(x, y) for x, y in zip(samples[k, 0], samples[k, 1], strict=True)]
        for k in range(n_threads)
    ]
    f = long_function()  # not built yet: the threads race for that too

    def work(k):
        X, Y = samples[k]
        out = (np.empty(4), np.empty((4, 4)))
        for _ in range(5):
            batch = f(X, Y)
            for s in range(n_samples):
                z, outer = (np.array(value) for value in expected[k][s])
                single = f(X[s], Y[s]) if s % 2 else f(X[s], Y[s], out=out)
                np.testing.assert_array_equal(single[0], z[:, 0])
                np.testing.assert_array_equal(single[1], outer)
                np.testing.assert_array_equal(batch.z[s], z[:, 0])
                np.testing.assert_array_equal(batch.outer[s], outer)

    run_threads(work, n_threads)


def test_machines_are_reused():
    """The number of machines follows the number of threads at once, not the number of calls."""
    x = ca.SX.sym("x", 2)
    evaluator = VirtualMachineEvaluator(ca.Function("f", [x], [3 * x]), [(2,)], [(2,)])
    for n in (1, 17, 300):
        out = np.empty((n, 2))
        evaluator.evaluate_batch([np.ones((n, 2))], [out], n)
        np.testing.assert_array_equal(out, np.full((n, 2), 3.0))
    for _ in range(10):
        evaluator.evaluate([np.ones(2)], [out[0]])
    assert len(evaluator._idle) == 1
    assert [len(pool) for pool in evaluator._idle_blocks.values()] == [1, 1, 1]


def test_evaluators_die_in_peace():
    """CasADi crashes when a buffer dies before what evaluates it; make and drop many."""
    x = ca.SX.sym("x", 2)
    function = ca.Function("f", [x], [3 * x])
    for k in range(300):
        out = np.empty((20, 2))
        evaluator = VirtualMachineEvaluator(function, [(2,)], [(2,)])
        evaluator.evaluate([np.full(2, float(k))], [out[0]])
        assert out[0, 1] == 3 * k
        evaluator.evaluate_batch([np.full(2, float(k))], [out], 20)
        np.testing.assert_array_equal(out, np.full((20, 2), 3.0 * k))
        del evaluator


def test_what_is_computed_once_is_not_compiled() -> None:
    """One sample and a batch without compiled code, equal to what compiled code gives but for rounding."""
    once, compiled, rng = long_function(), long_function(), np.random.default_rng(0)
    x, y = rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    one, many = interpreted(once, x[0], y[0]), interpreted(once, x, y[0])
    assert once._numeric.evaluator is None
    assert one.z.shape == (4,) and many.outer.shape == (5, 4, 4)
    for mine, other in ((one, compiled(x[0], y[0])), (many, compiled(x, y[0]))):
        np.testing.assert_allclose(mine.z, other.z, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mine.outer, other.outer, rtol=1e-9, atol=1e-12)
