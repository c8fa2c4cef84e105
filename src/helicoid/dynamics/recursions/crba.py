"""Composite rigid body algorithm (Walker and Orin 1982; Featherstone 2008, section 6.2).

Notation: m, h, Σ mass, first and second moment of a body and all that it carries, about its origin; F = I S
the wrench that a unit acceleration of its joint asks of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.linear import factor, solve
from helicoid.dynamics.physics import Moments, Physics, moments, rigid_inertia_times, symmetric
from helicoid.dynamics.recursions.regrouping import regrouped
from helicoid.dynamics.recursions.rnea import Wrenches, body_forces, joint_forces, passive_torque
from helicoid.dynamics.tree import JointMotion, joint_motions, to_parent
from helicoid.model.model import WORLD, Model

Distribution = tuple[Expression, Expression, Expression]  # m, h, Σ = ∫ r rᵀ dm: adds and moves simply


def mass_matrix(model: Model, physics: Physics, q: Expression) -> Expression:
    """M(q), nv × nv, symmetric; armature on its diagonal."""
    motions = joint_motions(model, q)
    stations = _stations(model, motions)
    composites = [distribution(pi) for pi in regrouped(model, physics)]
    # Of each body: the wrenches, as its station sees them, that unit accelerations of the joints it carries
    # ask for, and the columns of M that they belong to. Rows of M are set as a whole: to set its n² elements
    # one by one takes long.
    carried: list[list[Expression]] = [[] for _ in composites]
    columns: list[list[int]] = [[] for _ in composites]
    diagonal, above = ca.SX(model.nv, model.nv), ca.SX(model.nv, model.nv)
    for i in reversed(range(len(composites))):
        body, motion = model.bodies[i], motions[i]
        m, h, Σ = composites[i]
        own = body.multiplier * rigid_inertia_times(Moments(m, h, rotational(Σ)), motion.S)
        diagonal[body.v, body.v] += body.multiplier * (motion.S.T @ own)
        F = ca.horzcat(ca.SX(6, 0), *carried[i])
        _add_columns(above, body.v, columns[i], body.multiplier * (stations[i].subspace(motion.S).T @ F))
        if body.parent != WORLD:
            composites[body.parent] = add_distributions(
                composites[body.parent], distribution_to_parent(composites[i], motion.R, motion.p)
            )
            carried[body.parent].append(stations[i].to_parent(own, F))
            columns[body.parent] += [*range(model.nv)[body.v], *columns[i]]
    return diagonal + above + above.T + ca.diag(physics.armature)


class _Station(NamedTuple):
    """Where wrenches are seen from at a body: its own frame, or that of a body towards the root.

    Carrying all wrenches from each frame to the next takes most of the operations of a long chain. There,
    only every 16th body is a station; the others use that of their parent.
    """

    body: JointMotion | None  # the body as its station sees it; None if it is one
    itself: JointMotion | None  # a station as that of the parent sees it

    def subspace(self, S: Expression) -> Expression:
        """A joint's S as the station sees it."""
        if self.body is None:
            return S
        # A twist moves as a wrench with its halves swapped does.
        moved = to_parent(self.body, ca.vertcat(S[3:, :], S[:3, :]))
        return ca.vertcat(moved[3:, :], moved[:3, :])

    def to_parent(self, own: Expression, carried: Expression) -> Expression:
        """Wrenches in the body's frame, and others in the station's, for the station of the parent."""
        wrenches = ca.horzcat(own if self.body is None else to_parent(self.body, own), carried)
        return wrenches if self.itself is None else to_parent(self.itself, wrenches)


def _stations(model: Model, motions: Sequence[JointMotion]) -> list[_Station]:
    depths: list[int] = []
    for body in model.bodies:
        depths.append(0 if body.parent == WORLD else depths[body.parent] + 1)
    apart = 16 if max(depths, default=0) >= 20 else 1
    stations: list[_Station] = []
    for body, motion, depth in zip(model.bodies, motions, depths, strict=True):
        parent = None if body.parent == WORLD else stations[body.parent].body
        if parent is not None:
            motion = JointMotion(parent.R @ motion.R, parent.p + parent.R @ motion.p, motion.S)
        stations.append(_Station(motion, None) if depth % apart else _Station(None, motion))
    return stations


def _add_columns(M: Expression, rows: slice, columns: list[int], block: Expression) -> None:
    """Add a block to some rows and columns; a column may occur several times, where joints mimic one."""
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
    forces = body_forces(model, physics, motions, q, v, ca.SX.zeros(model.nv), wrenches)
    driving = tau - joint_forces(model, motions, forces) - passive_torque(model, physics, q, v)
    return solve(factor(mass_matrix(model, physics, q), model.velocity_names), driving)


def rotate_symmetric(R: Expression, A: Expression) -> Expression:
    """R A Rᵀ of a symmetric A, each element once."""
    RA = R @ A
    rows = [[ca.dot(RA[i, :], R[j, :]) if j >= i else None for j in range(3)] for i in range(3)]
    return symmetric(rows)


def distribution(pi: Expression) -> Distribution:
    """m, h, Σ of inertial parameters π, whose constants may tell the diagonal of Σ by itself."""
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
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]
