"""Fewer operations for the same motion: mass that a joint does not move belongs to the parent as well.

The mass distribution of a body is its pseudo-inertia P = ∫ x xᵀ dm over homogeneous points x = (r, 1),
P = [[Σ, h], [hᵀ, m]]. Points that a joint leaves where they are, [S] x = 0 for each of its twists, move
with the parent just as well: the points of a hinge's axis, or the directions (r, 0) of a slide. With N a
basis of them and Π = N Nᵀ, the part Π P Π can be handed to the parent, and exact zeros stay behind. (What
stays are minimal parameters as in identification, Gautier and Khalil 1990, here for joints of any type.)
"""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.dynamics.physics import Physics, constant_parameters
from helicoid.geometry import se3
from helicoid.model.inertia import Inertia
from helicoid.model.joint_type import JointType
from helicoid.model.model import WORLD, Model


def regrouped(model: Model, physics: Physics, at_most: float = np.inf) -> list[Expression]:
    """Inertial parameters of each body that give the same equations of motion with more zeros among them.

    Only constants are moved: a parameter that is an input stays with its body. So does a mass that is more
    than `at_most` times what the parent weighs by itself.
    """
    parameters = list(physics.inertias)
    masses = [float(pi[0]) if pi[0].is_constant() else np.inf for pi in parameters]
    for i in reversed(range(len(parameters))):
        body = model.bodies[i]
        if not parameters[i].is_constant():
            continue
        fixed = _unmoved(body.joint.type)
        P = _pseudo(np.array(ca.evalf(parameters[i])).ravel())
        moved = fixed @ P @ fixed
        if body.parent != WORLD and moved[3, 3] > at_most * masses[body.parent]:
            continue
        kept = np.where(np.abs(P - moved) > _noise(P, fixed), P - moved, 0.0)
        parameters[i] = ca.SX(constant_parameters(Inertia.from_pseudo(kept)))
        if body.parent != WORLD:
            T = _placement(body.joint.type, body.placement.rotation, body.placement.translation)
            given = constant_parameters(Inertia.from_pseudo(T @ moved @ T.T))
            n = parameters[body.parent].shape[0]
            parameters[body.parent] = parameters[body.parent] + ca.SX(given[:n])
    return parameters


def _pseudo(constants: Array) -> Array:
    """P of ten parameters, or of those and the diagonal of Σ."""
    P = Inertia.from_parameters(constants[:10]).pseudo
    if len(constants) > 10:
        np.fill_diagonal(P[:3, :3], constants[10:])
    return P


@lru_cache(maxsize=4096)
def _unmoved(joint: JointType) -> Array:
    """Π: the projector on the homogeneous points that no motion of the joint moves, 4 × 4."""
    q = ca.SX.sym("q", joint.nq)
    S = ca.Function("S", [q], [ca.densify(joint.subspace(q))])
    places = [joint.neutral()]
    if S.jac_sparsity(0, 0).nnz():  # a subspace that depends on q is constrained by all its values
        rng, free = np.random.default_rng(0), np.full(joint.nq, np.inf)
        places = [joint.random(rng, -free, free) for _ in range(3)]
    twists = [se3.hat(column) for at in places for column in np.array(S(at)).T]
    _, singular, rows = np.linalg.svd(np.vstack(twists))
    N = rows[np.sum(singular > 1e-9) :].T
    projector = N @ N.T
    return np.where(np.abs(projector) < 1e-15, 0.0, projector)


def _placement(joint: JointType, rotation: Array, translation: Array) -> Array:
    R, p = (np.array(ca.evalf(ca.SX(part))) for part in joint.pose(ca.SX(joint.neutral())))
    placed: Array = se3.pose(rotation, translation) @ se3.pose(R, p.ravel())
    return placed


def _noise(P: Array, fixed: Array) -> Array:
    """Rounding error of each entry of P - Π P Π, below which it is set to zero and leaves expressions.

    Each entry by its own size, not by the largest one: beside a mass of 0.1 kg, a product of inertia of
    1e-16 kg·m² is nothing, but of a small link it is five digits away from the last of what it turns with.
    """
    sizes = np.sqrt(np.abs(P.diagonal()))
    products = np.abs(fixed) @ np.abs(P) @ np.abs(fixed)
    noise: Array = 1e-16 * np.outer(sizes, sizes) + 4e-16 * products
    return noise
