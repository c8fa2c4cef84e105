"""Springs in the joints.

A spring of stiffness K in equilibrium at q₀ stores U = ½ δᵀ K δ with δ = q ⊖ q₀, K diagonal. Its torque is
the derivative of U: along a velocity, dU = δᵀ K ∂δ/∂q Γ v. Where coordinates form a vector space that is K δ.
On a quaternion it is K δ too if all of K are equal, and else the torque that conserves energy.
"""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.tree import joint_coordinates, rate_matrix
from helicoid.model.model import Model


def has_springs(model: Model) -> bool:
    """Whether any joint has a stiffness."""
    return any(body.joint.stiffness.any() for body in model.bodies)


def spring_energy(model: Model, q: Expression) -> Expression:
    """U = ½ Σ K δ², zero with all springs in equilibrium (J)."""
    energy = ca.SX.zeros(1)
    for body in model.bodies:
        if body.joint.stiffness.any():
            δ = body.joint.type.difference(ca.SX(body.joint.rest), joint_coordinates(body, q))
            energy += ca.dot(ca.SX(body.joint.stiffness) * δ, δ) / 2
    return energy


def spring_torque(model: Model, q: Expression) -> Expression:
    """∂U/∂q of the springs, nv: the torque that balances them (N·m or N)."""
    if not has_springs(model):
        return ca.SX.zeros(model.nv)
    return rate_matrix(model, q).T @ ca.gradient(spring_energy(model, q), q)


def spring_stiffness(model: Model, q: Expression) -> Expression:
    """The change of `spring_torque` along each velocity, nv × nv: K where coordinates form a vector space."""
    if not has_springs(model):
        return ca.SX(model.nv, model.nv)
    return ca.jacobian(spring_torque(model, q), q) @ rate_matrix(model, q)
