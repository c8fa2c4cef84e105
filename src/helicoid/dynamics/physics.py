"""Numbers of the equations of motion beside the tree: inertial parameters, friction, armature, gravity.

Each may be a constant or a symbol, and algorithms treat both alike: so does a parametric robot work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.model.inertia import Inertia
from helicoid.model.model import Body, Model

SMOOTHING = 0.01  # rad/s or m/s


class FrictionEntry(NamedTuple):
    """A friction term of one joint beyond viscous and Coulomb: its name in the table, its coefficient.

    The joint's position is `multiplier` q[position] + offset, its velocity `multiplier` v[coordinate];
    several joints may share a coordinate (a mimic and its source). `position` is -1 for joints of several
    coordinates. `numbers` is all that the joint states by name: the shapes of the term are among it.
    """

    term: str
    coordinate: int
    position: int
    multiplier: float
    offset: float
    size: Expression
    numbers: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Physics:
    """Inertial parameters (a body each), per velocity damping, friction and armature, and gravity (m/s²).

    A body has its ten parameters π, and constants have three more: the diagonal of Σ = ∫ r rᵀ dm, which
    follows from π as well, but as a difference that loses digits.

    `smoothing` is the velocity over which Coulomb friction changes sign, of all or of each velocity; 0 makes
    it the sign function.
    `friction_entries` are the friction terms beyond viscous and Coulomb of the joints that state them.
    `passive_damping` says whether dampers and dry friction of tendons, and fluids, act.
    `elastic` has stiffness, rest length and damping of each elastic element of the model.
    """

    inertias: tuple[Expression, ...]
    damping: Expression
    friction: Expression
    armature: Expression
    gravity: Expression
    smoothing: float | Array = SMOOTHING
    friction_entries: tuple[FrictionEntry, ...] = ()
    elastic: tuple[tuple[Expression, Expression, Expression], ...] = ()
    passive_damping: bool = True

    def without_friction(self) -> Physics:
        """This physics with no friction of any kind."""
        zero = ca.SX.zeros(*self.damping.shape)
        elastic = tuple((stiffness, rest, ca.SX(0)) for stiffness, rest, _ in self.elastic)
        bare = replace(self, damping=zero, friction=zero, friction_entries=(), elastic=elastic)
        return replace(bare, passive_damping=False)


def nominal(model: Model) -> Physics:
    """The constants that the model states."""
    damping, friction, armature = np.zeros(model.nv), np.zeros(model.nv), np.zeros(model.nv)
    entries: list[FrictionEntry] = []
    for body in model.bodies:
        # A mimic joint turns k times as fast as its source: power k² d v², k² J v v̇, |k| c |v|.
        k = abs(body.multiplier)
        damping[body.v] += k * k * body.joint.damping
        friction[body.v] += k * body.joint.friction
        armature[body.v] += k * k * body.joint.armature
        entries.extend(stated_entries(body))
    return Physics(
        inertias=tuple(ca.SX(constant_parameters(body.inertia)) for body in model.bodies),
        damping=ca.SX(damping),
        friction=ca.SX(friction),
        armature=ca.SX(armature),
        gravity=ca.SX(np.array(model.gravity)),
        friction_entries=tuple(entries),
        elastic=tuple(
            (ca.SX(one.stiffness), ca.SX(one.rest_length), ca.SX(one.damping)) for one in model.elastic
        ),
    )


def stated_entries(body: Body) -> list[FrictionEntry]:
    """The friction terms beyond viscous and Coulomb that a body's joint states."""
    joint = body.joint
    found = []
    for i in range(joint.type.nv if body.multiplier != 0 else 0):
        numbers = {name: float(values[i]) for name, values in joint.friction_terms.items()}
        static, sliding = float(joint.static_friction[i]), float(joint.friction[i])
        if static != 0 and static > sliding:
            numbers |= {
                "stribeck": static - sliding,
                "stribeck_velocity": float(joint.stribeck_velocity[i]),
            }
        found += [friction_entry(body, name, i, size, numbers) for name, size in numbers.items() if size != 0]
    return found


def friction_entry(
    body: Body, term: str, i: int, size: Expression, numbers: Mapping[str, float]
) -> FrictionEntry:
    """A term of the i-th velocity of a body's joint."""
    position = body.q.start if body.joint.type.nq == 1 else -1
    return FrictionEntry(term, body.v.start + i, position, float(body.multiplier), body.offset, size, numbers)


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
