"""Forces of everything between and on links that acts without a motor, beside springs and friction of joints.

One sum for all consumers: elastic elements, tendons, gravity compensation and fluids.
"""

from __future__ import annotations

from helicoid._typing import Expression
from helicoid.dynamics.forces.elastic import damper_torque as element_damper_torque
from helicoid.dynamics.forces.elastic import elastic_energy as element_energy
from helicoid.dynamics.forces.elastic import elastic_torque as element_torque
from helicoid.dynamics.forces.elastic import elastic_wrenches as element_wrenches
from helicoid.dynamics.forces.fluid import fluid_torque, fluid_wrenches
from helicoid.dynamics.forces.gravity_compensation import (
    compensation_energy,
    compensation_torque,
    compensation_wrenches,
)
from helicoid.dynamics.forces.tendons import (
    tendon_damper_torque,
    tendon_energy,
    tendon_spring_torque,
    tendon_wrenches,
)
from helicoid.dynamics.physics import Physics
from helicoid.model.model import Model


def acts(model: Model) -> bool:
    """Whether the model has any of these forces."""
    compensated = any(link.gravity_compensation is not None for link in model.links)
    return bool(model.elastic or model.fluid) or compensated or any(one.acts for one in model.tendons)


def elastic_energy(model: Model, physics: Physics, q: Expression) -> Expression:
    """U of all of them (J)."""
    energy = element_energy(model, physics, q) + tendon_energy(model, q)
    return energy + compensation_energy(model, physics, q)


def elastic_torque(model: Model, physics: Physics, q: Expression) -> Expression:
    """∂U/∂q, nv: the torque that balances them (N·m or N)."""
    return element_torque(model, physics, q) + described_torque(model, physics, q)


def described_torque(model: Model, physics: Physics, q: Expression) -> Expression:
    """The part of `elastic_torque` that is not among the parameters of a robot: tendons, compensation."""
    return tendon_spring_torque(model, q) + compensation_torque(model, physics, q)


def damper_torque(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """Torque that dampers, dry friction of tendons and fluids take, nv (N·m or N)."""
    return element_damper_torque(model, physics, q, v) + described_damper_torque(model, physics, q, v)


def described_damper_torque(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """The part of `damper_torque` that is not among the parameters of a robot: tendons, fluids."""
    return tendon_damper_torque(model, physics, q, v) + fluid_torque(model, physics, q, v)


def passive_wrenches(model: Model, physics: Physics, q: Expression, v: Expression) -> dict[int, Expression]:
    """Per body, the wrench (n, f) of all of them on it, about its origin in its axes."""
    acting = element_wrenches(model, physics, q, v)
    described = tendon_wrenches(model, physics, q, v), compensation_wrenches(model, physics, q)
    for found in (*described, fluid_wrenches(model, physics, q, v)):
        for body, wrench in found.items():
            acting[body] = acting[body] + wrench if body in acting else wrench
    return acting
