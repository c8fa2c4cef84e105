"""Lexicographic least squares: each level in the set of minimisers of the levels before."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler import Kernel, compile_kernel
from helicoid.control.qp.program import RUNTIME, STATUSES, QPResult, fill, needs_compiler
from helicoid.deprecation import renamed_arguments
from helicoid.errors import HelicoidError, InputError
from helicoid.status import Status


@dataclass(frozen=True)
class LevelsSolution(QPResult):
    """Solution of a lexicographic program.

    Args:
        x: (n,); finite and within the bounds of the variables, whatever `status` says.
        status: as in `QPSolution`; that of a later level where it fails, whose result is not used.
        active: (n + m,): as in `QPSolution`, for the first level.
        iterations: active-set iterations of all levels.
    """

    x: Array
    status: Status
    active: Array
    iterations: int


class LexicographicProgram:
    """min |E₁x - e₁|², then among its minimisers |E₂x - e₂|², ... with bounds and rows that all levels keep.

    Each level minimises ½ |E x - e|² + ½ regularisation |x|²; its E x is an equation of the levels after it.
    Compiled for the sizes, as `QuadraticProgram`.

    Args:
        n: variables.
        levels: how many rows E has in each level, the most important first.
        m: rows of A.
        regularisation: makes the solution unique where E is rank deficient; it changes E x - e by about
            regularisation / σ² with σ the least singular value of E.
        max_iterations: of the active set in a level; by default 10 (n + m + rows of all levels) + 50.

    >>> from helicoid.control.qp import LexicographicProgram
    >>> program = LexicographicProgram(2, levels=[1, 2])
    >>> s = program.solve([([[1, 1]], [3]), (np.eye(2), [9, 0])], upper=[2, 9])
    >>> s.x.round(6), s.success
    (array([2., 1.]), True)
    """

    @renamed_arguments(damping="regularisation")
    def __init__(
        self,
        n: int,
        levels: Sequence[int],
        m: int = 0,
        regularisation: float = 1e-10,
        max_iterations: int | None = None,
    ) -> None:
        self.n, self.m, self.levels = int(n), int(m), tuple(map(int, levels))
        if n < 1 or m < 0 or not self.levels or min(self.levels) < 1:
            raise HelicoidError(f"a program has n, m and levels of rows; got n = {n}, m = {m}, {levels}")
        if not 0 < regularisation < np.inf:
            raise HelicoidError(f"regularisation is a positive number; got {regularisation}")
        total = sum(self.levels)
        self._kernel = _compiled(self.n, self.m, self.levels)
        self._inputs = tuple(np.zeros(shape) for shape in _input_shapes(self.n, self.m, total))
        self._outputs = tuple(np.zeros(shape) for shape in _output_shapes(self.n, self.m))
        limit = 10 * (n + m + total) + 50 if max_iterations is None else max_iterations
        self._inputs[5][:] = regularisation, limit

    def __reduce__(self) -> tuple[Any, ...]:
        regularisation, limit = self._inputs[5]
        return LexicographicProgram, (self.n, self.levels, self.m, float(regularisation), int(limit))

    def solve(
        self,
        levels: Sequence[tuple[ArrayLike, ArrayLike]],
        A: ArrayLike | None = None,
        row_lower: ArrayLike = -np.inf,
        row_upper: ArrayLike = np.inf,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ) -> LevelsSolution:
        """Solve for these data: (E, e) of each level, and the rest as in `QuadraticProgram.solve`."""
        n, m = self.n, self.m
        if len(levels) != len(self.levels) or (A is None and m):
            raise InputError(f"this program has {len(self.levels)} levels (E, e), and {m} rows of A")
        E, e, rows, low, high, _ = self._inputs
        start = 0
        for k, (size, (matrix, vector)) in enumerate(zip(self.levels, levels, strict=True)):
            fill(f"E of level {k + 1}", E[start : start + size], matrix)
            fill(f"e of level {k + 1}", e[start : start + size], vector)
            start += size
        fill("A", rows, np.zeros((0, n)) if A is None else A)
        fill("lower", low[:n], lower)
        fill("upper", high[:n], upper)
        fill("row_lower", low[n:], row_lower)
        fill("row_upper", high[n:], row_upper)
        self._kernel.evaluate(self._inputs, self._outputs)
        x, _, active, (status, iterations) = (out.copy() for out in self._outputs)
        return LevelsSolution(x, STATUSES[int(status)], active, int(iterations))


def _input_shapes(n: int, m: int, total: int) -> list[tuple[int, ...]]:
    return [(total, n), (total,), (m, n), (n + m,), (n + m,), (2,)]


def _output_shapes(n: int, m: int) -> list[tuple[int, ...]]:
    return [(n,), (n + m,), (n + m,), (2,)]


@functools.lru_cache(maxsize=64)
def _compiled(n: int, m: int, levels: tuple[int, ...]) -> Kernel:
    total = sum(levels)
    sizes = {"QP_N": n, "QP_M": m, "QP_T": total, "QP_LEVELS": "{" + ", ".join(map(str, levels)) + "}"}
    text = "".join(f"#define {name} {value}\n" for name, value in sizes.items()) + '#include "levels.c"\n'
    shapes = _input_shapes(n, m, total), _output_shapes(n, m)
    with needs_compiler():
        return compile_kernel("the solver", text, [RUNTIME], *shapes)
