"""Mass distributions: mass, first and second moment of a body or of several, which add up.

Notation: m, h, Σ = ∫ r rᵀ dm about the body's origin in its own axes. Moving them to another frame takes
fewer operations than moving the spatial inertia.
"""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.physics import moments, symmetric

Distribution = tuple[Expression, Expression, Expression]  # m, h, Σ


def rotate_symmetric(R: Expression, A: Expression) -> Expression:
    """R A Rᵀ of a symmetric A, each element once."""
    RA = R @ A
    rows = [[ca.dot(RA[i, :], R[j, :]) if j >= i else None for j in range(3)] for i in range(3)]
    return symmetric(rows)


def distribution(pi: Expression) -> Distribution:
    """m, h, Σ of inertial parameters π; constants (13) state the diagonal of Σ separately."""
    m, h, I = moments(pi)
    xx, yy, zz = I[0, 0], I[1, 1], I[2, 2]
    diagonal = (yy + zz - xx) / 2, (xx + zz - yy) / 2, (xx + yy - zz) / 2
    if pi.shape[0] == 13:
        diagonal = pi[10], pi[11], pi[12]
    return m, h, symmetric([[diagonal[i] if i == j else -I[i, j] for j in range(3)] for i in range(3)])


def rotational(Σ: Expression) -> Expression:
    """I = tr(Σ) 1 - Σ, its diagonal as sums of two."""
    others = Σ[1, 1] + Σ[2, 2], Σ[0, 0] + Σ[2, 2], Σ[0, 0] + Σ[1, 1]
    return symmetric([[others[i] if i == j else -Σ[i, j] for j in range(3)] for i in range(3)])


def distribution_to_parent(body: Distribution, R: Expression, p: Expression) -> Distribution:
    """About the parent's origin: each point r of the body becomes p + R r."""
    m, h, Σ = body
    h_turned = R @ h
    h_parent = h_turned + m * p
    turned = rotate_symmetric(R, Σ)
    rows = [[turned[i, j] + p[i] * h_parent[j] + h_turned[i] * p[j] for j in range(3)] for i in range(3)]
    return m, h_parent, symmetric(rows)


def add_distributions(one: Distribution, other: Distribution) -> Distribution:
    """The two bodies as one, about the same origin."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]
