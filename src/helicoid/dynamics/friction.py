"""Joint friction: viscous and Coulomb."""

from __future__ import annotations

import casadi as ca

from helicoid.dynamics.physics import Physics
from helicoid.model.joints import Expression


def friction_torque(physics: Physics, v: Expression) -> Expression:
    """d v + c tanh(v / ε): the torque that friction takes, nv.

    ε is `physics.smoothing`; as ε → 0 this becomes d v + c sign(v), which ε = 0 gives.
    """
    return physics.damping * v + physics.friction * direction(physics, v)


def direction(physics: Physics, v: Expression) -> Expression:
    """tanh(v / ε), or sign(v) where ε = 0: which way Coulomb friction points, nv."""
    return ca.sign(v) if physics.smoothing == 0 else ca.tanh(v / physics.smoothing)
