"""M, C and g of the closed form, summed over composite bodies instead of over products of Jacobians.

Column j of a body's Jacobian J_k is S_j as seen from body k, which moves against the axis j: its derivative
is Ṡ_j - V_k × S_j with Ṡ_j = V_j × S_j. So of Garofalo, Ott and Albu-Schäffer (2013), equation 6b,

    C = Σ J_kᵀ [(Λ adj - adjᵀ Λ) J_k + Λ J̇_k] = Σ J_kᵀ [V_k ×* Λ_k J_k + Λ_k Ṡ]

only sums over the bodies k that both joints carry are left. For an ancestor j of i, or i itself,

    C_ij = S_iᵀ (B S_j + I Ṡ_j)    C_ji = S_jᵀ (B S_i + I Ṡ_i)    M_ij = S_iᵀ I S_j    g_i = S_iᵀ I γ

with I and B = Σ V_k ×* Λ_k of body i and all that it carries. Of a body with mass m, first moment h and
rotational inertia I that moves with (ω, u), in blocks of 3 × 3, x̃ the matrix of a product x ×,

    B = [[Q, A + Ũ], [-A, L̃]],   Q = ω̃ I - ũ h̃,   A = ω̃ h̃,   U = m u,   L = m ω
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.forces.tendon_inertia import tendon_coriolis_matrix, tendon_mass_matrix
from helicoid.dynamics.physics import Moments, Physics, moments, rigid_inertia_times
from helicoid.dynamics.recursions.composites.composite import (
    ElementaryJoint,
    add_block,
    elements,
    motion_cross,
)
from helicoid.dynamics.recursions.composites.mass_distribution import (
    Distribution,
    add_distributions,
    distribution,
    distribution_to_parent,
    rotational,
)
from helicoid.dynamics.tree import JointMotion, from_parent, to_parent
from helicoid.geometry import so3
from helicoid.model.model import WORLD, Model


class _Gyration(NamedTuple):
    """B, by its blocks."""

    Q: Expression
    A: Expression
    L: Expression
    U: Expression

    @staticmethod
    def of_body(pi: Expression, V: Expression) -> _Gyration:
        m, h, I = moments(pi)
        ω, u = V[:3], V[3:]
        return _Gyration(so3.hat(ω) @ I - _double_cross(u, h), _double_cross(ω, h), m * ω, m * u)

    @staticmethod
    def nothing() -> _Gyration:
        zero = ca.SX.zeros(3)
        return _Gyration(ca.SX.zeros(3, 3), ca.SX.zeros(3, 3), zero, zero)

    def times(self, X: Expression) -> Expression:
        """B X for each column of X."""
        μ, ν = X[:3, :], X[3:, :]
        return ca.vertcat(self.Q @ μ + (self.A + so3.hat(self.U)) @ ν, so3.hat(self.L) @ ν - self.A @ μ)

    def transposed_times(self, X: Expression) -> Expression:
        """Bᵀ X for each column of X."""
        μ, ν = X[:3, :], X[3:, :]
        linear = (self.A + so3.hat(self.U)).T @ μ - so3.hat(self.L) @ ν
        return ca.vertcat(self.Q.T @ μ - self.A.T @ ν, linear)

    def to_parent(self, motion: JointMotion) -> _Gyration:
        """Ad⁻ᵀ B Ad⁻¹: about the parent's origin, in parent coordinates."""
        R, p, p_hat = motion.R, motion.p, so3.hat(motion.p)
        L, U, A = R @ self.L, R @ self.U, R @ self.A @ R.T
        Q = R @ self.Q @ R.T - A @ p_hat - p_hat @ A - _double_cross(U, p) + ca.dot(p, L) * p_hat
        return _Gyration(Q, A + _double_cross(L, p), L, U + ca.cross(p, L))

    def plus(self, other: _Gyration) -> _Gyration:
        return _Gyration(*(one + two for one, two in zip(self, other, strict=True)))


class _ElementState(NamedTuple):
    """An element's motion, and the mass behind it; first its own, then with all that it carries."""

    V: Expression
    S_dot: Expression
    γ: Expression
    mass: Distribution
    B: _Gyration


def matrices(
    model: Model, physics: Physics, q: Expression, v: Expression
) -> tuple[Expression, Expression, Expression]:
    """M (6a), armature on its diagonal, C (6b) and g (6c)."""
    tree = elements(model, q)
    bodies = _outward(tree, physics, v)
    M, C, g = ca.SX(model.nv, model.nv), ca.SX(model.nv, model.nv), ca.SX(model.nv, 1)
    for i in reversed(range(len(tree))):
        _fill(M, C, g, tree, bodies, i)
        motion, parent = tree[i].motion, tree[i].parent
        if parent != WORLD:
            carried, below = bodies[i], bodies[parent]
            mass = distribution_to_parent(carried.mass, motion.R, motion.p)
            bodies[parent] = below._replace(
                mass=add_distributions(below.mass, mass), B=below.B.plus(carried.B.to_parent(motion))
            )
    M += ca.diag(physics.armature) + tendon_mass_matrix(model, q)
    return M, C + tendon_coriolis_matrix(model, q, v), g


def _outward(tree: list[ElementaryJoint], physics: Physics, v: Expression) -> list[_ElementState]:
    bodies: list[_ElementState] = []
    nothing = ca.SX.zeros(1), ca.SX.zeros(3), ca.SX.zeros(3, 3)
    for element in tree:
        motion, γ = element.motion, -physics.gravity
        V = motion.S @ element.velocity(v)
        if element.parent != WORLD:
            V, γ = V + from_parent(motion, bodies[element.parent].V), bodies[element.parent].γ
        mass, B = nothing, _Gyration.nothing()
        if element.body >= 0:
            pi = physics.inertias[element.body]
            mass, B = distribution(pi), _Gyration.of_body(pi, V)
        bodies.append(_ElementState(V, motion_cross(V, motion.S), motion.R.T @ γ, mass, B))
    return bodies


def _fill(
    M: Expression,
    C: Expression,
    g: Expression,
    tree: list[ElementaryJoint],
    bodies: list[_ElementState],
    i: int,
) -> None:
    """The rows and columns of one element against itself and its ancestors."""
    S, (_, S_dot, γ, (m, h, Σ), B) = tree[i].motion.S, bodies[i]
    inertia = Moments(m, h, rotational(Σ))
    F = rigid_inertia_times(inertia, S)
    F_c = B.times(S) + rigid_inertia_times(inertia, S_dot)
    G = B.transposed_times(S)
    rows, j = tree[i].coordinates, i
    add_block(g, rows, range(1), tree[i].multiplier * (F[3:, :].T @ γ))
    while j != WORLD:
        to, scale, columns = tree[j].motion, tree[i].multiplier * tree[j].multiplier, tree[j].coordinates
        add_block(M, rows, columns, scale * (F.T @ to.S))
        add_block(C, rows, columns, scale * (G.T @ to.S + F.T @ bodies[j].S_dot))
        if j != i:
            add_block(M, columns, rows, scale * (to.S.T @ F))
            add_block(C, columns, rows, scale * (to.S.T @ F_c))
        F, F_c, G, j = to_parent(to, F), to_parent(to, F_c), to_parent(to, G), tree[j].parent


def _double_cross(a: Expression, b: Expression) -> Expression:
    """ã b̃ = b aᵀ - (a · b) 1."""
    return b @ a.T - ca.dot(a, b) * ca.SX.eye(3)
