"""Iteration of a function on its own results: x[k+1] = f(x[k], u[k]), many steps in one call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helicoid._typing import Array
from helicoid.compiler.evaluation.background import BackgroundEvaluator
from helicoid.compiler.evaluation.compiled import CompiledEvaluator
from helicoid.compiler.evaluation.evaluator import Evaluator
from helicoid.compiler.function import Function
from helicoid.errors import InputError


class Iteration:
    """Rows of states, each computed from the previous one by calls of a function.

    Args:
        function: its outputs are the next values of its first inputs, the states.
        states: one array (rows, samples, ...) for each state, of which the caller fills row 0. The samples
            are independent rollouts.
        inputs: one array (rows or 1, samples or 1, ...) for each further input: row k acts from row k to
            k + 1, a single row all the time, a single sample on all.
        repeats: calls of the function from one row to the next; intermediate states are not stored.

    Compiled code makes all calls of `run` in C, rollouts in parallel on SIMD lanes and threads, and without
    the GIL. Where nothing is compiled this is a loop in Python. Arrays are float64 and C-contiguous.

    >>> import casadi as ca
    >>> x, u = ca.SX.sym("x"), ca.SX.sym("u")
    >>> f = Function.from_expressions("f", {"x": x, "u": u}, {"x": x / 2 + u})
    >>> rows = np.full((4, 1), 8.0)
    >>> Iteration(f, [rows], [np.zeros((1, 1))]).run(0, 3)
    >>> rows.ravel()
    array([8., 4., 2., 1.])
    """

    def __init__(
        self, function: Function, states: Sequence[Array], inputs: Sequence[Array], repeats: int = 1
    ) -> None:
        self._states, self._inputs, self._repeats = tuple(states), tuple(inputs), int(repeats)
        _check(function, self._states, self._inputs, self._repeats)
        self._single = self._states[0].shape[1] == 1
        kind = "scalar" if self._single else "batch"
        self._evaluator: Evaluator = function._numeric.evaluator_for(kind)
        if isinstance(self._evaluator, CompiledEvaluator):
            self._evaluator = self._evaluator.prepare(kind)
        elif isinstance(self._evaluator, BackgroundEvaluator):
            self._evaluator = self._evaluator.ready(kind) or self._evaluator
        # Kernels called through ctypes have no such loop.
        self._iterate = getattr(self._evaluator, "iterate", None)

    def run(self, first: int, last: int) -> None:
        """Compute rows first + 1 to last; row `first` has been computed or filled."""
        if self._iterate is not None:
            self._iterate(self._states, self._inputs, first, last, self._repeats)
            return
        for k in range(first, last):
            self._step(k)

    def _step(self, k: int) -> None:
        inputs = [self._row(value, k) for value in self._inputs]
        states = [self._part(state[k]) for state in self._states]
        for repeat in range(self._repeats):
            final = repeat + 1 == self._repeats
            results = [
                self._part(state[k + 1]) if final else np.empty_like(now)
                for state, now in zip(self._states, states, strict=True)
            ]
            if self._single:
                self._evaluator.evaluate([*states, *inputs], results)
            else:
                self._evaluator.evaluate_batch([*states, *inputs], results, len(results[0]))
            states = results

    def _part(self, row: Array) -> Array:
        return row[0, ...] if self._single else row

    def _row(self, value: Array, k: int) -> Array:
        row = value[k if len(value) > 1 else 0]
        return row[0, ...] if len(row) == 1 else row


def _check(function: Function, states: Sequence[Array], inputs: Sequence[Array], repeats: int) -> None:
    shapes = [item.shape for item in function.inputs]
    n = len(function.outputs)
    if [item.shape for item in function.outputs] != shapes[:n] or len(states) != n:
        raise InputError(f"{function.name}: its {n} outputs must be the next values of its first inputs")
    if len(inputs) != len(shapes) - n or repeats < 1:
        raise InputError(f"{function.name}: takes {len(shapes) - n} inputs beside {n} states, repeats ≥ 1")
    rows, samples = states[0].shape[:2]
    for k, (item, value) in enumerate(zip(function.inputs, (*states, *inputs), strict=True)):
        is_state = k < n
        fits = value.shape[2:] == item.shape and value.ndim == 2 + len(item.shape)
        fits &= value.shape[1] in ({samples} if is_state else {1, samples})
        fits &= value.shape[0] == rows if is_state else value.shape[0] == 1 or value.shape[0] >= rows - 1
        if not fits or value.dtype != np.float64 or not value.flags.c_contiguous:
            shape = f"({rows}, {samples}" if is_state else f"({rows - 1} or 1, {samples} or 1"
            sizes = "".join(f", {size}" for size in item.shape)
            raise InputError(
                f"{function.name}: '{item.name}' must be float64, C-contiguous, of shape {shape}{sizes}); "
                f"got {value.dtype} {value.shape}"
            )
