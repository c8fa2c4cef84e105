"""Derivatives of C and g along the state, and second derivatives of inverse and forward dynamics.

The last axis k is the velocity along which the quantity of the other axes is differentiated. On a manifold
two derivatives along velocities of one joint do not commute: [i, j, k] is the change along k of the
derivative along j.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.derivatives import recursive as derivatives
from helicoid.dynamics.derivatives.christoffel import (
    Tensor,
    along,
    as_output,
    coriolis_tensor,
    exchanged,
    mass_matrix_changes,
)
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.composites.composite import add_block, elements
from helicoid.dynamics.recursions.composites.regrouping import regrouped
from helicoid.dynamics.recursions.coriolis import coriolis_matrix
from helicoid.dynamics.recursions.mass_inverse import times_inverse
from helicoid.dynamics.recursions.rnea import bias, joint_friction
from helicoid.geometry import so3
from helicoid.model.model import WORLD, Model


class SecondDerivatives(NamedTuple):
    """∂²y/∂q∂q, ∂²y/∂q∂v, ∂²y/∂v∂v and ∂²y/∂u∂q, nv × nv × nv each; u the input that y is linear in."""

    dqdq: Expression
    dqdv: Expression
    dvdv: Expression
    dudq: Expression


def coriolis_matrix_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression
) -> tuple[Expression, Expression]:
    """∂C/∂q and ∂C/∂v = Γ of the matrix of `coriolis_matrix`, nv × nv × nv each.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> dC_dq, dC_dv = robot.coriolis_matrix_derivatives(q, v)
    >>> np.allclose(dC_dq @ v + dC_dv @ a, robot.coriolis_matrix_dot(q, v, a))
    True
    """
    C = coriolis_matrix(model, physics, q, v)
    return as_output(along(model, C, q)), as_output(coriolis_tensor(model, physics, q))


def gravity_derivatives(model: Model, physics: Physics, q: Expression) -> Expression:
    """∂g/∂q, nv × nv: symmetric where velocities are rates of coordinates (it is ∂²U/∂q∂q).

    A joint i that changes the first moment h of its descendants by ḣ changes the moment of their weight by
    ḣ × γ and nothing else; its component about the axis of an earlier joint j is ∂g_j/∂q_i = ∂g_i/∂q_j =
    μ_jᵀ (ḣ × γ).
    """
    tree = elements(model, q)
    inertias = regrouped(model, physics)
    upwards: list[Expression] = []
    loads = []
    for element in tree:
        γ = -physics.gravity if element.parent == WORLD else upwards[element.parent]
        upwards.append(element.motion.R.T @ γ)
        loads.append(inertias[element.body][:4] if element.body >= 0 else ca.SX.zeros(4))
    dg = ca.SX(model.nv, model.nv)
    for i in reversed(range(len(tree))):
        own, (R, p, S), parent = tree[i].coordinates, tree[i].motion, tree[i].parent
        m, h = loads[i][0], loads[i][1:]
        couple = so3.hat(upwards[i]) @ (so3.hat(h) @ S[:3, :] - m * S[3:, :])
        j = i
        while j != WORLD:
            block = tree[i].multiplier * tree[j].multiplier * (couple.T @ tree[j].motion.S[:3, :])
            add_block(dg, own, tree[j].coordinates, block)
            if j != i:
                add_block(dg, tree[j].coordinates, own, block.T)
            couple, j = tree[j].motion.R @ couple, tree[j].parent
        if parent != WORLD:
            loads[parent] = loads[parent] + ca.vertcat(m, R @ h + m * p)
    return dg


def inverse_dynamics_second_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression
) -> SecondDerivatives:
    """Second derivatives of τ = ID(q, v, a), friction included; ∂²τ/∂a∂q = ∂M/∂q.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> second = robot.inverse_dynamics_second_derivatives(q, v, a)
    >>> np.allclose(second.dM_dq, robot.mass_matrix_derivatives(q))
    True
    """
    return SecondDerivatives(*map(as_output, _inverse_dynamics(model, physics, q, v, a)))


def forward_dynamics_second_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression, tau: Expression
) -> SecondDerivatives:
    """Second derivatives of a = FD(q, v, τ); ∂²a/∂τ∂q = ∂M⁻¹/∂q.

    From τ = ID(q, v, FD(q, v, τ)), differentiated twice: with subscripts for derivatives,

        M a_jk = -(ID_jk + M_j a_k + M_k a_j)

    where M_j is the change of M along the direction j, zero along velocities.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> second = robot.forward_dynamics_second_derivatives(q, v, [0.0, 0.0])
    >>> np.allclose(second.d2a_dqdq, second.d2a_dqdq.swapaxes(1, 2))
    True
    """
    n = range(model.nv)
    # Derivatives of inverse dynamics are at constant a: a symbol there, which becomes FD afterwards.
    a = ca.SX.sym("a", model.nv)
    first = derivatives.inverse_dynamics_derivatives(model, physics, q, v, a)
    solve = times_inverse(model, physics, q, first.M)
    point = solve(tau - bias(model, physics, q, v))
    dq, dv = _at(point, a, [-first.dq, -first.dv])
    qq, qv, vv, dM = (_at(point, a, tensor) for tensor in _inverse_dynamics(model, physics, q, v, a))
    a_q, a_v, inverse = (solve(b) for b in (dq, dv, ca.SX.eye(model.nv)))

    def turned(x: Expression) -> Expression:
        return ca.horzcat(*(dM[j] @ x for j in n))

    right = [qq[k] + turned(a_q[:, k]) + dM[k] @ a_q for k in n]
    right += [qv[k] + turned(a_v[:, k]) for k in n] + vv + [dM[k] @ inverse for k in n]
    tensors = [[-solve(b) for b in right[i * model.nv : (i + 1) * model.nv]] for i in range(4)]
    return SecondDerivatives(*map(as_output, tensors))


def _at(point: Expression, a: Expression, tensor: Tensor) -> Tensor:
    return list(ca.substitute(tensor, [a], [point])) if a.numel() else tensor


def _inverse_dynamics(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    first = derivatives.inverse_dynamics_derivatives(model, physics, q, v, a)
    Γ = coriolis_tensor(model, physics, q)
    # C v is Σ Γ_ijk v_j v_k; friction of one joint depends on its own velocity alone, and dampers are linear.
    dvdv = [one + other for one, other in zip(Γ, exchanged(Γ), strict=True)]
    sliding = ca.jacobian(ca.diag(ca.jacobian(joint_friction(model, physics, q, v), v)), v)
    for k in range(model.nv):
        dvdv[k][k, k] += sliding[k, k]
    return (
        along(model, first.dq, q),
        exchanged(along(model, first.dv, q)),
        dvdv,
        mass_matrix_changes(model, physics, q),
    )
