"""M⁻¹, and M⁻¹ times many columns: by the factors of M, or by articulated bodies.

A column costs as many operations as M's factors have nonzeros, up to the square of the number of joints, or a
number linear in it: a pass inwards with the wrenches that torques pass on, and a pass outwards with the
accelerations (Featherstone 2008, section 7.3, at rest and without gravity). Short arms and trees with many
branches are cheaper by factors, long chains by articulated bodies: whichever takes fewer operations is taken.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.linear import factor, solve
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.aba import accelerations, articulated_joints, ties_branches
from helicoid.dynamics.recursions.crba import mass_matrix
from helicoid.dynamics.tree import joint_motions
from helicoid.model.model import Model

TimesInverse = Callable[[Expression], Expression]  # B, nv × n, to M⁻¹ B


def mass_matrix_inverse(model: Model, physics: Physics, q: Expression) -> Expression:
    """M(q)⁻¹, nv × nv, symmetric; each element is computed once."""
    unit = ca.SX.eye(model.nv)
    ways = _ways(model, physics, q, mass_matrix(model, physics, q))
    return min((_from_lower_triangle(apply(unit)) for apply in ways), key=ca.n_nodes)


def times_inverse(model: Model, physics: Physics, q: Expression, M: Expression) -> TimesInverse:
    """The map B -> M⁻¹ B that needs fewer operations a column; M is the mass matrix at q."""
    return min(_ways(model, physics, q, M), key=lambda apply: _cost(apply, model.nv))


def _ways(model: Model, physics: Physics, q: Expression, M: Expression) -> list[TimesInverse]:
    factors = factor(M, model.velocity_names)

    def by_factors(B: Expression) -> Expression:
        return solve(factors, B)

    if model.nv == 0 or ties_branches(model):
        return [by_factors]
    motions = joint_motions(model, q)
    joints = articulated_joints(model, physics, motions)

    def by_articulated_bodies(B: Expression) -> Expression:
        at_rest = [ca.SX(6, B.shape[1])] * len(joints)
        return accelerations(model, motions, joints, B, at_rest)

    return [by_factors, by_articulated_bodies]


def _cost(apply: TimesInverse, nv: int) -> int:
    """Operations that one more column takes."""
    B = ca.SX.sym("B", nv, 2)
    return int(ca.n_nodes(apply(B)) - ca.n_nodes(apply(B[:, 0])))


def _from_lower_triangle(full: Expression) -> Expression:
    return ca.tril(full) + ca.tril(full, False).T
