"""Least squares over any number of samples in bounded memory: a triangular factor for each measured row.

The samples of row k, [Y_k y_k], are only ever seen through R_k with R_kᵀ R_k = [Y_k y_k]ᵀ [Y_k y_k], which a
Householder QR updates block by block (Golub and Van Loan, section 6.5.3). Keeping the rows apart makes
weights, residuals of each joint and folds of a cross-validation follow from these small factors: each sample
is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.linear.equations.regression import Indices, Regression

BLOCK = 256  # samples: large enough for LAPACK's blocked code, small enough to stay in the cache


class Factor(NamedTuple):
    """min ‖Y x - y‖² in small: ‖Y x - y‖² = ‖R x - z‖² + rest, R (p, p) upper triangular, z (p,)."""

    R: Array
    z: Array
    rest: float

    def squares(self, x: Array) -> float:
        """‖Y x - y‖²."""
        return float(np.sum((self.R @ x - self.z) ** 2) + self.rest)


@dataclass(frozen=True, eq=False, repr=False)
class Stack:
    """The factors R_k of [Y_k y_k], (len(support) + 1) square, and the number of samples behind each.

    >>> import helicoid as hc
    >>> robot = hc.load("double_pendulum")
    >>> rng = np.random.default_rng(0)
    >>> q, v, a = rng.normal(size=(3, 100, 2))
    >>> rows = Regression(robot).rows(q, v, a)
    >>> stack = Stack.empty(Regression(robot)).added(rows, robot.inverse_dynamics(q, v, a))
    >>> stack.counts
    (100, 100)
    """

    supports: tuple[Indices, ...]
    n_unknowns: int
    factors: tuple[Array, ...]
    counts: tuple[int, ...]

    @staticmethod
    def empty(regression: Regression) -> Stack:
        """No samples yet."""
        supports = regression.supports
        factors = tuple(np.zeros((len(on) + 1, len(on) + 1), order="F") for on in supports)
        return Stack(supports, len(regression.parameters), factors, (0,) * len(supports))

    def added(self, rows: Sequence[Array], y: Array, weights: Array | None = None) -> Stack:
        """This stack with more samples: Y_k (N, support) of each row (see `Regression.rows`), y (N, rows)."""
        factors, counts = [], []
        for k, (Y, R) in enumerate(zip(rows, self.factors, strict=True)):
            block = np.empty((len(Y), Y.shape[1] + 1), order="F")
            block[:, :-1], block[:, -1] = Y, y[:, k]
            count = len(Y)
            if weights is not None:
                used = weights[:, k] > 0
                block = np.asfortranarray(block[used] * np.sqrt(weights[used, k])[:, None])
                count = int(np.count_nonzero(used))
            factors.append(triangular(R, block))
            counts.append(self.counts[k] + count)
        return Stack(self.supports, self.n_unknowns, tuple(factors), tuple(counts))

    @staticmethod
    def together(stacks: Sequence[Stack]) -> Stack:
        """One stack of the samples of several, at least one."""
        return reduce(Stack.__add__, stacks)

    def __add__(self, other: Stack) -> Stack:
        """A stack of the samples of this one and of another."""
        factors = tuple(triangular(R, S) for R, S in zip(self.factors, other.factors, strict=True))
        counts = tuple(m + n for m, n in zip(self.counts, other.counts, strict=True))
        return Stack(self.supports, self.n_unknowns, factors, counts)

    def row(self, k: int) -> Factor:
        """The least squares problem of row k alone, in the unknowns of its support."""
        R = self.factors[k]
        return Factor(R[:-1, :-1], R[:-1, -1], float(R[-1, -1] ** 2))

    def combined(self, weights: Array | None = None) -> Factor:
        """One problem of all rows, row k's squared residuals multiplied by weights[k], in all unknowns."""
        key = None if weights is None else np.asarray(weights, dtype=np.float64).tobytes()
        if key not in self._combined:
            self._combined[key] = self._combine(weights)
        return self._combined[key]

    @cached_property
    def _combined(self) -> dict[bytes | None, Factor]:
        """Cache of combined factors: fits of several regularisations need the same."""
        return {}

    def _combine(self, weights: Array | None) -> Factor:
        p = self.n_unknowns
        if weights is not None and (np.shape(weights) != (len(self.factors),) or np.any(weights < 0)):
            raise InputError(f"weights: expected {len(self.factors)} numbers >= 0, got {weights}")
        R = np.zeros((p + 1, p + 1), order="F")
        for k, (own, on) in enumerate(zip(self.factors, self.supports, strict=True)):
            if self.counts[k] == 0:
                continue
            block = np.zeros((len(own), p + 1), order="F")
            block[:, [*on, p]] = own if weights is None else own * np.sqrt(weights[k])
            R = triangular(R, block)
        return Factor(R[:p, :p], R[:p, p], float(R[p, p] ** 2))

    def squares(self, x: Array) -> Array:
        """‖Y_k x - y_k‖² of each row, (rows,)."""
        return np.array([self.row(k).squares(x[on]) for k, on in enumerate(self.supports)])


def triangular(R: Array, block: Array) -> Array:
    """The triangular factor of [R; block]: LAPACK's QR that leaves the zeros below R untouched."""
    if len(block) == 0:
        return R
    n = R.shape[0]
    updated, _, _, info = lapack.dtpqrt(0, min(8, n), np.asfortranarray(R), np.asfortranarray(block))
    if info != 0:
        raise InputError("the samples could not be stacked: they must be finite numbers")
    return updated


def triangle(rows: Array) -> Array:
    """R of a QR factorisation, for each of a stack of matrices."""
    factor: Array = np.linalg.qr(rows, mode="r")  # type: ignore[assignment]
    return factor
