"""Random quadratic programs of every awkward kind, and what a solution must fulfil."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from helicoid.control.qp import QPSolution


@dataclass
class Program:
    """Data as `QuadraticProgram.solve` takes them."""

    H: np.ndarray
    f: np.ndarray
    A: np.ndarray
    row_lower: np.ndarray
    row_upper: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    price: np.ndarray = field(default=None)

    def __post_init__(self):
        if self.price is None:
            self.price = np.full(len(self.A), np.inf)


def plain(rng, n, m):
    """Well-conditioned, feasible, half of the sides infinite."""
    B = rng.normal(size=(n + 2, n))
    A = rng.normal(size=(m, n))
    inside = rng.normal(size=n)
    width = rng.exponential(size=(2, n + m)) * rng.choice([0.1, 1, 10])
    width[rng.random(width.shape) < 0.4] = np.inf
    value = np.append(inside, A @ inside)
    low, high = value - width[0], value + width[1]
    f = rng.normal(size=n) * rng.choice([0.1, 1, 10, 100])
    return Program(B.T @ B + 0.1 * np.eye(n), f, A, low[n:], high[n:], low[:n], high[:n])


def ill_conditioned(rng, n, m):
    """Eigenvalues of H over ten decades."""
    p = plain(rng, n, m)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    H = (Q * 10.0 ** rng.uniform(-6, 4, n)) @ Q.T
    p.H = (H + H.T) / 2
    return p


def equations(rng, n, m):
    """Rows and bounds with equal sides, some of them twice."""
    p = plain(rng, n, m)
    inside = rng.normal(size=n)
    chosen = rng.permutation(m)[: min(m, max(1, n // 2))]
    p.row_lower[:], p.row_upper[:] = p.A @ inside - 1, p.A @ inside + 1
    p.row_lower[chosen] = p.row_upper[chosen] = p.A[chosen] @ inside
    p.lower[:], p.upper[:] = inside - 2, inside + 2
    p.lower[0] = p.upper[0] = inside[0]
    return p


def rank_deficient(rng, n, m):
    """Rows in a space of few dimensions, copies and multiples of each other, integers so that they meet."""
    p = plain(rng, n, m)
    rank = max(1, min(n, m) // 3)
    p.A = (rng.integers(-2, 3, (m, rank)) @ rng.integers(-2, 3, (rank, n))).astype(float)
    inside = rng.integers(-2, 3, n).astype(float)
    value = p.A @ inside
    p.row_lower, p.row_upper = value - rng.integers(0, 2, m), value + rng.integers(0, 2, m)
    p.lower, p.upper = inside - rng.integers(0, 3, n), inside + rng.integers(0, 3, n)
    p.f = 10.0 * rng.integers(-3, 4, n)
    return p


def parallel(rng, n, m):
    """Pairs of rows that are parallel or nearly so."""
    p = plain(rng, n, m)
    inside = rng.normal(size=n)
    for i in range(1, m, 2):
        p.A[i] = p.A[i - 1] * rng.choice([-2.0, 1.0, 0.5])
        p.A[i] += rng.choice([0, 1e-4, 1e-7]) * rng.normal(size=n)
    p.row_lower, p.row_upper = np.full(m, -np.inf), p.A @ inside + rng.exponential(size=m) * 0.01
    p.lower, p.upper = np.full(n, -np.inf), np.full(n, np.inf)
    return p


def vertex(rng, n, m):
    """Many more constraints than variables go through the solution."""
    p = plain(rng, n, m)
    x = rng.integers(-1, 2, n).astype(float)
    p.A = rng.integers(-1, 2, (m, n)).astype(float)
    p.row_lower, p.row_upper = np.full(m, -np.inf), p.A @ x
    p.lower, p.upper = x.copy(), np.full(n, np.inf)
    p.f = -p.H @ x - p.A.T @ rng.integers(0, 3, m) + rng.integers(0, 2, n)
    return p


def infeasible(rng, n, m):
    """Rows that contradict each other or the bounds."""
    p = plain(rng, n, m)
    if m:
        p.lower, p.upper = np.full(n, -1.0), np.full(n, 1.0)
        p.row_lower[0] = p.row_upper[0] = np.abs(p.A[0]).sum() + rng.exponential()
        if m > 2:
            p.A[2] = -p.A[1]
            p.row_lower[1:3], p.row_upper[1:3] = 1.0, 2.0
    return p


def empty_rows(rng, n, m):
    """Rows of zeros, kept and not, and bounds on nothing."""
    p = plain(rng, n, m)
    p.A[rng.random(m) < 0.5] = 0
    if rng.random() < 0.5:
        zero = ~p.A.any(axis=1)
        p.row_lower[zero], p.row_upper[zero] = -1, 1
    p.lower[:], p.upper[:] = -np.inf, np.inf
    return p


def soft(rng, n, m):
    """Rows with prices, many of which are not worth being kept."""
    p = infeasible(rng, n, m)
    p.price = 10.0 ** rng.uniform(-2, 3, m)
    return p


def boxed(rng, n, m):
    """Bounds in a corner of which the solution lies, rows without sides."""
    p = plain(rng, n, m)
    p.lower, p.upper = -rng.exponential(size=n) * 1e-2, rng.exponential(size=n) * 1e-2
    p.row_lower, p.row_upper = np.full(m, -np.inf), np.full(m, np.inf)
    return p


def scaled(rng, n, m):
    """Rows and variables in units that are decades apart."""
    p = plain(rng, n, m)
    inside = rng.normal(size=n)
    rows = 10.0 ** rng.uniform(-4, 4, m)
    p.row_lower, p.row_upper = (p.A @ inside - 1) * rows, (p.A @ inside + 0.1) * rows
    p.A = p.A * rows[:, None]
    p.lower, p.upper = inside - 1, inside + 1
    return p


KINDS = (plain, ill_conditioned, equations, rank_deficient, parallel, vertex, infeasible, empty_rows)
KINDS += (soft, boxed, scaled)


def residual(p: Program, s: QPSolution) -> float:
    """The largest relative residual of the conditions of Karush, Kuhn and Tucker.

    Rows that the solution gives up have their price as multiplier.
    """
    norm = np.linalg.norm(p.A, axis=1)
    norms = np.append(np.ones(len(p.f)), norm)
    λ = np.append(s.bound_multipliers, s.multipliers)
    value = np.append(s.x, p.A @ s.x)
    low, high = np.append(p.lower, p.row_lower), np.append(p.upper, p.row_upper)
    size = 1 + np.abs(s.x).max()
    forces = np.abs(p.f).max() + np.abs(p.H).max() * size + (np.abs(λ) * norms).max()
    worst = [
        np.abs(p.H @ s.x + s.shift * s.x + p.f + s.bound_multipliers + p.A.T @ s.multipliers).max() / forces
    ]
    given_up = np.append(np.zeros(len(p.f), bool), np.isin(np.arange(len(p.A)), s.violated))
    sides = [np.where(np.isfinite(side), np.abs(side), 0) for side in (low, high)]
    reach = np.maximum(norms * size + np.maximum(*sides) * (norms > 0), 1e-300)
    excess = np.maximum(value - high, low - value) / reach
    kept = ~given_up
    worst.append(max(0.0, excess[kept].max()))
    # Complementarity: a multiplier says that its side holds.
    gap = np.where(λ > 0, np.abs(high - value), np.abs(value - low)) / reach
    share = np.abs(λ) * norms / forces
    worst.append(np.minimum(gap, share)[kept & (λ != 0)].max(initial=0))
    # What is given up is at its price, and on the side that its multiplier says.
    for i in np.flatnonzero(given_up[len(p.f) :] & (norm > 0)):
        beyond = p.A[i] @ s.x - p.row_upper[i] if s.multipliers[i] > 0 else p.row_lower[i] - p.A[i] @ s.x
        worst.append(max(0.0, -beyond / (norm[i] * size)))
        if np.isfinite(p.price[i]):
            worst.append(abs(abs(s.multipliers[i]) / p.price[i] - 1))
    assert np.isfinite(worst).all()
    return float(max(worst))


def least_violation(p: Program) -> float:
    """The smallest sum of distances from the rows that the bounds allow, by linear programming."""
    norm = np.linalg.norm(p.A, axis=1)
    rows = np.flatnonzero(norm > 0)
    A, n, k = p.A[rows] / norm[rows, None], len(p.f), len(rows)
    high, low = p.row_upper[rows] / norm[rows], p.row_lower[rows] / norm[rows]
    both = np.block([[A, -np.eye(k)], [-A, -np.eye(k)]])
    sides = np.append(high, -low)
    used = np.isfinite(sides)
    bounds = [*zip(p.lower, p.upper, strict=True), *[(0, None)] * k]
    best = linprog(np.append(np.zeros(n), np.ones(k)), both[used], sides[used], bounds=bounds)
    assert best.status == 0
    return float(best.fun)


def violation(p: Program, x: np.ndarray) -> float:
    """The sum of distances from the rows."""
    norm = np.linalg.norm(p.A, axis=1)
    rows = norm > 0
    value = p.A[rows] @ x
    excess = np.maximum(np.maximum(value - p.row_upper[rows], p.row_lower[rows] - value), 0)
    return float((excess / norm[rows]).sum())
