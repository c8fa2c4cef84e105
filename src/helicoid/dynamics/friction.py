"""Joint friction: viscous, Coulomb and Stribeck."""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.physics import Physics


def friction_torque(physics: Physics, v: Expression) -> Expression:
    """d v + [c + (s - c) exp(-(v / v_s)²)] tanh(v / ε): the torque that friction takes, nv.

    ε is `physics.smoothing`; as ε → 0 the tanh becomes sign(v), which ε = 0 gives. Of a joint that states
    no Stribeck velocity v_s, static friction s acts at rest alone, and s - c does not enter here.
    """
    torque = physics.damping * v + physics.friction * direction(physics, v)
    for i, excess, width in physics.stribeck:
        if width > 0:
            torque[i] += excess * ca.exp(-((v[i] / width) ** 2)) * direction(physics, v[i])
    return torque


def dry_friction_bound(physics: Physics, v: Expression) -> Expression:
    """c + (s - c) exp(-(v / v_s)²), nv: what dry friction can take at most; s at rest (N·m or N).

    Where v_s = 0 it falls from s to c as soon as v ≠ 0.
    """
    bound = ca.SX(physics.friction)
    for i, excess, width in physics.stribeck:
        left = ca.exp(-((v[i] / width) ** 2)) if width > 0 else v[i] == 0
        bound[i] += excess * left
    return bound


def direction(physics: Physics, v: Expression) -> Expression:
    """tanh(v / ε), or sign(v) where ε = 0: which way dry friction points, nv."""
    return ca.sign(v) if physics.smoothing == 0 else ca.tanh(v / physics.smoothing)
