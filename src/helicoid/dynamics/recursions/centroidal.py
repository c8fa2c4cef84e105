"""The robot as a whole: its center of mass, its momentum, and its inertia with all joints locked.

Momentum is that of the moving bodies, h = Σ h_i = A(q) v (Orin, Goswami, Lee 2013): angular about the center
of mass, then linear, in world axes. Rotors that only armature stands for are not in it. Whatever pushes the
robot from outside changes it: ḣ = A a + Ȧ v is the sum of the external wrenches about the center of mass,
gravity among them; joint torques are internal.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.dynamics.physics import Moments, Physics, rigid_inertia_times, symmetric
from helicoid.dynamics.recursions.composites.mass_distribution import (
    Distribution,
    add_distributions,
    distribution,
    distribution_to_parent,
    rotational,
)
from helicoid.dynamics.tree import JointMotion, along_motion, joint_motions, world_poses
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


def centroidal_momentum_matrix(model: Model, physics: Physics, q: Expression) -> Expression:
    """A(q), 6 × nv, with h = A v.

    A joint sets all that it carries in motion: F = I S of that composite body, seen from the center of mass.
    """
    motions = joint_motions(model, q)
    composites, total = _composites(model, physics, motions)
    c = _center(total)
    A = ca.SX.zeros(6, model.nv)
    for i, ((R, p), (m_i, h_i, Σ_i)) in enumerate(zip(world_poses(model, motions), composites, strict=True)):
        body = model.bodies[i]
        F = rigid_inertia_times(Moments(m_i, h_i, rotational(Σ_i)), motions[i].S)
        for k in range(F.shape[1]):
            n, f = R @ F[:3, k], R @ F[3:, k]
            A[:, body.v.start + k] += body.multiplier * ca.vertcat(n + ca.cross(p - c, f), f)
    return A


def centroidal_momentum(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """h(q, v) = A v, 6: angular about the center of mass (N·m·s), then linear (N·s), world axes."""
    return centroidal_momentum_matrix(model, physics, q) @ v


def centroidal_momentum_matrix_dot(
    model: Model, physics: Physics, q: Expression, v: Expression
) -> Expression:
    """Ȧ(q, v), 6 × nv."""
    return along_motion(model, centroidal_momentum_matrix(model, physics, q), q, v)


def locked_inertia(model: Model, physics: Physics, q: Expression) -> Expression:
    """I(q), 3 × 3: inertia of all bodies about their center of mass, joints locked, world axes (kg·m²).

    I⁻¹ times the angular momentum is the robot's average angular velocity.
    """
    _, total = _composites(model, physics, joint_motions(model, q))
    _, h, Σ = total
    c = _center(total)
    return rotational(Σ - symmetric([[c[i] * h[j] for j in range(3)] for i in range(3)]))


def _composites(
    model: Model, physics: Physics, motions: list[JointMotion]
) -> tuple[list[Distribution], Distribution]:
    """Each body with all that it carries, in its own frame; and all of them together, in the world's."""
    composites = [distribution(pi) for pi in physics.inertias]
    total: Distribution = ca.SX.zeros(1), ca.SX.zeros(3), ca.SX.zeros(3, 3)
    for i in reversed(range(len(composites))):
        parent = model.bodies[i].parent
        moved = distribution_to_parent(composites[i], *motions[i][:2])
        if parent == WORLD:
            total = add_distributions(total, moved)
        else:
            composites[parent] = add_distributions(composites[parent], moved)
    return composites, total


def _center(total: Distribution) -> Expression:
    """The center of mass; the origin for massless bodies, which have no momentum."""
    m, h, _ = total
    return ca.SX.zeros(3) if m.is_zero() else h / m


def _over(moment: Expression, mass: Expression) -> Expression:
    """moment / mass; NaN without mass, where CasADi would fold 0/0 to infinity."""
    return ca.SX(np.full(moment.shape, np.nan)) if mass.is_zero() else moment / mass
