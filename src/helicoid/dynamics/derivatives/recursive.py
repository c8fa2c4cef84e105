"""Derivatives of inverse and forward dynamics by recursion (Singh, Russell, Wensing 2022), body coordinates.

Notation beyond that of `composite`: V, A twist and acceleration of a body, V_p, A_p those of its parent in
the body's frame; Ψ̇ = V_p × S, Ψ̈ = A_p × S + V_p × Ψ̇, Ṡ = V × S; f the wrench that accelerates a body and its
descendants. For a body i and an ancestor j (or i itself),

    ∂τ_i/∂q_j = S_iᵀ (2B Ψ̇_j + I Ψ̈_j)                ∂τ_j/∂q_i = S_jᵀ (2B Ψ̇_i + I Ψ̈_i + S_i ×* f)
    ∂τ_i/∂v_j = S_iᵀ (2B S_j + I (Ψ̇_j + Ṡ_j))         ∂τ_j/∂v_i = S_jᵀ (2B S_i + I (Ψ̇_i + Ṡ_i))

with the composite I, B, f of body i. The factor right of S_jᵀ is transformed from i to the root as a wrench.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.forces.passive import acts, elastic_torque
from helicoid.dynamics.forces.springs import spring_stiffness
from helicoid.dynamics.forces.tendon_inertia import (
    has_tendon_inertia,
    tendon_inertia_torque,
    tendon_mass_matrix,
)
from helicoid.dynamics.physics import Physics, moments, rigid_inertia_times
from helicoid.dynamics.recursions.composites.composite import (
    Composite,
    ElementaryJoint,
    add_block,
    elements,
    force_cross,
    motion_cross,
)
from helicoid.dynamics.recursions.composites.regrouping import regrouped
from helicoid.dynamics.recursions.mass_inverse import times_inverse
from helicoid.dynamics.recursions.rnea import acceleration_tensor, bias, euler_moment, joint_friction
from helicoid.dynamics.tree import from_parent, rate_matrix, to_parent
from helicoid.model.model import WORLD, Model


class Derivatives(NamedTuple):
    """∂τ/∂q (tangent space), ∂τ/∂v and M = ∂τ/∂a, each nv × nv."""

    dq: Expression
    dv: Expression
    M: Expression


class BodyMotion(NamedTuple):
    """Results of the outward pass for an elementary joint."""

    V: Expression
    A: Expression
    S: Expression
    Ψd: Expression
    Ψdd: Expression
    Ψd_plus_Sd: Expression


def inverse_dynamics_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression
) -> Derivatives:
    """∂τ/∂q, ∂τ/∂v and M at (q, v, a); springs, friction and armature included.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> dtau_dq, dtau_dv, M = robot.inverse_dynamics_derivatives(q, v, a)
    >>> np.allclose(M, robot.mass_matrix(q))
    True
    """
    tree = elements(model, q)
    states = outward(tree, physics, v, a)
    inertias = regrouped(model, physics)
    parameters = [inertias[element.body] if element.body >= 0 else None for element in tree]
    composites, wrenches = bodies_in_motion(states, parameters)
    result = Derivatives(*(ca.SX(model.nv, model.nv) for _ in range(3)))
    for i in reversed(range(len(tree))):
        _fill(result, tree, states, composites[i], wrenches[i], i)
        motion, parent = tree[i].motion, tree[i].parent
        if parent != WORLD:
            composites[parent] = composites[parent].plus(composites[i].to_parent(motion))
            wrenches[parent] = wrenches[parent] + to_parent(motion, wrenches[i])
    springs, sliding = passive_derivatives(model, physics, q, v)
    M = result.M + ca.diag(physics.armature)
    if has_tendon_inertia(model):
        tau = tendon_inertia_torque(model, q, v, a)
        springs += ca.jacobian(tau, q) @ rate_matrix(model, q)
        sliding += ca.jacobian(tau, v)
        M += tendon_mass_matrix(model, q)
    return Derivatives(result.dq + springs, result.dv + sliding, M)


def passive_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression
) -> tuple[Expression, Expression]:
    """∂/∂q and ∂/∂v of the torque of springs and friction, nv × nv each."""
    friction = joint_friction(model, physics, q, v)
    sliding, springs = ca.jacobian(friction, v), spring_stiffness(model, q)
    acting = friction + elastic_torque(model, physics, q) if acts(model) else friction
    if ca.depends_on(acting, q):  # a load, an elastic element, a tendon
        springs += ca.jacobian(acting, q) @ rate_matrix(model, q)
    return springs, sliding


def forward_dynamics_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression, tau: Expression
) -> Derivatives:
    """∂a/∂q, ∂a/∂v and M⁻¹ = ∂a/∂τ: from τ = ID(q, v, FD(q, v, τ)), ∂a = -M⁻¹ ∂ID.

    The same M⁻¹ gives the acceleration, M a = τ - h(q, v).

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> da_dq, da_dv, M_inverse = robot.forward_dynamics_derivatives(q, v, [0.0, 0.0])
    >>> np.allclose(M_inverse @ robot.mass_matrix(q), np.eye(2))
    True
    """
    nv, a = model.nv, ca.SX.sym("a", model.nv)
    given = inverse_dynamics_derivatives(model, physics, q, v, a)
    solve = times_inverse(model, physics, q, given.M)
    point = solve(tau - bias(model, physics, q, v))
    columns = ca.substitute(ca.horzcat(-given.dq, -given.dv), a, point) if nv else ca.SX.zeros(0, 0)
    solved, inverse = solve(columns), solve(ca.SX.eye(nv))
    symmetric = ca.tril(inverse) + ca.tril(inverse, False).T  # each element once
    return Derivatives(solved[:, :nv], solved[:, nv:], symmetric)


def outward(tree: list[ElementaryJoint], physics: Physics, v: Expression, a: Expression) -> list[BodyMotion]:
    states: list[BodyMotion] = []
    still = ca.SX.zeros(6), ca.vertcat(ca.SX.zeros(3), -physics.gravity)
    for element in tree:
        motion, S = element.motion, element.motion.S
        V, A = still if element.parent == WORLD else states[element.parent][:2]
        V_p, A_p, v_i = from_parent(motion, V), from_parent(motion, A), element.velocity(v)
        Ψd = motion_cross(V_p, S)
        Ψdd = motion_cross(A_p, S) + motion_cross(V_p, Ψd)
        relative = S @ v_i
        # A joint of one coordinate does not turn its own axis: V × S = V_p × S.
        Sd = Ψd if len(element.coordinates) == 1 else motion_cross(V_p + relative, S)
        states.append(
            BodyMotion(V_p + relative, A_p + S @ element.velocity(a) + Ψd @ v_i, S, Ψd, Ψdd, Ψd + Sd)
        )
    return states


def bodies_in_motion(
    states: Sequence[BodyMotion], parameters: Sequence[Expression | None]
) -> tuple[list[Composite], list[Expression]]:
    """Mass, momentum and wrench of the body behind each element; None is no body."""
    composites, wrenches = [], []
    for state, pi in zip(states, parameters, strict=True):
        composites.append(Composite.nothing() if pi is None else Composite.of_body(pi, state.V))
        wrenches.append(ca.SX.zeros(6) if pi is None else _wrench(pi, state))
    return composites, wrenches


def _wrench(pi: Expression, state: BodyMotion) -> Expression:
    """(n, f) that a body's own motion needs, as in `rnea`."""
    m, h, I = moments(pi)
    ω, u, ωd = state.V[:3], state.V[3:], state.A[:3]
    felt = state.A[3:] + ca.cross(ω, u)
    B = acceleration_tensor(ω, ωd)
    return ca.vertcat(ca.cross(h, felt) + euler_moment(I, ω, ωd, B), m * felt + B @ h)


class JointForces(NamedTuple):
    """Forces of a composite body per unit of the coordinates of its joint."""

    F: Expression  # I S
    F_q: Expression  # 2 B Ψ̇ + I Ψ̈ + S ×* f
    F_v: Expression  # 2 B S + I (Ψ̇ + Ṡ)
    G: Expression  # angular half of 2 Bᵀ S; the linear half is zero


def joint_forces(state: BodyMotion, composite: Composite, f: Expression) -> JointForces:
    """F, F_q, F_v and G of an elementary joint whose composite body needs the wrench f."""
    _, _, S, Ψd, Ψdd, Ψd_plus_Sd = state
    inertia = composite.inertia
    F = rigid_inertia_times(inertia, S)
    F_q = composite.two_B(Ψd) + rigid_inertia_times(inertia, Ψdd) + force_cross(S, f)
    F_v = composite.two_B(S) + rigid_inertia_times(inertia, Ψd_plus_Sd)
    return JointForces(F, F_q, F_v, composite.two_B_transposed(S))


def _fill(
    result: Derivatives,
    tree: list[ElementaryJoint],
    states: list[BodyMotion],
    composite: Composite,
    f: Expression,
    i: int,
) -> None:
    """The rows and columns of one element against itself and its ancestors."""
    F, F_q, F_v, G = joint_forces(states[i], composite, f)
    rows, j = tree[i].coordinates, i
    while j != WORLD:
        to, scale, columns = states[j], tree[i].multiplier * tree[j].multiplier, tree[j].coordinates
        add_block(result.dq, rows, columns, scale * (G.T @ to.Ψd[:3, :] + F.T @ to.Ψdd))
        add_block(result.dv, rows, columns, scale * (G.T @ to.S[:3, :] + F.T @ to.Ψd_plus_Sd))
        add_block(result.M, columns, rows, scale * (to.S.T @ F))
        if j != i:
            add_block(result.dq, columns, rows, scale * (to.S.T @ F_q))
            add_block(result.dv, columns, rows, scale * (to.S.T @ F_v))
            add_block(result.M, rows, columns, scale * (F.T @ to.S))
        motion, j = tree[j].motion, tree[j].parent
        F, F_q, F_v, G = to_parent(motion, F), to_parent(motion, F_q), to_parent(motion, F_v), motion.R @ G
