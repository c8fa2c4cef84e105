"""Kinetic and potential energy."""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.forces.passive import elastic_energy
from helicoid.dynamics.forces.springs import spring_energy
from helicoid.dynamics.forces.tendon_inertia import tendon_kinetic_energy
from helicoid.dynamics.physics import Physics, moments, rigid_inertia_times
from helicoid.dynamics.tree import from_parent, joint_motions, joint_velocity, world_poses
from helicoid.model.model import WORLD, Model


def kinetic_energy(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """T = ½ Σ Vᵀ I V + ½ Σ armature v² + tendons = ½ vᵀ M(q) v (J)."""
    twists: list[Expression] = []
    energy = ca.dot(physics.armature * v, v)
    for body, motion, pi in zip(model.bodies, joint_motions(model, q), physics.inertias, strict=True):
        twist = motion.S @ joint_velocity(body, v)
        if body.parent != WORLD:
            twist = twist + from_parent(motion, twists[body.parent])
        twists.append(twist)
        energy += ca.dot(twist, rigid_inertia_times(moments(pi), twist))
    return energy / 2 + tendon_kinetic_energy(model, q, v)


def potential_energy(model: Model, physics: Physics, q: Expression) -> Expression:
    """U = -Σ gᵀ (m p + R h) + ½ Σ K δ², zero with all mass at the origin and springs in equilibrium (J)."""
    energy = spring_energy(model, q) + elastic_energy(model, physics, q)
    for (R, p), pi in zip(world_poses(model, joint_motions(model, q)), physics.inertias, strict=True):
        energy -= ca.dot(physics.gravity, pi[0] * p + R @ pi[1:4])
    return energy
