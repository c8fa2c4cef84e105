"""Derivatives of the dynamics as products of matrices with a column for each velocity.

The formulas are those of `recursive`, with all quantities in one frame: that of the first joint, or of the
world where the world carries several joints. Nothing is transformed from body to body then, and in the
notation of `recursive`

    ∂τ/∂q = ▽ (Pᵀ T_q) + △ (Sᵀ F_q)     ∂τ/∂v = ▽ (Pᵀ T_v) + △ (Sᵀ F_v)     M = ▽ (Fᵀ S) + △ (Sᵀ F)

where ▽ keeps, of each row, the columns of the joint's own element and of its ancestors, and △ those of its
descendants. Four stages compute them, all but the first alike for every robot:

    poses and motion    of each element, from the root outwards
    bodies              mass, momentum and wrench of each body, independent of each other
    composites          their sums from the tips inwards
    columns             P, T_q, T_v, F, F_q and F_v of each velocity, independent of each other
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.derivatives.recursive import (
    BodyMotion,
    bodies_in_motion,
    joint_forces,
    passive_derivatives,
)
from helicoid.dynamics.physics import Moments, Physics, rigid_inertia_times, symmetric
from helicoid.dynamics.recursions.aba import ties_branches
from helicoid.dynamics.recursions.composites.composite import (
    Composite,
    ElementaryJoint,
    elements,
    motion_cross,
)
from helicoid.dynamics.recursions.composites.mass_distribution import (
    Distribution,
    distribution,
    distribution_to_parent,
    rotational,
)
from helicoid.dynamics.recursions.composites.regrouping import regrouped
from helicoid.dynamics.tree import Pose, from_parent
from helicoid.geometry import so3
from helicoid.model.model import WORLD, Model

_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


class Stage(NamedTuple):
    """Columns of outputs from columns of inputs: symbols and expressions by name."""

    inputs: dict[str, Expression]
    outputs: dict[str, Expression]


class Kinship(NamedTuple):
    """Of each element its parent (-1: none) and of each velocity its element, and its relatives in M."""

    parents: list[int]
    elements: list[int]
    ancestors: list[list[int]]  # velocities of its own element and of all ancestors
    descendants: list[range]  # velocities of all bodies that its element carries


def can_be_products(model: Model, physics: Physics) -> bool:
    """Whether each velocity belongs to one joint, and springs and friction act along single velocities."""
    if ties_branches(model) or model.nv == 0:
        return False
    q, v = ca.SX.sym("q", model.nq), ca.SX.sym("v", model.nv)
    return all(_is_diagonal(matrix) for matrix in passive_derivatives(model, physics, q, v))


def kinship(model: Model) -> Kinship:
    """The relations of the velocities of a model without mimic joints."""
    tree = elements(model, ca.SX.sym("q", model.nq))
    own = [number for number, element in enumerate(tree) for _ in element.coordinates]
    end = [element.coordinates.stop for element in tree]
    for number in reversed(range(len(tree))):
        parent = tree[number].parent
        if parent != WORLD:
            end[parent] = max(end[parent], end[number])
    ancestors: list[list[int]] = []
    for element in tree:
        above = [] if element.parent == WORLD else ancestors[tree[element.parent].coordinates[-1]]
        ancestors += [[*above, *element.coordinates]] * len(element.coordinates)
    descendants = [range(tree[number].coordinates.stop, end[number]) for number in own]
    return Kinship([element.parent for element in tree], own, ancestors, descendants)


def poses_and_motion(
    model: Model, physics: Physics, q: Expression, v: Expression | None = None, a: Expression | None = None
) -> dict[str, Expression]:
    """Matrices with a column for each element: pose, π, and V and A unless v is None; S for each velocity.

    V and A have one more column, the last: twist and acceleration of the base.
    """
    tree, inertias = elements(model, q), regrouped(model, physics)
    poses, subspaces = _in_one_frame(tree)
    nothing = ca.SX.zeros(13)
    parameters = [nothing if e.body < 0 else _thirteen(inertias[e.body]) for e in tree]
    head = {
        "pose": ca.horzcat(*(ca.vertcat(ca.vec(R.T), p) for R, p in poses)),
        "pi": ca.horzcat(*parameters),
        "S": ca.horzcat(*subspaces),
    }
    if v is None or a is None:
        return head
    still = ca.vertcat(ca.SX.zeros(3), -physics.gravity)
    roots = [element for element in tree if element.parent == WORLD]
    base = ca.SX.zeros(6), still if len(roots) > 1 else from_parent(roots[0].motion, still)
    states: list[tuple[Expression, Expression]] = []
    for element, S in zip(tree, subspaces, strict=True):
        V, A = base if element.parent == WORLD else states[element.parent]
        relative = S @ element.velocity(v)
        states.append((V + relative, A + S @ element.velocity(a) + motion_cross(V, relative)))
    twists, accelerations = zip(*states, base, strict=True)
    return {**head, "V": ca.horzcat(*twists), "A": ca.horzcat(*accelerations)}


def bodies(moving: bool = True, inertia: bool = False, mass: bool = False) -> Stage:
    """Mass distribution, momentum and wrench of a body in the common frame, from its pose, π, V and A.

    With `inertia` its spatial inertia too, row by row; unless it is `moving`, that or the mass distribution.
    With `mass` the mass distribution once more, for `accelerated`.
    """
    pose, pi = ca.SX.sym("pose", 12), ca.SX.sym("pi", 13)
    own = distribution_to_parent(distribution(pi), ca.reshape(pose[:9], 3, 3).T, pose[9:])
    added = {"inertia": _packed_inertia(own)} if inertia else {}
    if not moving:
        return Stage({"pose": pose, "pi": pi}, added or {"composite": _packed_mass(own)})
    if mass:
        added["mass"] = _packed_mass(own)
    V, A = ca.SX.sym("V", 6), ca.SX.sym("A", 6)
    none = ca.SX(6, 1)
    composites, wrenches = bodies_in_motion([BodyMotion(V, A, none, none, none, none)], [_parameters(*own)])
    body = composites[0]
    packed = ca.vertcat(_packed_mass(own), body.p, ca.vec(body.N), wrenches[0])
    return Stage({"pose": pose, "pi": pi, "V": V, "A": A}, {"composite": packed, **added})


def forces() -> Stage:
    """F = I S of a velocity, from S and the mass distribution of the composite body."""
    S, packed = ca.SX.sym("S", 6), ca.SX.sym("composite", 10)
    return Stage({"S": S, "composite": packed}, {"F": _times_inertia(packed, S)})


def forces_and_torques() -> Stage:
    """The same F, and what is left of a torque when S has borne the wrench of the composite body."""
    S, packed, torque = ca.SX.sym("S", 6), ca.SX.sym("composite", 28), ca.SX.sym("torque")
    outputs = {"F": _times_inertia(packed, S), "rest": torque - ca.dot(S, packed[22:])}
    return Stage({"S": S, "composite": packed, "torque": torque}, outputs)


def joint_acceleration() -> Stage:
    """S a of a velocity."""
    S, a = ca.SX.sym("S", 6), ca.SX.sym("a")
    return Stage({"S": S, "a": a}, {"S_a": S * a})


def accelerated() -> Stage:
    """The wrench that one more acceleration of a body needs."""
    mass, A = ca.SX.sym("mass", 10), ca.SX.sym("A_a", 6)
    return Stage({"mass": mass, "A_a": A}, {"wrench": _times_inertia(mass, A)})


def columns(sign: float = 1.0, accelerated: bool = False) -> Stage:
    """The columns of a velocity, from S, the composite body, V, and V_p and A_p of the parent.

    With `sign` = -1 they are those of -∂τ/∂q and -∂τ/∂v. With `accelerated` joints, A_a is added to A_p and a
    `wrench` to that of the composite body; F is not among the columns, since it was needed before.
    """
    S, packed = ca.SX.sym("S", 6), ca.SX.sym("composite", 28)
    mass = _unpacked_mass(packed)
    V, V_p, A_p, A_a, wrench = (ca.SX.sym(name, 6) for name in ("V", "V_p", "A_p", "A_a", "wrench"))
    Ψd = motion_cross(V_p, S)
    A, f = (A_p + A_a, packed[22:] + wrench) if accelerated else (A_p, packed[22:])
    Ψdd = motion_cross(A, S) + motion_cross(V_p, Ψd)
    state = BodyMotion(V, V, S, Ψd, Ψdd, Ψd + motion_cross(V, S))
    composite = Composite(mass, packed[10:13], ca.reshape(packed[13:22], 3, 3))
    forces = joint_forces(state, composite, f)
    added = {"A_a": A_a, "wrench": wrench} if accelerated else {}
    return Stage(
        {"S": S, "composite": packed, "V": V, "V_p": V_p, "A_p": A_p, **added},
        {
            "P": ca.vertcat(sign * forces.G, sign * forces.F),
            "T_q": ca.vertcat(Ψd[:3], Ψdd),
            "T_v": ca.vertcat(S[:3], state.Ψd_plus_Sd),
            **({} if accelerated else {"F": forces.F}),
            "F_q": sign * forces.F_q,
            "F_v": sign * forces.F_v,
        },
    )


def _in_one_frame(tree: Sequence[ElementaryJoint]) -> tuple[list[Pose], list[Expression]]:
    """Pose and subspace of each element in the frame of the first one, or of the world."""
    roots = sum(element.parent == WORLD for element in tree)
    still: Pose = (ca.SX.eye(3), ca.SX.zeros(3))
    poses: list[Pose] = []
    subspaces: list[Expression] = []
    for element in tree:
        R, p, S = element.motion
        if element.parent == WORLD and roots == 1:
            poses.append(still)
            subspaces.append(S)
            continue
        R_p, p_p = still if element.parent == WORLD else poses[element.parent]
        R, p = R_p @ R, p_p + R_p @ p
        turned = R @ S[:3, :]
        moved = [ca.cross(p, turned[:, k]) for k in range(S.shape[1])]
        poses.append((R, p))
        subspaces.append(ca.vertcat(turned, R @ S[3:, :] + ca.horzcat(*moved)))
    return poses, subspaces


def _thirteen(pi: Expression) -> Expression:
    """π and the diagonal of Σ, which parameters that are inputs do not state."""
    return pi if pi.shape[0] == 13 else _parameters(*distribution(pi))


def _parameters(m: Expression, h: Expression, Σ: Expression) -> Expression:
    I = rotational(Σ)
    return ca.vertcat(m, h, *(I[i, j] for i, j in _UPPER), ca.diag(Σ))


def _packed_mass(mass: Distribution) -> Expression:
    m, h, Σ = mass
    return ca.vertcat(m, h, *(Σ[i, j] for i, j in _UPPER))


def _times_inertia(packed: Expression, X: Expression) -> Expression:
    m, h, Σ = _unpacked_mass(packed)
    return rigid_inertia_times(Moments(m, h, rotational(Σ)), X)


def _unpacked_mass(packed: Expression) -> Distribution:
    return packed[0], packed[1:4], symmetric(_upper(packed[4:10]))


def _packed_inertia(mass: Distribution) -> Expression:
    m, h, Σ = mass
    across = so3.hat(h)
    top, bottom = ca.horzcat(rotational(Σ), across), ca.horzcat(-across, m * ca.SX.eye(3))
    inertia = ca.vertcat(top, bottom)
    return ca.densify(ca.vec(inertia.T))


def _upper(elements: Expression) -> list[list[Expression]]:
    rows: list[list[Expression]] = [[ca.SX(0)] * 3 for _ in range(3)]
    for (i, j), k in zip(_UPPER, range(6), strict=True):
        rows[i][j] = elements[k]
    return rows


def _is_diagonal(matrix: Expression) -> bool:
    rows, columns = ca.sparsify(matrix).sparsity().get_triplet()
    return rows == columns
