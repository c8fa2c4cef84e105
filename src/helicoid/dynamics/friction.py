"""Joint friction: viscous and Coulomb."""

from __future__ import annotations

import casadi as ca

from helicoid.dynamics.physics import Physics
from helicoid.model.joints import Expression


def friction_torque(physics: Physics, v: Expression) -> Expression:
    """d v + c tanh(v / ε): the torque that friction takes, nv.

    ε is `physics.smoothing`; as ε → 0 this becomes d v + c sign(v), which ε = 0 gives.
    """
    direction = ca.sign(v) if physics.smoothing == 0 else ca.tanh(v / physics.smoothing)
    return physics.damping * v + physics.friction * direction
