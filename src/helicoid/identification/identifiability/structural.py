"""Structural identifiability: the row space of a regressor over all motions, exactly and without samples.

Torques τ = Y x vanish for every motion if and only if the mass matrix and the gradient of the potential
vanish everywhere. Element (k, j) of the mass matrix, joint j carrying joint k, is s_kᵀ I_k(q) X_kj(q) s_j:
I_k is the composite inertia that joint k carries, which depends on the joints behind k alone, and X_kj s_j
the motion that j gives to it, which depends on the joints up to k alone. So what can be excited is found by
linear algebra on the tree (Wensing, Niemeyer and Slotine 2024):

- a joint moves vectors by exp(-q ad_s), hence a subspace of motions becomes its smallest superspace that ad_s
  leaves invariant; linear functionals f(π) of a body's inertial parameters grow in the same way;
- a functional of the composite inertia of k that changes with the joints behind k gives, beside its value at
  the reference, one row for each direction in which it changes.

Gravity is one more motion of the base, whose value is not free: it is kept apart from its changes.

A friction term depends on the motion of its own joint; but for constants no torque of rigid bodies depends
on it in the same way. So the terms of a joint are separated by how their columns change from state to state,
and their values at rest add to the torque of gravity at the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.dynamics.physics import nominal
from helicoid.dynamics.recursions.composites.composite import elements
from helicoid.geometry import se3, spatial
from helicoid.identification.linear.equations.regression import Regression
from helicoid.model.inertia import Inertia, transformation
from helicoid.model.model import WORLD, Model

_FRICTION_STATES = 64
_RANK_TOLERANCE = 1e-11  # of unit vectors

# I(e_k), (10, 6, 6): the spatial inertia of each parameter.
_INERTIAS = np.array([spatial.inertia_from_parameters(unit) for unit in np.eye(10)])
# e_a ×* I(π) e_b = _GYROSCOPIC[a, b] π, (6, 6, 6, 10).
_GYROSCOPIC = np.einsum("acd,kdb->abck", [spatial.force_cross(unit) for unit in np.eye(6)], _INERTIAS)


class _Stage(NamedTuple):
    """A joint of constant subspace at its reference: S (6, n) by columns, and what maps parent to child."""

    parent: int
    body: int
    coordinates: range
    S: Array
    motion: Array  # 6 × 6: a twist of the parent seen from the child
    parameters: Array  # 10 × 10: π of the child seen from the parent
    # How the joint changes rows, from the right: ad_sᵀ for twists, d/dq of `parameters` for functionals.
    motion_generators: list[Array]
    parameter_generators: list[Array]


def excited_rows(regression: Regression) -> Array | None:
    """Rows (r, unknowns) that span every row which Y can ever have; None where this theory does not apply.

    That is so with mimic joints, which tie the motions of several joints together, with elastic elements,
    whose torques can have the shape of gravity's, and when the wrenches of some of the joints are measured
    but not of all, or with unknown offsets.
    """
    model = regression.robot.model
    if "elastic" in regression.groups and model.elastic:
        return None
    if any(body.joint.mimic is not None for body in model.bodies):
        return None
    if not regression.wrenches:
        return _torque_rows(regression)
    if "offset" in regression.groups:
        return None
    measured = {model.frame(link).body for link in regression.wrenches}
    return _wrench_rows(regression) if measured == set(range(len(model.bodies))) else None


class _Motions(NamedTuple):
    """Motions of a stage by its ancestors, and gravity with its changes, in the stage's coordinates."""

    inherited: Array  # rows, orthonormal
    gravity: Array  # at the reference
    gravity_changes: Array  # rows


def _motions(stages: Sequence[_Stage], gravity: Array) -> list[_Motions]:
    found: list[_Motions] = []
    none = np.zeros((0, 6))
    for stage in stages:
        if stage.parent == WORLD:
            carried, weight, changes = none, gravity, none
        else:
            above, S = found[stage.parent], stages[stage.parent].S
            carried, weight, changes = np.vstack([above.inherited, S.T]), above.gravity, above.gravity_changes
        X, ad = stage.motion, stage.motion_generators
        weight = X @ weight
        turned = _closure(weight[None], ad)
        changed = _span(_closure(changes @ X.T, ad), *(turned @ A for A in ad))
        found.append(_Motions(_closure(carried @ X.T, ad), weight, changed))
    return found


def _torque_rows(regression: Regression) -> Array:
    model, parameters = regression.robot.model, regression.parameters
    inertial = parameters.groups.get("inertia", slice(0, 0))
    stages = _stages(model)
    lifts = _lifts(stages, len(model.bodies))
    at_reference, changes = _friction_rows(regression)
    rows = list(changes)
    armature = parameters.groups.get("armature")

    def add(functionals: Array, stage: int, beside: Array | float = 0.0) -> None:
        row = np.zeros((len(functionals), len(parameters)))
        if "inertia" in parameters.groups:
            row[:, inertial] = functionals @ lifts[stage]
        rows.extend(row + beside)

    def rotor(coordinate: int) -> Array:
        row = np.zeros(len(parameters))
        if armature is not None and coordinate in regression.jointed:
            row[armature.start + regression.jointed.index(coordinate)] = 1.0
        return row

    felt: list[Array] = []  # functionals that any torque applies to the composite inertia of each stage
    for k, (stage, motions) in enumerate(zip(stages, _motions(stages, _base_gravity(model)), strict=True)):
        generators = stage.parameter_generators
        above = np.zeros((0, 10)) if stage.parent == WORLD else felt[stage.parent] @ stage.parameters
        inherited = _closure(above, generators)
        add(_span(*(inherited @ A for A in generators)), k)
        own = []
        for s, coordinate in zip(stage.S.T, stage.coordinates, strict=True):
            free = _functionals(s, np.vstack([motions.inherited, motions.gravity_changes]))
            add(free, k)
            weight = _functionals(s, motions.gravity[None])
            add(weight, k, at_reference[coordinate])
            between = _functionals(s, stage.S.T)
            for functional, other in zip(between, stage.coordinates, strict=True):
                add(functional[None], k, rotor(coordinate) if other == coordinate else 0.0)
            own.extend([free, weight, between])
        turning = _gyroscopic(stage.S)
        add(turning, k)
        felt.append(_span(inherited, turning, *own))
    return np.array(rows).reshape(-1, len(parameters))


def _friction_rows(regression: Regression) -> tuple[Array, Array]:
    """Rows of friction terms: at rest at the reference (nv, unknowns), and their changes (n, unknowns).

    Random states show every dependence between the columns of a joint, with probability one.
    """
    robot, parameters = regression.robot, regression.parameters
    terms = [group for group in regression.groups if group in TERMS]
    rows = np.zeros((_FRICTION_STATES, robot.nv, len(parameters)))
    if not terms:
        return rows[0], rows[0, :0]
    rng = np.random.default_rng(0)
    q = np.array([robot.random(rng) for _ in rows])
    v, a = rng.normal(size=(2, len(rows), robot.nv))
    q[0], v[0] = robot.neutral(), 0.0
    friction = regression.with_groups(terms)
    Y = friction.regressor(q, v, a)
    for group, own in friction.parameters.groups.items():
        rows[:, :, parameters.groups[group]] = Y[:, :, own]
    changes = [_span(rows[1:, k] - rows[0, k]) for k in range(robot.nv)]
    return rows[0], np.concatenate(changes)


def _wrench_rows(regression: Regression) -> Array:
    """All joints' wrenches give each body's own, I A + V ×* I V: its rows are Λ(A) and those of V ⊗ V."""
    model, parameters = regression.robot.model, regression.parameters
    inertial = parameters.groups.get("inertia", slice(0, 0))
    if "inertia" not in parameters.groups:
        return np.zeros((0, len(parameters)))
    stages = _stages(model)
    rows: list[Array] = []
    products: list[Array] = []  # of each stage: rows of the span of V ⊗ V, (36,)
    for stage, motions in zip(stages, _motions(stages, _base_gravity(model)), strict=True):
        X = np.kron(stage.motion, stage.motion)
        above = np.zeros((0, 36)) if stage.parent == WORLD else products[stage.parent] @ X.T
        one = np.eye(6)
        both = [np.kron(ad, one) + np.kron(one, ad) for ad in stage.motion_generators]
        free = np.vstack([motions.inherited, stage.S.T])
        mixed = [np.kron(s, other) + np.kron(other, s) for s in stage.S.T for other in free]
        products.append(_span(_closure(above, both), np.array(mixed).reshape(-1, 36)))
        if stage.body < 0:
            continue
        felt = np.vstack([free, motions.gravity[None], motions.gravity_changes])
        linear = np.einsum("kcd,nd->nck", _INERTIAS, felt).reshape(-1, 10)
        square = np.einsum("nab,abck->nck", products[-1].reshape(-1, 6, 6), _GYROSCOPIC).reshape(-1, 10)
        own = _span(linear, square)
        row = np.zeros((len(own), len(parameters)))
        row[:, inertial.start + 10 * stage.body : inertial.start + 10 * stage.body + 10] = own
        rows.extend(row)
    return np.array(rows).reshape(-1, len(parameters))


def _stages(model: Model) -> list[_Stage]:
    neutral = np.concatenate([np.zeros(0), *(body.joint.type.neutral() for body in model.bodies)])
    found = []
    for element in elements(model, ca.SX(neutral)):
        R, p, S = (np.array(ca.evalf(ca.SX(part))) for part in element.motion)
        T = se3.pose(R, p.ravel())
        found.append(
            _Stage(
                element.parent,
                element.body,
                element.coordinates,
                S,
                spatial.motion_transform(se3.inverse(T)),
                transformation(R, p.ravel()),
                [spatial.motion_cross(s).T for s in S.T],
                [_generator(s) for s in S.T],
            )
        )
    return found


def _generator(s: Array) -> Array:
    """d/dq of the parameters of a body that moves along s: Ṗ = [s] P + P [s]ᵀ of its pseudo-inertia P."""
    columns = []
    for unit in np.eye(10):
        moving = se3.hat(s) @ Inertia.from_parameters(unit).pseudo
        columns.append(Inertia.from_pseudo(moving + moving.T).parameters)
    return np.column_stack(columns)


def _lifts(stages: Sequence[_Stage], n_bodies: int) -> list[Array]:
    """(10, 10 n): the parameters of all that a stage carries, seen from it at the reference."""
    lifts = [np.zeros((10, 10 * n_bodies)) for _ in stages]
    for k, stage in reversed(list(enumerate(stages))):
        if stage.body >= 0:
            lifts[k][:, 10 * stage.body : 10 * stage.body + 10] = np.eye(10)
        if stage.parent != WORLD:
            lifts[stage.parent] += stage.parameters @ lifts[k]
    return lifts


def _functionals(s: Array, motions: Array) -> Array:
    """y with y π = sᵀ I(π) ν for each row ν of `motions`, (n, 10)."""
    return np.einsum("c,kcd,nd->nk", s, _INERTIAS, motions)


def _gyroscopic(S: Array) -> Array:
    """y with y π = aᵀ (b ×* I c + c ×* I b) for the columns a, b, c of S, (n³, 10).

    Velocities of a ball are no rates of coordinates: their products appear beside the derivatives of the mass
    matrix, with the inertia that the body has and without that of the armature.
    """
    if S.shape[1] == 1:
        return np.zeros((0, 10))
    products = np.einsum("ai,bj,ck,abcn->ijkn", S, S, S, _GYROSCOPIC)
    return (products + products.transpose(1, 0, 2, 3)).reshape(-1, 10)


def _base_gravity(model: Model) -> Array:
    """Gravity as an acceleration of the base in the opposite direction."""
    return np.concatenate([np.zeros(3), -np.array(ca.evalf(nominal(model).gravity)).ravel()])


def _span(*rows: Array) -> Array:
    """An orthonormal basis, as rows, of the space that all these rows span."""
    _, singular, basis = np.linalg.svd(np.vstack(rows), full_matrices=False)
    return basis[singular > _RANK_TOLERANCE * singular.max(initial=1.0)]


def _closure(rows: Array, generators: Sequence[Array]) -> Array:
    """The smallest space that holds these rows and, with each row f, also f A for every generator A."""
    basis = _span(rows)
    while True:
        grown = _span(basis, *(basis @ A for A in generators))
        if len(grown) == len(basis):
            return basis
        basis = grown
