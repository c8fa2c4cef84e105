"""Composite rigid body algorithm (Walker and Orin 1982; Featherstone 2008, section 6.2).

Notation: I the spatial inertia of a body and all that it carries, computed as the mass distribution m, h, Σ;
S the subspace of its joint; F = I S the wrench that a unit acceleration of its joint needs.
"""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.forces.tendon_inertia import tendon_inertia_torque, tendon_mass_matrix
from helicoid.dynamics.linear import factor, solve
from helicoid.dynamics.physics import Moments, Physics, rigid_inertia_times
from helicoid.dynamics.recursions.composites.carried_wrenches import CarriedWrenches
from helicoid.dynamics.recursions.composites.mass_distribution import (
    add_distributions,
    distribution,
    distribution_to_parent,
    rotational,
)
from helicoid.dynamics.recursions.composites.regrouping import regrouped
from helicoid.dynamics.recursions.rnea import Wrenches, body_forces, joint_forces, passive_torque
from helicoid.dynamics.tree import joint_motions
from helicoid.model.model import WORLD, Model


def mass_matrix(model: Model, physics: Physics, q: Expression) -> Expression:
    """M(q), nv × nv, symmetric; armature on its diagonal, that of tendons between the joints they move."""
    motions = joint_motions(model, q)
    composites = [distribution(pi) for pi in regrouped(model, physics)]
    carried = CarriedWrenches(model, motions)
    diagonal, above = ca.SX(model.nv, model.nv), ca.SX(model.nv, model.nv)
    for i in reversed(range(len(composites))):
        body, (R, p, S) = model.bodies[i], motions[i]
        m, h, Σ = composites[i]
        # M_ii = Sᵢᵀ Fᵢ with Fᵢ = Iᵢ Sᵢ, and M_ij = Sᵢᵀ Fⱼ for every joint j that body i carries.
        F = body.multiplier * rigid_inertia_times(Moments(m, h, rotational(Σ)), S)
        diagonal[body.v, body.v] += body.multiplier * (S.T @ F)
        columns, block = carried.along_joint(i)
        _add_columns(above, body.v, columns, body.multiplier * block)
        if body.parent != WORLD:
            composites[body.parent] = add_distributions(
                composites[body.parent], distribution_to_parent(composites[i], R, p)
            )
            carried.pass_to_parent(i, F)
    return diagonal + above + above.T + ca.diag(physics.armature) + tendon_mass_matrix(model, q)


def composite_inertias(model: Model, physics: Physics, q: Expression) -> Expression:
    """Iᶜ of each body, 6 × 6 below each other: Iᶜ_i = I_i + Σ X* Iᶜ_j X over its children j.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> I_c = robot.composite_inertias([0.3, 0.8])
    >>> np.allclose(I_c[0, 3:, 3:], robot.mass * np.eye(3))  # the first body carries all of them
    True
    """
    motions = joint_motions(model, q)
    composites = [distribution(pi) for pi in physics.inertias]
    for i in reversed(range(len(composites))):
        parent, (R, p, _) = model.bodies[i].parent, motions[i]
        if parent != WORLD:
            carried = distribution_to_parent(composites[i], R, p)
            composites[parent] = add_distributions(composites[parent], carried)
    bodies = (Moments(m, h, rotational(Σ)) for m, h, Σ in composites)
    return ca.vertcat(ca.SX(0, 6), *(rigid_inertia_times(body, ca.SX.eye(6)) for body in bodies))


def _add_columns(M: Expression, rows: slice, columns: list[int], block: Expression) -> None:
    """Add a block to some rows and columns; a column occurs several times where mimic joints share it.

    All at once where possible: setting the n² elements of M one by one takes long.
    """
    if len(set(columns)) == len(columns):
        M[rows, columns] += block
        return
    for k, column in enumerate(columns):
        M[rows, column] += block[:, k]


def forward_dynamics_crba(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    tau: Expression,
    wrenches: Wrenches | None = None,
) -> Expression:
    """a = M⁻¹ (τ - h(q, v) + Σ Jᵀ w_ext - springs - friction), nv, through the sparse factors of M."""
    motions = joint_motions(model, q)
    still = ca.SX.zeros(model.nv)
    forces = body_forces(model, physics, motions, q, v, still, wrenches)
    driving = tau - joint_forces(model, motions, forces) - passive_torque(model, physics, q, v)
    driving -= tendon_inertia_torque(model, q, v, still)
    return solve(factor(mass_matrix(model, physics, q), model.velocity_names), driving)
