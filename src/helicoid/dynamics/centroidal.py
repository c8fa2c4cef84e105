"""The robot as a whole: its center of mass and how it moves."""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid.dynamics.physics import Physics
from helicoid.dynamics.tree import joint_motions, world_poses
from helicoid.model.joints import Expression
from helicoid.model.model import WORLD, Model


def center_of_mass(model: Model, physics: Physics, q: Expression) -> Expression:
    """c(q) of all moving bodies in world axes, 3 (m); NaN when nothing that moves has mass."""
    mass, moment = ca.SX.zeros(1), ca.SX.zeros(3)
    for (R, p), pi in zip(world_poses(model, joint_motions(model, q)), physics.inertias, strict=True):
        mass += pi[0]
        moment += pi[0] * p + R @ pi[1:4]
    return _over(moment, mass)


def com_jacobian(model: Model, physics: Physics, q: Expression) -> Expression:
    """J_c(q), 3 × nv, with ċ = J_c v.

    A joint moves all that it carries: with mass m and first moment h of that subtree about the joint,
    both in world axes, it adds (m v + ω × h) to the momentum.
    """
    motions = joint_motions(model, q)
    poses = world_poses(model, motions)
    masses = [pi[0] for pi in physics.inertias]
    moments = [pi[0] * p + R @ pi[1:4] for (R, p), pi in zip(poses, physics.inertias, strict=True)]
    J = ca.SX.zeros(3, model.nv)
    total = ca.SX.zeros(1)
    for i in reversed(range(len(masses))):
        body, (R, p), S = model.bodies[i], poses[i], motions[i].S
        if body.parent == WORLD:
            total += masses[i]
        else:
            masses[body.parent] += masses[i]
            moments[body.parent] += moments[i]
        about = moments[i] - masses[i] * p
        for k in range(S.shape[1]):
            ω, v = R @ S[:3, k], R @ S[3:, k]
            J[:, body.v.start + k] += body.multiplier * (masses[i] * v + ca.cross(ω, about))
    return _over(J, total)


def _over(moment: Expression, mass: Expression) -> Expression:
    """moment / mass; NaN without mass, where CasADi would fold 0/0 to infinity."""
    return ca.SX(np.full(moment.shape, np.nan)) if mass.is_zero() else moment / mass
