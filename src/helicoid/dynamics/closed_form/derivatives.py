"""The derivatives of the closed form along the state: equations 24, 31 and 32 of Garofalo et al. (2013).

Notation as in `closed_form`; J^h is column h of a Jacobian. A derivative along q_h is one along velocity h,
so that joints whose velocities are no rates of coordinates need nothing else (33).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.closed_form.equations import (
    inertia_times,
    jacobians,
    subspace,
)
from helicoid.dynamics.derivatives.christoffel import as_output
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.composites.composite import (
    ElementaryJoint,
    elements,
    motion_cross,
    wrench_cross,
)
from helicoid.dynamics.tree import from_parent
from helicoid.model.model import WORLD, Model

Changes = dict[int, Expression]  # h -> 6 × nv


class ClosedFormDerivatives(NamedTuple):
    """∂M/∂q, ∂C/∂q, ∂C/∂v at [i, j, h] and ∂g/∂q at [i, h]."""

    dM_dq: Expression
    dC_dq: Expression
    dC_dv: Expression
    dg_dq: Expression


def closed_form_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression
) -> ClosedFormDerivatives:
    """∂M/∂q (24a), ∂C/∂q (24b), ∂C/∂v (24c), nv × nv × nv, and ∂g/∂q (24d), nv × nv, of `closed_form`."""
    tree, nv = elements(model, q), model.nv
    Js = jacobians(tree, nv, [v])
    dM, dCq, dCv = ([ca.SX(nv, nv) for _ in range(nv)] for _ in range(3))
    dg = ca.SX(nv, nv)
    weights: list[Expression] = []
    upwards = ca.vertcat(ca.SX.zeros(3), -physics.gravity)
    for element, (J, Jd), (dJ, dJd) in zip(tree, Js, _changes(tree, nv, v, Js), strict=True):
        γ = from_parent(element.motion, upwards if element.parent == WORLD else weights[element.parent])
        weights.append(γ)
        if element.body < 0:
            continue
        pi, V = physics.inertias[element.body], J @ v
        ΛJ, Λγ = inertia_times(pi, J), inertia_times(pi, γ)
        W = inertia_times(pi, motion_cross(V, J) + Jd) + wrench_cross(V, ΛJ)
        for h in dJ:
            dV, ΛdJ = dJ[h] @ v, inertia_times(pi, dJ[h])
            half = J.T @ ΛdJ
            dM[h] += half + half.T
            felt = motion_cross(dV, J) + motion_cross(V, dJ[h]) + dJd[h]
            dW = inertia_times(pi, felt) + wrench_cross(dV, ΛJ) + wrench_cross(V, ΛdJ)
            dCq[h] += dJ[h].T @ W + J.T @ dW
            turning = inertia_times(pi, motion_cross(J[:, h], J) + dJ[h]) + wrench_cross(J[:, h], ΛJ)
            dCv[h] += J.T @ turning
            dg[:, h] += dJ[h].T @ Λγ - J.T @ inertia_times(pi, motion_cross(J[:, h], γ))
    return ClosedFormDerivatives(as_output(dM), as_output(dCq), as_output(dCv), dg)


def _changes(
    tree: Sequence[ElementaryJoint], nv: int, v: Expression, Js: Sequence[Sequence[Expression]]
) -> list[tuple[Changes, Changes]]:
    """∂J_k/∂q_h (31) and ∂J̇_k/∂q_h (32) for each h that moves body k."""
    found: list[tuple[Changes, Changes]] = []
    for element in tree:
        motion, Ξ = element.motion, subspace(element, nv)
        ξ = Ξ @ v
        root = element.parent == WORLD
        J_p, Jd_p = [ca.SX(6, nv)] * 2 if root else [from_parent(motion, X) for X in Js[element.parent]]
        dJ, dJd = (
            ({}, {})
            if root
            else ({h: from_parent(motion, X) for h, X in c.items()} for c in found[element.parent])
        )
        for h in element.coordinates:
            dJ[h] = dJ.get(h, ca.SX(6, nv)) - motion_cross(Ξ[:, h], J_p)
            dJd[h] = dJd.get(h, ca.SX(6, nv)) - motion_cross(Ξ[:, h], Jd_p)
        found.append((dJ, {h: dJd[h] - motion_cross(ξ, dJ[h]) for h in dJ}))
    return found
