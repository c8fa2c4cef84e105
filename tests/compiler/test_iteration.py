"""Repeating a function on its own results: in C and in Python, alone and side by side."""

from __future__ import annotations

import threading

import casadi as ca
import numpy as np
import pytest

from helicoid.compiler.build import binding
from helicoid.compiler.build.binding import CtypesKernel, get_num_threads, set_num_threads
from helicoid.compiler.evaluation.compiled import set_compile
from helicoid.compiler.function import Function, Input, Output
from helicoid.compiler.iteration import Iteration
from helicoid.errors import InputError


def oscillator() -> Function:
    """A step of a damped, driven oscillator: two states, a series and two constants."""
    x, v, u, k, h = ca.SX.sym("x", 3), ca.SX.sym("v", 3), ca.SX.sym("u", 3), ca.SX.sym("k", 3), ca.SX.sym("h")
    v_next = v + h * (u - k * ca.sin(x) - 0.1 * v)
    return Function.from_expressions(
        "oscillator",
        [
            (Input("x", (3,)), x),
            (Input("v", (3,)), v),
            (Input("u", (3,)), u),
            (Input("k", (3,)), k),
            (Input("h", ()), h),
        ],
        [(Output("x", (3,)), x + h * v_next), (Output("v", (3,)), v_next)],
    )


def by_hand(states: list[np.ndarray], u: np.ndarray, k: np.ndarray, h: float, repeats: int) -> None:
    x, v = states
    for row in range(len(x) - 1):
        x_now, v_now = x[row], v[row]
        for _ in range(repeats):
            v_now = v_now + h * (u[row if len(u) > 1 else 0] - k[0] * np.sin(x_now) - 0.1 * v_now)
            x_now = x_now + h * v_now
        x[row + 1], v[row + 1] = x_now, v_now


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("samples", [1, 3, 4, 37, 150])
@pytest.mark.parametrize("repeats", [1, 2, 5])
def test_every_way_gives_what_a_loop_by_hand_gives(
    compiled: bool, samples: int, repeats: int, rng: np.random.Generator
) -> None:
    set_compile(compiled)
    rows = 12
    states = [rng.normal(size=(rows, samples, 3)) for _ in range(2)]
    expected = [state.copy() for state in states]
    for u_shape in ((rows - 1, samples, 3), (rows - 1, 1, 3), (1, samples, 3), (1, 1, 3)):
        u, k = rng.normal(size=u_shape), rng.uniform(1, 2, size=(1, samples, 3))
        by_hand(expected, u, k, 0.01, repeats)
        loop = Iteration(oscillator(), states, [u, k, np.full((1, 1), 0.01)], repeats)
        loop.run(0, 5)
        loop.run(5, rows - 1)
        for state, truth in zip(states, expected, strict=True):
            np.testing.assert_allclose(state, truth, rtol=0, atol=1e-12)


def test_threads_change_nothing(rng: np.random.Generator) -> None:
    set_compile(True)
    first = rng.normal(size=(2, 500, 3))
    u, before, results = rng.normal(size=(1, 500, 3)), get_num_threads(), []
    try:
        for n in (1, 3):
            set_num_threads(n)
            states = [np.zeros((400, 500, 3)) for _ in range(2)]
            states[0][0], states[1][0] = first
            Iteration(oscillator(), states, [u, np.ones((1, 1, 3)), np.full((1, 1), 1e-3)], 2).run(0, 399)
            results.append(states)
    finally:
        set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])


def test_kernels_called_through_ctypes_are_repeated_in_python(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_compile(True)
    monkeypatch.setattr(
        binding,
        "load_kernel",
        lambda paths, inputs, outputs, result_type: CtypesKernel(paths, inputs, outputs),
    )
    for samples in (1, 6):
        states = [rng.normal(size=(5, samples, 3)) for _ in range(2)]
        expected = [state.copy() for state in states]
        u, k = rng.normal(size=(4, samples, 3)), np.ones((1, 1, 3))
        Iteration(oscillator(), states, [u, k, np.full((1, 1), 0.01)], 3).run(0, 4)
        by_hand(expected, u, k, 0.01, 3)
        np.testing.assert_allclose(states, expected, rtol=0, atol=1e-12)


def test_other_threads_run_meanwhile() -> None:
    """Python threads go on while C iterates."""
    set_compile(True)
    states = [np.zeros((2, 1, 3)) for _ in range(2)]
    loop = Iteration(oscillator(), states, [np.ones((1, 1, 3))] * 2 + [np.full((1, 1), 1e-6)], 5_000_000)
    thread = threading.Thread(target=loop.run, args=(0, 1))
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
        thread.join(0.001)
    assert turns > 10


def test_wrong_arrays_are_refused_by_the_kernel_too() -> None:
    set_compile(True)
    f = oscillator().compile()
    x, v, one, h = np.zeros((3, 1, 3)), np.zeros((3, 1, 3)), np.ones((1, 1, 3)), np.ones((1, 1))
    f._kernel.iterate((x, v), (one, one, h), 0, 2, 1)
    wrong = [
        ((x, v), (one, one, h), 0, 3, 1),
        ((x, v), (one, one, h), -1, 2, 1),
        ((x, v), (one, one, h), 0, 2, 0),
        ((x, v[:2]), (one, one, h), 0, 1, 1),
        ((x, x), (one, one, h), 0, 2, 1),
        ((x, v), (x, one, h), 0, 2, 1),
        ((x, v), (np.ones((2, 2, 3)), one, h), 0, 2, 1),
        ((x, v), (one, one), 0, 2, 1),
        ((x, v), (one, one, h.astype(np.float32)), 0, 2, 1),
    ]
    for arguments in wrong:
        with pytest.raises(ValueError, match="iterate takes"):
            f._kernel.iterate(*arguments)


def test_wrong_arrays_are_refused_with_their_names() -> None:
    x, one, h = np.zeros((3, 1, 3)), np.ones((1, 1, 3)), np.ones((1, 1))
    f = oscillator()
    with pytest.raises(
        InputError, match="'u' must be float64, C-contiguous, of shape \\(2 or 1, 1 or 1, 3\\)"
    ):
        Iteration(f, [x, x.copy()], [np.ones((1, 3)), one, h])
    with pytest.raises(InputError, match="takes 3 inputs beside 2 states"):
        Iteration(f, [x, x.copy()], [one, h])
    with pytest.raises(InputError, match="outputs must be the next values"):
        Iteration(f.jacobian("x"), [x], [one])
