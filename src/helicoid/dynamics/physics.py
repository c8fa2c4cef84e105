"""The numbers that the equations of motion need beside the tree: what the robot weighs, rubs and falls with.

Each may be a constant or a symbol: an algorithm cannot tell, which is how a parametric robot works.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.model.inertia import Inertia
from helicoid.model.model import Body, Model

GRAVITY = (0.0, 0.0, -9.81)
SMOOTHING = 0.01  # rad/s or m/s


class Stribeck(NamedTuple):
    """Of one velocity: static friction less Coulomb friction, and the velocity over which it is lost.

    Several joints may share a velocity (a mimic and its source), each with a width of its own.
    """

    coordinate: int
    excess: float
    velocity: float


@dataclass(frozen=True, eq=False)
class Physics:
    """Inertial parameters (a body each), per velocity damping, friction and armature, and gravity (m/s²).

    A body has its ten parameters π, and constants have three more: the diagonal of Σ = ∫ r rᵀ dm, which π
    says too, but as a difference that loses digits.

    `smoothing` is the velocity over which Coulomb friction changes sign; 0 makes it the sign function.
    `stribeck` is what friction has beyond Coulomb's near rest, for those joints that state it.
    """

    inertias: tuple[Expression, ...]
    damping: Expression
    friction: Expression
    armature: Expression
    gravity: Expression
    smoothing: float = SMOOTHING
    stribeck: tuple[Stribeck, ...] = ()

    def without_friction(self) -> Physics:
        """This physics with neither damping nor dry friction."""
        zero = ca.SX.zeros(*self.damping.shape)
        return replace(self, damping=zero, friction=zero, stribeck=())


def nominal(model: Model) -> Physics:
    """The constants that the model states."""
    damping, friction, armature = np.zeros(model.nv), np.zeros(model.nv), np.zeros(model.nv)
    stribeck: list[Stribeck] = []
    for body in model.bodies:
        # A mimic joint turns k times as fast as its source: power k² d v², k² J v v̇, |k| c |v|.
        k = abs(body.multiplier)
        damping[body.v] += k * k * body.joint.damping
        friction[body.v] += k * body.joint.friction
        armature[body.v] += k * k * body.joint.armature
        stribeck.extend(_stribeck(body))
    return Physics(
        inertias=tuple(ca.SX(constant_parameters(body.inertia)) for body in model.bodies),
        damping=ca.SX(damping),
        friction=ca.SX(friction),
        armature=ca.SX(armature),
        gravity=ca.SX(np.array(GRAVITY)),
        stribeck=tuple(stribeck),
    )


def _stribeck(body: Body) -> list[Stribeck]:
    joint, k = body.joint, abs(body.multiplier)
    return [
        Stribeck(body.v.start + i, float(k * (static - coulomb)), float(width / k))
        for i, (static, coulomb, width) in enumerate(
            zip(joint.static_friction, joint.friction, joint.stribeck_velocity, strict=True)
        )
        if static > coulomb and k > 0
    ]


def constant_parameters(inertia: Inertia) -> Array:
    """π (10) and the diagonal of Σ (3)."""
    return np.concatenate([inertia.parameters, inertia.second_moment.diagonal()])


class Moments(NamedTuple):
    """Mass, first moment and rotational inertia about the body's origin, taken from π."""

    m: Expression
    h: Expression
    I: Expression


def moments(pi: Expression) -> Moments:
    """m (1), h (3) and I (3 × 3) of inertial parameters π."""
    xx, xy, xz, yy, yz, zz = (pi[k] for k in range(4, 10))
    return Moments(pi[0], pi[1:4], symmetric([[xx, xy, xz], [None, yy, yz], [None, None, zz]]))


def symmetric(upper: list[list[Expression]]) -> Expression:
    """The symmetric matrix with this upper triangle, so that no element is computed twice."""
    n = len(upper)
    rows = [[upper[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]
    return ca.vertcat(*(ca.horzcat(*row) for row in rows))


def rigid_inertia_times(body: Moments, S: Expression) -> Expression:
    """The wrenches (n, f) = (I ω + h × v, m v - h × ω) of a rigid body for each column (ω, v) of S."""
    columns = []
    for k in range(S.shape[1]):
        ω, v = S[:3, k], S[3:, k]
        columns.append(ca.vertcat(body.I @ ω + ca.cross(body.h, v), body.m * v - ca.cross(body.h, ω)))
    return ca.horzcat(*columns) if columns else ca.SX.zeros(6, 0)
