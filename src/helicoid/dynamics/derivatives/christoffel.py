"""Derivatives of the mass matrix by the configuration, and the Coriolis matrices from them.

For joints a ≤ b ≤ d of one branch, from the root outwards, and I the inertia of d with all that it carries,

    ∂M_ab/∂q_d = S_aᵀ (S_d ×* I - I S_d ×) S_b   for b < d: d moves the mass that a and b carry
    ∂M_ad/∂q_b = S_aᵀ (S_b ×* I S_d)             for a < b: b turns the axis of a as seen from d

and all other derivatives are zero: a joint does not move the bodies before it. Derivatives are along
velocities.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.dynamics.forces.tendon_inertia import tendon_mass_matrix
from helicoid.dynamics.physics import Moments, Physics, rigid_inertia_times
from helicoid.dynamics.recursions.composites.composite import (
    ElementaryJoint,
    add_block,
    elements,
    force_cross,
    motion_cross,
)
from helicoid.dynamics.recursions.composites.mass_distribution import (
    Distribution,
    add_distributions,
    distribution,
    distribution_to_parent,
    rotational,
)
from helicoid.dynamics.recursions.composites.regrouping import regrouped
from helicoid.dynamics.recursions.crba import mass_matrix
from helicoid.dynamics.tree import rate_matrix, to_parent
from helicoid.geometry import so3
from helicoid.model.model import WORLD, Model

Tensor = list[Expression]  # for each index of its last axis the matrix of the first two


def mass_matrix_derivatives(model: Model, physics: Physics, q: Expression) -> Expression:
    """∂M_ij/∂q_k at [i, j, k], nv × nv × nv.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> dM_dq = robot.mass_matrix_derivatives(q)
    >>> np.allclose(dM_dq @ v, robot.mass_matrix_dot(q, v))
    True
    """
    return as_output(mass_matrix_changes(model, physics, q))


def christoffel_symbols(model: Model, physics: Physics, q: Expression) -> Expression:
    """Γ_ijk at [i, j, k], nv × nv × nv, with C_ij = Σ_k Γ_ijk v_k the matrix that `coriolis_matrix` gives.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> np.allclose(robot.christoffel_symbols(q) @ v, robot.coriolis_matrix(q, v))
    True
    """
    return as_output(coriolis_tensor(model, physics, q))


def coriolis_tensor(model: Model, physics: Physics, q: Expression) -> Tensor:
    """Γ_ijk = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i) + ½ Σ_m (c_ik^m M_mj - c_jk^m M_mi + c_ij^m M_mk).

    c are the structure constants of joints whose velocities are no rates of coordinates (Boltzmann, Hamel).
    """
    nv, dM = model.nv, mass_matrix_changes(model, physics, q)
    c, M = structure_constants(model, q), _moving_mass(model, physics, q)
    Γ = []
    for k, P in enumerate(exchanged(dM)):
        N = _sparse(c[:, k, :]) @ M
        brackets = sum((_sparse(c[:, :, m]) * M[m, k] for m in range(nv)), ca.SX(nv, nv))
        Γ.append((dM[k] + P - P.T + N - N.T + brackets) / 2)
    return Γ


def coriolis_matrix_classic(
    model: Model, physics: Physics, q: Expression, v: Expression
) -> tuple[Expression, Expression, Expression]:
    """½ (Ṁ + Uᵀ - U), Ṁ - ½ U and Uᵀ - ½ U with U = (1 ⊗ vᵀ) ∂M/∂q, that is U_ij = Σ_k v_k ∂M_kj/∂q_i.

    All three have the same C v; Ṁ - 2 C is skew-symmetric for the first alone. Where velocities are no rates
    of coordinates, the last two have Z_ij = Σ c_ik^m v_k M_mj added (Hamel), the first what keeps it skew.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> [bool(np.allclose(C @ v, robot.coriolis(q, v))) for C in robot.coriolis_matrix_classic(q, v)]
    [True, True, True]
    """
    nv, dM = model.nv, mass_matrix_changes(model, physics, q)
    M_dot = sum((v[k] * dM[k] for k in range(nv)), ca.SX(nv, nv))
    U = ca.vertcat(ca.SX(0, nv), *(v.T @ dM[i] for i in range(nv)))
    c, M = structure_constants(model, q), _moving_mass(model, physics, q)
    Z = sum((v[k] * _sparse(c[:, k, :]) for k in range(nv)), ca.SX(nv, nv)) @ M
    momentum = M @ v
    brackets = sum((momentum[m] * _sparse(c[:, :, m]) for m in range(nv)), ca.SX(nv, nv))
    skew = (M_dot + U.T - U + Z - Z.T + brackets) / 2
    return skew, M_dot - U / 2 + Z, U.T - U / 2 + Z


def mass_matrix_changes(model: Model, physics: Physics, q: Expression) -> Tensor:
    """∂M/∂q_k for each k."""
    tree = elements(model, q)
    inertias = regrouped(model, physics)
    nothing = ca.SX.zeros(1), ca.SX.zeros(3), ca.SX.zeros(3, 3)
    carried = [distribution(inertias[e.body]) if e.body >= 0 else nothing for e in tree]
    dM = [ca.SX(model.nv, model.nv) for _ in range(model.nv)]
    for d in reversed(range(len(tree))):
        _own_changes(dM, tree, carried[d], d)
        motion, parent = tree[d].motion, tree[d].parent
        if parent != WORLD:
            moved = distribution_to_parent(carried[d], motion.R, motion.p)
            carried[parent] = add_distributions(carried[parent], moved)
    of_tendons = tendon_mass_matrix(model, q)
    if ca.depends_on(of_tendons, q):
        dM = [one + other for one, other in zip(dM, along(model, of_tendons, q), strict=True)]
    return dM


def along(model: Model, matrix: Expression, q: Expression) -> Tensor:
    """The change of an nv × nv matrix along each velocity."""
    nv = model.nv
    changes = ca.jacobian(ca.vec(ca.densify(matrix)), q) @ rate_matrix(model, q)
    return [ca.reshape(changes[:, k], nv, nv) for k in range(nv)]


def structure_constants(model: Model, q: Expression) -> Array:
    """c_ij^m at [i, j, m] with S_i × S_j = Σ_m c_ij^m S_m within each joint, nv × nv × nv."""
    c = np.zeros((model.nv, model.nv, model.nv))
    for element in elements(model, q):
        own = element.coordinates
        if len(own) > 1:
            S = np.array(ca.evalf(element.motion.S))
            for i in own:
                products = np.array(ca.evalf(motion_cross(ca.SX(S[:, i - own.start]), ca.SX(S))))
                c[i, own.start : own.stop, own.start : own.stop] = np.linalg.lstsq(S, products, rcond=None)[
                    0
                ].T
    return np.round(c, 12)


def exchanged(tensor: Tensor) -> Tensor:
    """The last two axes exchanged."""
    n = range(len(tensor))
    return [ca.horzcat(*(tensor[j][:, k] for j in n)) for k in n]


def as_output(tensor: Tensor) -> Expression:
    """Rows [i, j] in row-major order, columns k."""
    return ca.horzcat(*(ca.vec(matrix.T) for matrix in tensor)) if tensor else ca.SX(0, 0)


def _own_changes(dM: Tensor, tree: list[ElementaryJoint], mass: Distribution, d: int) -> None:
    """Add the changes of M along the coordinates of d, which moves the composite inertia behind it."""
    S = tree[d].motion.S
    m, h, Σ = mass
    F = rigid_inertia_times(Moments(m, h, rotational(Σ)), S)
    flows = [_flow(mass, S[:, s]) for s in range(S.shape[1])]
    b = d
    while b != WORLD:
        at = tree[b].motion
        for s, k in enumerate(tree[d].coordinates):
            turned = force_cross(at.S, F[:, s])
            changed = rigid_inertia_times(_as_moments(flows[s]), at.S) if b != d else None
            _travel(dM, tree, b, tree[d].multiplier, k, turned, changed)
        F = to_parent(at, F)
        flows = [distribution_to_parent(flow, at.R, at.p) for flow in flows]
        b = tree[b].parent


def _travel(
    dM: Tensor,
    tree: list[ElementaryJoint],
    b: int,
    scale: float,
    k: int,
    turned: Expression,
    changed: Expression | None,
) -> None:
    """Propagate S_b ×* I S_d and the change of I S_b to each ancestor a of b."""
    own, scale = tree[b].coordinates, scale * tree[b].multiplier
    a = b
    while a != WORLD:
        to, rows, total = tree[a].motion, tree[a].coordinates, scale * tree[a].multiplier
        if changed is not None:
            block = total * (to.S.T @ changed)
            add_block(dM[k], rows, own, block)
            if a != b:
                add_block(dM[k], own, rows, block.T)
            changed = to_parent(to, changed)
        if a != b:
            block = total * (to.S.T @ turned)
            for s, j in enumerate(own):
                add_block(dM[j], rows, range(k, k + 1), block[:, s])
                add_block(dM[j], range(k, k + 1), rows, block[:, s].T)
        turned = to_parent(to, turned)
        a = tree[a].parent


def _flow(mass: Distribution, twist: Expression) -> Distribution:
    """The rate of a mass distribution that moves with a twist (μ, ν): each point by ṙ = μ × r + ν."""
    m, h, Σ = mass
    μ, ν = so3.hat(twist[:3]), twist[3:]
    half = μ @ Σ + ν @ h.T
    return ca.SX.zeros(1), μ @ h + m * ν, half + half.T


def _as_moments(mass: Distribution) -> Moments:
    m, h, Σ = mass
    return Moments(m, h, rotational(Σ))


def _sparse(matrix: Array) -> Expression:
    return ca.SX(ca.sparsify(ca.DM(matrix)))


def _moving_mass(model: Model, physics: Physics, q: Expression) -> Expression:
    """M without armature, which has no Coriolis torque."""
    return mass_matrix(model, replace(physics, armature=ca.SX.zeros(model.nv)), q)
