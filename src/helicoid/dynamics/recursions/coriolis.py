"""The Coriolis matrix with Ṁ = C + Cᵀ (Echeandia and Wensing 2021), and Ṁ itself.

With the composite I and B of body i (see `composite`) and Ṡ = V × S, for an ancestor j of i (or i itself)

    C_ij = S_iᵀ (B S_j + I Ṡ_j)        C_ji = S_jᵀ (B S_i + I Ṡ_i)

which is the matrix of Christoffel's symbols where every velocity is the rate of a coordinate.
"""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.forces.tendon_inertia import tendon_coriolis_matrix
from helicoid.dynamics.physics import Physics, rigid_inertia_times
from helicoid.dynamics.recursions.composites.composite import Composite, add_block, elements, motion_cross
from helicoid.dynamics.recursions.composites.regrouping import regrouped
from helicoid.dynamics.tree import from_parent, to_parent
from helicoid.model.model import WORLD, Model


def coriolis_matrix(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """C(q, v), nv × nv, with C v the Coriolis torque and Ṁ - 2 C skew-symmetric.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> C = robot.coriolis_matrix(q, v)
    >>> np.allclose(C @ v, robot.coriolis(q, v)) and np.allclose(C + C.T, robot.mass_matrix_dot(q, v))
    True
    """
    tree = elements(model, q)
    inertias = regrouped(model, physics)
    twists: list[Expression] = []
    rates: list[Expression] = []
    composites: list[Composite] = []
    for element in tree:
        motion = element.motion
        V = motion.S @ element.velocity(v)
        if element.parent != WORLD:
            V = V + from_parent(motion, twists[element.parent])
        twists.append(V)
        rates.append(motion_cross(V, motion.S))
        massive = element.body >= 0
        composites.append(Composite.of_body(inertias[element.body], V) if massive else Composite.nothing())
    C = ca.SX(model.nv, model.nv)
    for i in reversed(range(len(tree))):
        S, composite = tree[i].motion.S, composites[i]
        F = rigid_inertia_times(composite.inertia, S)
        F_c = composite.two_B(S) / 2 + rigid_inertia_times(composite.inertia, rates[i])
        G = composite.two_B_transposed(S) / 2
        rows, j = tree[i].coordinates, i
        while j != WORLD:
            to, scale, columns = tree[j].motion, tree[i].multiplier * tree[j].multiplier, tree[j].coordinates
            add_block(C, rows, columns, scale * (G.T @ to.S[:3, :] + F.T @ rates[j]))
            if j != i:
                add_block(C, columns, rows, scale * (to.S.T @ F_c))
            F, F_c, G, j = to_parent(to, F), to_parent(to, F_c), to.R @ G, tree[j].parent
        if tree[i].parent != WORLD:
            parent = tree[i].parent
            composites[parent] = composites[parent].plus(composite.to_parent(tree[i].motion))
    return C + tendon_coriolis_matrix(model, q, v)


def mass_matrix_dot(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """Ṁ(q, v) = C + Cᵀ, nv × nv."""
    C = coriolis_matrix(model, physics, q, v)
    return C + C.T
