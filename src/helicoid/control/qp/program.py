"""A quadratic program of given sizes: its memory, and calls of the solver in C."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler import CHeader, Kernel, compile_kernel
from helicoid.deprecation import former_attribute
from helicoid.errors import CompileError, HelicoidError, InputError
from helicoid.status import Status

RUNTIME = Path(__file__).parent / "runtime"


def statuses(header: str, prefix: str) -> tuple[Status, ...]:
    """The statuses that a header of the runtime enumerates, `PREFIX_OK` first."""
    names = CHeader(RUNTIME / header).enumeration(f"{prefix}_OK")
    return tuple(Status[name.upper().removeprefix(f"{prefix}_")] for name in names)


STATUSES = statuses("qp_memory.h", "QP")
"""Results of the solver."""

_MESSAGES = {
    Status.OK: "",
    Status.INFEASIBLE: "the rows contradict each other or the bounds; x has the least sum of violations",
    Status.ITERATION_LIMIT: "the active set was not found within max_iterations",
    Status.NOT_FINITE: "data are not finite, or lower bounds exceed upper ones",
    Status.NOT_CONVEX: "H is not positive semidefinite",
}


class QPResult:
    """Interface of the solutions of quadratic programs."""

    status: Status

    @property
    def success(self) -> bool:
        """Whether x is the solution."""
        return self.status is Status.OK

    @property
    def message(self) -> str:
        """Reason why x is not the solution; empty where it is."""
        return _MESSAGES[self.status]

    ok = former_attribute("ok", "success")


@dataclass(frozen=True)
class QPSolution(QPResult):
    """Solution of a quadratic program, with its multipliers and active set.

    H x + f + bound_multipliers + Aᵀ multipliers = 0; a multiplier is positive where an upper side holds.

    Args:
        x: (n,); finite and within the bounds of the variables, whatever `status` says.
        status: one of `STATUSES`; `message` says it in words.
        multipliers: (m,), of rows.
        bound_multipliers: (n,), of bounds of variables.
        active: (n + m,): 1 where the upper side of a bound or row holds, -1 where the lower one does, ±2
            where a row is given up, 0 elsewhere.
        violated: numbers of the rows that are not kept: they are soft, or the program is infeasible.
        conflict: numbers of the rows that contradict each other or the bounds; empty if none do.
        shift: what was added to the diagonal of H, which was singular to rounding.
        iterations: active-set iterations.
    """

    x: Array
    status: Status
    multipliers: Array
    bound_multipliers: Array
    active: Array
    violated: tuple[int, ...]
    conflict: tuple[int, ...]
    shift: float
    iterations: int


class QuadraticProgram:
    """min ½ xᵀHx + fᵀx subject to lower ≤ x ≤ upper and row_lower ≤ A x ≤ row_upper, solved in C.

    For n up to about 100 variables and H positive definite. The code is compiled for the sizes; a call
    allocates nothing in C and makes at most `max_iterations` steps. The active set of the last call is the
    warm start of the next one. One program belongs to one thread at a time.

    Args:
        n: variables.
        m: rows.
        max_iterations: limit of active-set iterations; by default 10 (n + m) + 50.

    Raises:
        CompileError: there is no C compiler.

    >>> from helicoid.control.qp import QuadraticProgram
    >>> program = QuadraticProgram(2, 1)
    >>> s = program.solve([[2, 0], [0, 2]], [-2, -6], A=[[1, 1]], row_upper=[2], upper=[1, 1.5])
    >>> s.x, s.success, s.multipliers, s.bound_multipliers
    (array([0.5, 1.5]), True, array([1.]), array([0., 2.]))
    >>> program.solve(np.eye(2), [0, 0], A=[[1, 1]], row_lower=[9], upper=[1, 1]).violated
    (0,)
    """

    def __init__(self, n: int, m: int = 0, max_iterations: int | None = None) -> None:
        if n < 1 or m < 0:
            raise HelicoidError(f"a program has n ≥ 1 variables and m ≥ 0 rows; got n = {n}, m = {m}")
        self.n, self.m = int(n), int(m)
        self._kernel = _compiled(self.n, self.m)
        limit = 10 * (n + m) + 50 if max_iterations is None else max_iterations
        self._inputs = tuple(np.zeros(shape) for shape in _input_shapes(n, m))
        self._outputs = tuple(np.zeros(shape) for shape in _output_shapes(n, m))
        self._inputs[6][0] = limit

    def solve(
        self,
        H: ArrayLike,
        f: ArrayLike,
        A: ArrayLike | None = None,
        row_lower: ArrayLike = -np.inf,
        row_upper: ArrayLike = np.inf,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        price: ArrayLike = np.inf,
    ) -> QPSolution:
        """Solve for these data.

        Args:
            H: (n, n), symmetric.
            f: (n,).
            A: (m, n); needed if m > 0.
            row_lower, row_upper: (m,) or a number; equal ones make an equation.
            lower, upper: (n,) or a number, the bounds of x.
            price: (m,) or a number: what a unit of a row's violation costs; infinite for a hard row.
        """
        n, m = self.n, self.m
        if A is None and m:
            raise InputError(f"this program has {m} rows: A of shape {(m, n)} is missing")
        values = (H, f, np.zeros((0, n)) if A is None else A, lower, upper, row_lower, row_upper, price)
        targets = (*self._inputs[:3], self._inputs[3][:n], self._inputs[4][:n])
        targets += (self._inputs[3][n:], self._inputs[4][n:], self._inputs[5])
        for name, target, value in zip(_NAMES, targets, values, strict=True):
            fill(name, target, value)
        self._kernel.evaluate(self._inputs, self._outputs)
        return self._solution()

    def __reduce__(self) -> tuple[Any, ...]:
        # The compiled library belongs to this process: a copy loads it from the cache.
        return QuadraticProgram, (self.n, self.m, int(self._inputs[6][0]))

    def forget(self) -> None:
        """Clear the warm start: the next call begins with an empty active set."""
        self._outputs[2][:] = 0

    def _solution(self) -> QPSolution:
        n = self.n
        x, multipliers, state, (status, iterations, shift, elastic) = (out.copy() for out in self._outputs)
        A, lower, upper, price = self._inputs[2], self._inputs[3][n:], self._inputs[4][n:], self._inputs[5]
        norm = np.abs(A).max(axis=1, initial=0)
        empty = (norm == 0) & ((lower > 0) | (upper < 0))
        conflict = np.zeros(self.m, bool)
        if elastic > 0:
            with np.errstate(all="ignore"):
                conflict = (np.abs(multipliers[n:]) * norm > 1e-3 * elastic) & np.isinf(price)
        result = STATUSES[int(status)]
        known = result not in (Status.NOT_FINITE, Status.NOT_CONVEX)
        return QPSolution(
            x,
            result,
            multipliers[n:],
            multipliers[:n],
            state,
            tuple(np.flatnonzero((np.abs(state[n:]) == 2) | (empty & known)).tolist()),
            tuple(np.flatnonzero(conflict | empty).tolist()) if result is Status.INFEASIBLE else (),
            float(shift),
            int(iterations),
        )


_NAMES = ("H", "f", "A", "lower", "upper", "row_lower", "row_upper", "price")


def _input_shapes(n: int, m: int) -> list[tuple[int, ...]]:
    return [(n, n), (n,), (m, n), (n + m,), (n + m,), (m,), (1,)]


def _output_shapes(n: int, m: int) -> list[tuple[int, ...]]:
    return [(n,), (n + m,), (n + m,), (4,)]


@functools.lru_cache(maxsize=64)
def _compiled(n: int, m: int) -> Kernel:
    text = f'#define QP_N {n}\n#define QP_M {m}\n#include "qp.c"\n'
    with needs_compiler():
        return compile_kernel("the solver", text, [RUNTIME], _input_shapes(n, m), _output_shapes(n, m))


@contextlib.contextmanager
def needs_compiler() -> Iterator[None]:
    """Add to the error of a missing compiler what it is needed for."""
    try:
        yield
    except CompileError as error:
        raise CompileError(
            f"{error}. Quadratic programs of control loops are solved by compiled C"
        ) from error


def fill(name: str, target: Array, value: ArrayLike) -> None:
    """Copy numbers into memory.

    Raises:
        InputError: they are no numbers, or of another shape.
    """
    try:
        target[...] = value
    except (TypeError, ValueError):
        got = repr(value) if isinstance(value, str) else f"shape {np.shape(value)}"
        raise InputError(f"{name} must be numbers of shape {target.shape}; got {got}") from None
