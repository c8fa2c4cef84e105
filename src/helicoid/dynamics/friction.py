"""Joint friction: one table of terms, which everything else reads.

A joint's friction is a sum of terms, each a number of the joint times a column that its motion gives. With
σ = tanh(v / ε) the way it moves, and g the torque that holds its weight:

    viscous            v                    coulomb            σ
    offset             1                    root               σ √|v|
    load               σ |g|                stribeck           σ exp(-(v / v_s)²)
    viscous_forward    max(v, 0)            coulomb_forward    max(σ, 0)
    viscous_backward   min(v, 0)            coulomb_backward   min(σ, 0)
    sigmoid            tanh((v + u) / w) - tanh(u / w)         (Gaz et al. 2019)
    spring             q

A new term is one more row of `TERMS`: joints can state it, a URDF keeps it, dynamics, simulation, MPC and
identification know it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.dynamics.physics import Physics, Rubbing
from helicoid.errors import ModelError
from helicoid.model.model import Model

Selection = Literal["always", "fast", "candidate", "stated"]
"""When identification makes a term an unknown: by default, where joints moved fast enough to show how
friction grows with speed, where it lowers the cross-validation error, or where the description states it."""

_SLOW = 1e-3  # rad/s or m/s: below it √|v| is rounded off, or its slope at rest would be infinite


class JointState(NamedTuple):
    """One joint: position, velocity, the way it moves (σ), the torque that holds its weight, shapes."""

    q: Expression
    v: Expression
    way: Expression
    load: Expression
    shapes: Sequence[Expression] = ()


@dataclass(frozen=True)
class FrictionTerm:
    """A row of the table.

    Args:
        name: of its group of unknowns, and of the number that a joint states.
        column: what multiplies that number (`JointState` -> expression).
        sign: 1 where the number cannot be negative, 0 where it may.
        usual_size: what the number may be expected to be at most, from the efforts (N·m) and velocities
            (rad/s) that are usual.
        field: of a joint that holds the number, where it is not among its `friction_terms`.
        dry: whether it holds a joint at rest: a multiple of σ that does not vanish there.
        loaded: whether the column needs the torque that holds the weight.
        shapes: numbers of the joint that the column needs, by name.
        signed: those of them that are not widths and may be negative.
        selection: when identification makes it an unknown.
        label: in reports, such as "load-dependent friction"; by default its name.
    """

    name: str
    column: Callable[[JointState], Expression]
    sign: int
    usual_size: Callable[[Array, Array], Array]
    field: str = ""
    dry: bool = False
    loaded: bool = False
    shapes: tuple[str, ...] = ()
    signed: tuple[str, ...] = ()
    selection: Selection = "stated"
    label: str = ""

    @cached_property
    def depends_on_velocity(self) -> bool:
        """Whether the column changes with velocity: if not, it acts on a joint at rest as well."""
        return self._depends_on("v")

    @cached_property
    def depends_on_position(self) -> bool:
        """Whether the column changes with position: it then needs a joint of one coordinate."""
        return self._depends_on("q")

    def _depends_on(self, name: str) -> bool:
        q, v, load = (ca.SX.sym(symbol) for symbol in ("q", "v", "load"))
        shapes = [ca.SX.sym(shape) for shape in self.shapes]
        column = ca.SX(self.column(JointState(q, v, ca.tanh(v), load, shapes)))
        return bool(ca.depends_on(column, {"q": q, "v": v}[name]))

    @property
    def suffix(self) -> str:
        """How names of unknowns end: `joint_1.damping`."""
        return self.field if self.field in ("damping", "friction") else self.name


def _effort(effort: Array, velocity: Array) -> Array:
    return effort


def _effort_by_velocity(effort: Array, velocity: Array) -> Array:
    return effort / velocity


def _root(j: JointState) -> Expression:
    return j.way * ca.sqrt(ca.sqrt(j.v * j.v + _SLOW**2))


def _stribeck(j: JointState) -> Expression:
    return j.way * ca.exp(-((j.v / j.shapes[0]) ** 2))


def _sigmoid(j: JointState) -> Expression:
    width, shift = j.shapes
    return ca.tanh((j.v + shift) / width) - ca.tanh(shift / width)


_ROWS = (
    FrictionTerm("viscous", lambda j: j.v, 1, _effort_by_velocity, "damping", selection="always"),
    FrictionTerm("coulomb", lambda j: j.way, 1, _effort, "friction", dry=True, selection="always"),
    FrictionTerm("offset", lambda j: 1.0, 0, _effort, selection="always"),
    # Friction that falls and rises again with velocity, or grows slower than it (harmonic drives).
    FrictionTerm("root", _root, 0, lambda effort, velocity: effort / velocity**0.5, selection="fast"),
    # Gears rub more under load.
    FrictionTerm(
        *("load", lambda j: j.way * ca.fabs(j.load), 1, lambda effort, _: 0 * effort + 1),
        dry=True,
        loaded=True,
        selection="candidate",
        label="load-dependent friction",
    ),
    # Cables, hoses and balancers pull a joint back; `springs` says how, of all types of joints.
    FrictionTerm("spring", lambda j: j.q, 1, _effort, "stiffness", selection="candidate", label="springs"),
    # A joint states it as its static friction, which is Coulomb friction and this.
    FrictionTerm(
        "stribeck", _stribeck, 1, _effort, "static_friction", dry=True, shapes=("stribeck_velocity",)
    ),
    FrictionTerm("viscous_forward", lambda j: ca.fmax(j.v, 0), 1, _effort_by_velocity),
    FrictionTerm("viscous_backward", lambda j: ca.fmin(j.v, 0), 1, _effort_by_velocity),
    FrictionTerm("coulomb_forward", lambda j: ca.fmax(j.way, 0), 1, _effort, dry=True),
    FrictionTerm("coulomb_backward", lambda j: ca.fmin(j.way, 0), 1, _effort, dry=True),
    FrictionTerm(
        *("sigmoid", _sigmoid, 1, _effort),
        shapes=("sigmoid_width", "sigmoid_shift"),
        signed=("sigmoid_shift",),
    ),
)
TERMS: Mapping[str, FrictionTerm] = {term.name: term for term in _ROWS}


def stated_names() -> tuple[str, ...]:
    """What a joint may state among its `friction_terms`: terms without a field of their own, and shapes."""
    rows = [term for term in TERMS.values() if not term.field]
    return tuple(name for term in rows for name in (term.name, *term.shapes))


def check_friction(model: Model) -> None:
    """Raise ModelError where a joint states a term that is not in the table, or lacks the shape of one."""
    known = stated_names()
    for joint in model.joints:
        for name in joint.friction_terms:
            if name not in known:
                raise ModelError(
                    f"joint {joint.name!r} states friction {name!r}, which is none; there are: "
                    f"{', '.join(known)}"
                )
            for shape in TERMS[name].shapes if name in TERMS else ():
                width = np.asarray(joint.friction_terms.get(shape, 0.0))
                if shape not in TERMS[name].signed and not np.all(width > 0):
                    raise ModelError(f"joint {joint.name!r}: its {name} friction needs a {shape} above 0")


def friction_torque(
    physics: Physics, v: Expression, q: Expression | None = None, load: Expression | None = None
) -> Expression:
    """The torque that friction takes, nv: viscous and Coulomb of every joint, and what else each states.

    ε of σ = tanh(v / ε) is `physics.smoothing`; as ε → 0 it becomes sign(v), which ε = 0 gives. Of a joint
    that states no Stribeck velocity v_s, static friction acts at rest alone and does not enter here. `load`
    is the torque that holds the robot's weight, for `needs_load`; `q` for columns that hang on positions.
    """
    torque = physics.damping * v + physics.friction * direction(physics, v)
    for one in _terms(physics):
        if not _at_rest_alone(one):
            way = direction(physics, v[one.coordinate]) * _sign(one.multiplier)
            torque[one.coordinate] += _felt(one, way, v, q, load)
    return torque


def needs_load(physics: Physics) -> bool:
    """Does any friction grow with the load?"""
    return any(TERMS[one.term].loaded for one in _terms(physics))


def dry_friction_bound(
    physics: Physics, v: Expression, q: Expression | None = None, load: Expression | None = None
) -> Expression:
    """What dry friction can take at most, nv (N·m or N): of every term that is a multiple of σ.

    Where a Stribeck velocity is 0, static friction falls to Coulomb's as soon as v ≠ 0. Where friction
    differs by the way, a joint at rest has the mean of both.
    """
    bound = ca.SX(physics.friction)
    for one in _terms(physics):
        i = one.coordinate
        if _at_rest_alone(one):
            bound[i] += one.multiplier * one.size * (v[i] == 0)
        elif TERMS[one.term].dry:
            forward, backward = (ca.fabs(_felt(one, ca.SX(way), v, q, load)) for way in (1.0, -1.0))
            bound[i] += ((1 + ca.sign(v[i])) * forward + (1 - ca.sign(v[i])) * backward) / 2
    return bound


def sliding_friction(
    physics: Physics, v: Expression, q: Expression | None = None, load: Expression | None = None
) -> Expression:
    """The torque of terms that are neither viscous nor dry, nv."""
    torque = ca.SX.zeros(*v.shape)
    for one in _terms(physics):
        if not TERMS[one.term].dry:
            way = direction(physics, v[one.coordinate]) * _sign(one.multiplier)
            torque[one.coordinate] += _felt(one, way, v, q, load)
    return torque


def direction(physics: Physics, v: Expression) -> Expression:
    """tanh(v / ε), or sign(v) where ε = 0: which way dry friction points, nv."""
    return ca.sign(v) if physics.smoothing == 0 else ca.tanh(v / physics.smoothing)


def _terms(physics: Physics) -> list[Rubbing]:
    """What joints state, without the shapes of terms, which go with these."""
    return [one for one in physics.rubbing if one.term in TERMS]


def _felt(
    one: Rubbing, way: Expression, v: Expression, q: Expression | None, load: Expression | None
) -> Expression:
    """The torque of a term, as its coordinate feels it; a follower moves k times as fast as its source."""
    k, term = one.multiplier, TERMS[one.term]
    carried = ca.SX(0) if load is None else load[one.coordinate] / k
    position = ca.SX(0) if q is None or one.position < 0 else k * q[one.position] + one.offset
    shapes = [one.numbers.get(shape, 0.0) for shape in term.shapes]
    return k * one.size * term.column(JointState(position, k * v[one.coordinate], way, carried, shapes))


def _at_rest_alone(one: Rubbing) -> bool:
    return one.term == "stribeck" and one.numbers["stribeck_velocity"] == 0


def _sign(multiplier: float) -> float:
    return 1.0 if multiplier > 0 else -1.0
