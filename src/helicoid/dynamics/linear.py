"""Symbolic linear algebra for symmetric positive definite matrices with a tree's sparsity.

M = Lᵀ D L with L unit lower triangular: eliminating the last row first creates no new nonzeros when the
rows are ordered parents first (Featherstone 2008, section 6.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.errors import ModelError


class Factors(NamedTuple):
    """L as {row: {column: element}} without its unit diagonal, and the reciprocal of D's diagonal."""

    L: list[dict[int, Expression]]
    D_inverse: list[Expression]


def factor(M: Expression, names: Sequence[str] = ()) -> Factors:
    """Factor a symmetric positive definite M (its lower triangle is read); errors name its rows."""
    n = M.shape[0]
    rows = [{j: M[i, j] for j in range(i + 1) if not M[i, j].is_zero()} for i in range(n)]
    L: list[dict[int, Expression]] = [{} for _ in range(n)]
    D_inverse: list[Expression] = [None] * n
    for k in reversed(range(n)):
        if k not in rows[k] or rows[k][k].is_zero():
            which = f"of {names[k]!r}" if names else f"{k} of {n}"
            raise ModelError(
                f"the mass matrix is singular in the row {which}: the bodies that move have neither mass nor "
                "inertia along it; give them mass, or armature"
            )
        D_inverse[k] = 1 / rows[k][k]
        below = [j for j in rows[k] if j < k]
        for i in reversed(below):
            L[k][i] = rows[k][i] * D_inverse[k]
            for j in below:
                if j <= i:
                    rows[i][j] = rows[i].get(j, 0) - L[k][i] * rows[k][j]
    return Factors(L, D_inverse)


def solve(factors: Factors, b: Expression) -> Expression:
    """x of Lᵀ D L x = b, for one right-hand side or several as columns."""
    L, D_inverse = factors
    n = len(L)
    x = [b[i, :] for i in range(n)]
    for k in reversed(range(n)):
        for i, l_ki in L[k].items():
            x[i] = x[i] - l_ki * x[k]
    for k in range(n):
        x[k] = x[k] * D_inverse[k]
        for i, l_ki in L[k].items():
            x[k] = x[k] - l_ki * x[i]
    return ca.vertcat(*x) if x else ca.SX.zeros(*b.shape)


def inverse(M: Expression) -> Expression:
    """M⁻¹ of a symmetric positive definite M, each element of its symmetric result once."""
    n = M.shape[0]
    if n == 0:
        return M
    full = solve(factor(M), ca.SX.eye(n))
    lower = ca.tril(full)
    return lower + ca.tril(full, False).T
