"""Derivatives of inverse and forward dynamics by recursion (Singh, Russell, Wensing 2022), body coordinates.

Notation, all about a body's origin in its own axes: V, A twist and acceleration of the body, V_p, A_p those
of its parent as felt there; S its joint's subspace; Ψ̇ = V_p × S, Ψ̈ = A_p × S + V_p × Ψ̇, Ṡ = V × S. Composite,
that is summed over a body and all that it carries: the mass distribution m, h, Σ; the momentum p = ∫ ṙ dm;
the wrench f; and N = ∫ r ṙᵀ dm, which holds the paper's matrix B: a twist (μ, ν) has

    2 B (μ, ν) = (K μ, 2 μ × p),   K = 2 (tr N 1 - Nᵀ)

the Coriolis wrench of a body that moves with ṙ while its frame turns with μ. Only μ enters. With these, for a
body i and an ancestor j (or i itself),

    ∂τ_i/∂q_j = S_iᵀ (2B Ψ̇_j + I Ψ̈_j)                ∂τ_j/∂q_i = S_jᵀ (2B Ψ̇_i + I Ψ̈_i + S_i ×* f)
    ∂τ_i/∂v_j = S_iᵀ (2B S_j + I (Ψ̇_j + Ṡ_j))         ∂τ_j/∂v_i = S_jᵀ (2B S_i + I (Ψ̇_i + Ṡ_i))

with the composite I, B, f of body i. What stands right of S_jᵀ travels from i to the root as a wrench.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from helicoid.dynamics.aba import forward_dynamics
from helicoid.dynamics.crba import (
    Distribution,
    add_distributions,
    distribution,
    distribution_to_parent,
    rigid_inertia_times,
    rotational,
)
from helicoid.dynamics.friction import friction_torque
from helicoid.dynamics.linear import factor, solve
from helicoid.dynamics.physics import Moments, Physics, moments
from helicoid.dynamics.regrouping import regrouped
from helicoid.dynamics.rnea import acceleration_tensor, euler_moment
from helicoid.dynamics.tree import JointMotion, from_parent, joint_coordinates, to_parent
from helicoid.geometry import so3
from helicoid.model.joints import Expression
from helicoid.model.model import WORLD, Model


class Derivatives(NamedTuple):
    """∂τ/∂q (tangent space), ∂τ/∂v and M = ∂τ/∂a, each nv × nv."""

    dq: Expression
    dv: Expression
    M: Expression


class _Element(NamedTuple):
    """A joint with constant S and the body behind it; -1 between the stages of a joint that has several."""

    motion: JointMotion
    parent: int
    body: int
    coordinates: range
    multiplier: float


class _Motion(NamedTuple):
    """What the outward pass finds for an element."""

    V: Expression
    A: Expression
    S: Expression
    Ψd: Expression
    Ψdd: Expression
    Ψd_plus_Sd: Expression


class _Composite(NamedTuple):
    """What the inward pass sums: mass distribution, momentum p, N and wrench f."""

    mass: Distribution
    p: Expression
    N: Expression
    f: Expression


def inverse_dynamics_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression
) -> Derivatives:
    """∂τ/∂q, ∂τ/∂v and M at (q, v, a), friction and armature included."""
    elements = _elements(model, q)
    states = _outward(elements, physics, v, a)
    inertias = regrouped(model, physics)
    composites = [
        _composite(inertias[element.body], state) if element.body >= 0 else _nothing()
        for element, state in zip(elements, states, strict=True)
    ]
    result = Derivatives(*(ca.SX(model.nv, model.nv) for _ in range(3)))
    for i in reversed(range(len(elements))):
        _fill(result, elements, states, composites[i], i)
        parent = elements[i].parent
        if parent != WORLD:
            composites[parent] = _sum(composites[parent], _to_parent(elements[i].motion, composites[i]))
    sliding = ca.jacobian(friction_torque(physics, v), v)
    return Derivatives(result.dq, result.dv + sliding, result.M + ca.diag(physics.armature))


def forward_dynamics_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression, tau: Expression
) -> Derivatives:
    """∂a/∂q, ∂a/∂v and M⁻¹ = ∂a/∂τ: from τ = ID(q, v, FD(q, v, τ)), ∂a = -M⁻¹ ∂ID."""
    a = forward_dynamics(model, physics, q, v, tau)
    given = inverse_dynamics_derivatives(model, physics, q, v, a)
    nv = model.nv
    columns = ca.horzcat(-given.dq, -given.dv, ca.SX.eye(nv))
    solved = solve(factor(given.M), columns)
    return Derivatives(solved[:, :nv], solved[:, nv : 2 * nv], solved[:, 2 * nv :])


def _elements(model: Model, q: Expression) -> list[_Element]:
    elements: list[_Element] = []
    last: list[int] = []  # of each body: its element
    for number, body in enumerate(model.bodies):
        R, p = ca.SX(body.placement.rotation), ca.SX(body.placement.translation)
        parent = WORLD if body.parent == WORLD else last[body.parent]
        q_i, used_q, used_v = joint_coordinates(body, q), 0, body.v.start
        stages = body.joint.type.elementary()
        for k, stage in enumerate(stages):
            own = q_i[used_q : used_q + stage.nq]
            R_J, p_J = stage.pose(own)
            motion = JointMotion(R @ R_J, p + R @ p_J, stage.subspace(own))
            carried = number if k == len(stages) - 1 else -1
            elements.append(
                _Element(motion, parent, carried, range(used_v, used_v + stage.nv), body.multiplier)
            )
            parent, used_q, used_v = len(elements) - 1, used_q + stage.nq, used_v + stage.nv
            R, p = ca.SX.eye(3), ca.SX.zeros(3)
        last.append(parent)
    return elements


def _outward(elements: list[_Element], physics: Physics, v: Expression, a: Expression) -> list[_Motion]:
    states: list[_Motion] = []
    still = ca.SX.zeros(6), ca.vertcat(ca.SX.zeros(3), -physics.gravity)
    for motion, parent, _, coordinates, k in elements:
        V, A = still if parent == WORLD else states[parent][:2]
        V_p, A_p, S = from_parent(motion, V), from_parent(motion, A), motion.S
        v_i = k * ca.vertcat(*(v[c] for c in coordinates))
        a_i = k * ca.vertcat(*(a[c] for c in coordinates))
        Ψd = _motion_cross(V_p, S)
        Ψdd = _motion_cross(A_p, S) + _motion_cross(V_p, Ψd)
        relative = S @ v_i
        # A joint of one coordinate does not turn its own axis: V × S = V_p × S.
        Sd = Ψd if len(coordinates) == 1 else _motion_cross(V_p + relative, S)
        states.append(_Motion(V_p + relative, A_p + S @ a_i + Ψd @ v_i, S, Ψd, Ψdd, Ψd + Sd))
    return states


def _composite(pi: Expression, state: _Motion) -> _Composite:
    """A body's own share."""
    m, h, I = moments(pi)
    mass = distribution(pi)
    ω, u, ωd = state.V[:3], state.V[3:], state.A[:3]
    felt = state.A[3:] + ca.cross(ω, u)
    B = acceleration_tensor(ω, ωd)
    f = ca.vertcat(ca.cross(h, felt) + euler_moment(I, ω, ωd, B), m * felt + B @ h)
    return _Composite(mass, m * u + ca.cross(ω, h), h @ u.T - mass[2] @ so3.hat(ω), f)


def _fill(
    result: Derivatives, elements: list[_Element], states: list[_Motion], composite: _Composite, i: int
) -> None:
    """The rows and columns of one element against itself and its ancestors."""
    (m, h, Σ), p, N, f = composite
    inertia = Moments(m, h, rotational(Σ))
    K = 2 * ((N[0, 0] + N[1, 1] + N[2, 2]) * ca.SX.eye(3) - N.T)
    _, _, S, Ψd, Ψdd, Ψd_plus_Sd = states[i]
    F = rigid_inertia_times(inertia, S)
    F_q = _coriolis(K, p, Ψd) + rigid_inertia_times(inertia, Ψdd) + _force_cross(S, f)
    F_v = _coriolis(K, p, S) + rigid_inertia_times(inertia, Ψd_plus_Sd)
    G = K.T @ S[:3, :] + 2 * so3.hat(p) @ S[3:, :]
    rows, j = elements[i].coordinates, i
    while j != WORLD:
        to, scale = states[j], elements[i].multiplier * elements[j].multiplier
        columns = elements[j].coordinates
        _add(result.dq, rows, columns, scale * (G.T @ to.Ψd[:3, :] + F.T @ to.Ψdd))
        _add(result.dv, rows, columns, scale * (G.T @ to.S[:3, :] + F.T @ to.Ψd_plus_Sd))
        _add(result.M, columns, rows, scale * (to.S.T @ F))
        if j != i:
            _add(result.dq, columns, rows, scale * (to.S.T @ F_q))
            _add(result.dv, columns, rows, scale * (to.S.T @ F_v))
            _add(result.M, rows, columns, scale * (F.T @ to.S))
        motion = elements[j].motion
        F, F_q, F_v, G = to_parent(motion, F), to_parent(motion, F_q), to_parent(motion, F_v), motion.R @ G
        j = elements[j].parent


def _add(matrix: Expression, rows: range, columns: range, block: Expression) -> None:
    matrix[rows.start : rows.stop, columns.start : columns.stop] += block


def _coriolis(K: Expression, p: Expression, twists: Expression) -> Expression:
    """2 B X = (K μ, 2 μ × p) for each column (μ, ν) of X."""
    μ = twists[:3, :]
    return ca.vertcat(K @ μ, -2 * so3.hat(p) @ μ)


def _motion_cross(V: Expression, X: Expression) -> Expression:
    """V × X for each column: (ω × μ, u × μ + ω × ν)."""
    ω, u = so3.hat(V[:3]), so3.hat(V[3:])
    return ca.vertcat(ω @ X[:3, :], u @ X[:3, :] + ω @ X[3:, :])


def _force_cross(X: Expression, f: Expression) -> Expression:
    """X ×* f for each column (μ, ν): (μ × n + ν × f, μ × f)."""
    n, linear = so3.hat(f[:3]), so3.hat(f[3:])
    return ca.vertcat(-n @ X[:3, :] - linear @ X[3:, :], -linear @ X[:3, :])


def _to_parent(motion: JointMotion, composite: _Composite) -> _Composite:
    mass, p, N, f = composite
    R = motion.R
    p_turned = R @ p
    return _Composite(
        distribution_to_parent(mass, R, motion.p),
        p_turned,
        R @ N @ R.T + motion.p @ p_turned.T,
        to_parent(motion, f),
    )


def _sum(one: _Composite, other: _Composite) -> _Composite:
    mass = add_distributions(one.mass, other.mass)
    return _Composite(mass, one.p + other.p, one.N + other.N, one.f + other.f)


def _nothing() -> _Composite:
    zero = ca.SX.zeros(3)
    return _Composite((ca.SX.zeros(1), zero, ca.SX.zeros(3, 3)), zero, ca.SX.zeros(3, 3), ca.SX.zeros(6))
