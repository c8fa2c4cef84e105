"""A Gauss-Newton step of multiple shooting: states are eliminated window by window, from the last node back.

One triangular factor holds the information of the samples after node j on (s_j, ξ). The simulation from node
j arrives at node j + 1, δs_{j+1} = A_j δs_j + B_j δξ - gap_j, which turns a factor at j + 1 into rows at j.
Windows are independent but for ξ and are eliminated in parallel: cost and memory are linear in the length of
the motion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.stack import triangle


class Linearised(NamedTuple):
    """For W windows of J intervals: rows (W, J, m, n + p + 1) = [J_s, J_ξ, r], and the continuity of nodes.

    A (W, J - 1, n, n), B (W, J - 1, n, p), gaps (W, J - 1, n): δs_{j+1} = A δs_j + B δξ - gap.
    """

    rows: Array
    A: Array
    B: Array
    gaps: Array


class GaussNewtonStep(NamedTuple):
    """δs (W, J, n), δξ (p,), the sum of squares that is to be expected, and the covariance of ξ."""

    states: Array
    xi: Array
    predicted: float
    covariance: Array


def solve(linear: Linearised, xi: Array, spread: Array, lower: Array) -> GaussNewtonStep:
    """min Σ ‖J_s δs + J_ξ δξ + r‖² + ‖(ξ + δξ) / spread‖² over connected states and ξ + δξ >= lower."""
    from scipy.optimize import lsq_linear

    n, p = linear.A.shape[-1], len(xi)
    if linear.A.shape[1] == 0:
        n = linear.rows.shape[-1] - p - 1
    first = _backwards(linear, n)
    common = first[:, n:, n:].reshape(-1, p + 1)
    prior = np.column_stack([np.diag(1 / spread), xi / spread])
    R = triangle(np.vstack([common, prior]))
    free: Array = np.linalg.solve(R[:p, :p], -R[:p, p]).astype(np.float64)
    if np.any(xi + free < lower):
        free = lsq_linear(R[:p, :p], -R[:p, p], (lower - xi, np.inf), method="bvls").x
    states = _forwards(linear, first, n, free)
    inverse = np.linalg.inv(R[:p, :p])
    predicted = float(np.sum((R[:p, :p] @ free + R[:p, p]) ** 2) + np.sum(R[p:, p] ** 2))
    return GaussNewtonStep(states, free, predicted, inverse @ inverse.T)


def _backwards(linear: Linearised, n: int) -> Array:
    """The factor of all rows of each window at its first node, (W, n + p + 1, n + p + 1)."""
    factor = linear.rows[:, -1]
    for j in range(linear.rows.shape[1] - 2, -1, -1):
        A, B, gap = linear.A[:, j], linear.B[:, j], linear.gaps[:, j, :, None]
        carried = np.concatenate([np.zeros_like(A), B, -gap], axis=2)
        carried[:, :, :n] = A
        earlier = factor[:, :, :n] @ carried
        earlier[:, :, n:] += factor[:, :, n:]
        factor = triangle(np.concatenate([linear.rows[:, j], earlier], axis=1))
    return factor


def _forwards(linear: Linearised, first: Array, n: int, xi: Array) -> Array:
    """The step of every node, given that of ξ."""
    right = first[:, :n, n:-1] @ xi + first[:, :n, -1]
    states = [-np.linalg.solve(first[:, :n, :n], right[:, :, None])[:, :, 0]]
    for j in range(linear.A.shape[1]):
        arrived = (linear.A[:, j] @ states[-1][:, :, None])[:, :, 0]
        states.append(arrived + linear.B[:, j] @ xi - linear.gaps[:, j])
    return np.stack(states, axis=1)
