"""Joint friction: one table of terms, which everything else reads.

A joint's friction is a sum of terms, each a coefficient of the joint times a function of its state. With
σ = tanh(v / ε) the direction of motion, and g the torque that gravity needs to be held:

    viscous            v                    coulomb            σ
    offset             1                    root               σ √|v|
    load               σ |g|                stribeck           σ exp(-(v / v_s)²)
    viscous_forward    max(v, 0)            coulomb_forward    max(σ, 0)
    viscous_backward   min(v, 0)            coulomb_backward   min(σ, 0)
    sigmoid            tanh((v + u) / w) - tanh(u / w)         (Gaz et al. 2019)
    spring             q

A new term is one more row of `TERMS`: joints can state it, a URDF stores it, and dynamics, simulation, MPC
and identification include it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.dynamics.physics import FrictionEntry, Physics
from helicoid.errors import ModelError
from helicoid.model.model import Model

Selection = Literal["always", "candidate", "stated"]
"""When identification makes a term an unknown: by default, in some of the models that it averages, or where
the description states it."""

_ROOT_SMOOTHING = 1e-3  # rad/s or m/s: below it √|v| is rounded off, whose slope at rest would be infinite


class JointState(NamedTuple):
    """One joint: position, velocity, direction of motion (σ), gravity torque, shapes of the term."""

    q: Expression
    v: Expression
    direction: Expression
    load: Expression
    shapes: Sequence[Expression] = ()


@dataclass(frozen=True)
class FrictionTerm:
    """A row of the table: a coefficient of each joint times a function of the joint's state.

    Args:
        name: of the coefficient that a joint states, and of its group of unknowns in identification.
        column: the function that multiplies the coefficient (`JointState` -> expression).
        unit: of the coefficient at a revolute joint.
        usual_size: a bound on usual coefficients, from the usual effort (N·m) and velocity (rad/s).
        nonnegative: whether the coefficient must not be negative: friction takes energy, a spring pulls back.
        field: attribute of a joint that holds the coefficient, where it is not among its `friction_terms`.
        dry: whether it holds a joint at rest: a multiple of σ that does not vanish there.
        needs_load: whether the column needs the gravity torque.
        shapes: further numbers of the joint that the column needs, by name.
        signed: those of the shapes that may be negative; the others are widths above 0.
        selection: when identification makes it an unknown.
        starts_from: the term whose identified coefficient initialises this one in a nonlinear fit, if this
            one is not among the linear unknowns.
        label: in reports; by default the name and "friction".
    """

    name: str
    column: Callable[[JointState], Expression]
    unit: str
    usual_size: Callable[[Array, Array], Array]
    nonnegative: bool = True
    field: str = ""
    dry: bool = False
    needs_load: bool = False
    shapes: tuple[str, ...] = ()
    signed: tuple[str, ...] = ()
    selection: Selection = "stated"
    starts_from: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or f"{self.name.replace('_', ' ')} friction")

    @cached_property
    def depends_on_velocity(self) -> bool:
        """Whether the column changes with velocity: if not, it acts on a joint at rest as well."""
        return self._depends_on("v")

    @cached_property
    def depends_on_position(self) -> bool:
        """Whether the column changes with position: it then needs a joint of one coordinate."""
        return self._depends_on("q")

    @property
    def is_constant(self) -> bool:
        """Whether the column is constant: the term then may be indistinguishable from a gravity torque."""
        return not (self.depends_on_velocity or self.depends_on_position or self.needs_load)

    @property
    def is_velocity_curve(self) -> bool:
        """Whether the torque is a function of the velocity alone, τ(v): such terms model the same curve."""
        return self.depends_on_velocity and not (self.depends_on_position or self.needs_load)

    def _depends_on(self, name: str) -> bool:
        q, v, load = (ca.SX.sym(symbol) for symbol in ("q", "v", "load"))
        shapes = [ca.SX.sym(shape) for shape in self.shapes]
        column = ca.SX(self.column(JointState(q, v, ca.tanh(v), load, shapes)))
        return bool(ca.depends_on(column, {"q": q, "v": v}[name]))

    @property
    def suffix(self) -> str:
        """The end of names of unknowns: `joint_1.damping`."""
        return self.field if self.field in ("damping", "friction") else self.name


def _effort(effort: Array, velocity: Array) -> Array:
    return effort


def _effort_by_velocity(effort: Array, velocity: Array) -> Array:
    return effort / velocity


def _root(j: JointState) -> Expression:
    return j.direction * ca.sqrt(ca.sqrt(j.v * j.v + _ROOT_SMOOTHING**2))


def _stribeck(j: JointState) -> Expression:
    return j.direction * ca.exp(-((j.v / j.shapes[0]) ** 2))


def _sigmoid(j: JointState) -> Expression:
    width, shift = j.shapes
    return ca.tanh((j.v + shift) / width) - ca.tanh(shift / width)


_TORQUE, _DAMPING = ("N·m", _effort), ("N·m·s/rad", _effort_by_velocity)
_ROWS = (
    FrictionTerm("viscous", lambda j: j.v, *_DAMPING, field="damping", selection="always"),
    FrictionTerm(
        *("coulomb", lambda j: j.direction, *_TORQUE),
        field="friction",
        dry=True,
        selection="always",
        label="Coulomb friction",
    ),
    FrictionTerm(
        "offset", lambda j: 1.0, *_TORQUE, nonnegative=False, selection="always", label="torque offsets"
    ),
    # Friction that falls and rises again with velocity, or grows slower than it (harmonic drives).
    FrictionTerm(
        *("root", _root, "N·m·√(s/rad)", lambda effort, velocity: effort / velocity**0.5),
        nonnegative=False,
        selection="candidate",
        label="square-root friction",
    ),
    # Friction of gears grows with their load.
    FrictionTerm(
        *("load", lambda j: j.direction * ca.fabs(j.load), "1", lambda effort, _: 0 * effort + 1),
        dry=True,
        needs_load=True,
        selection="candidate",
        label="load-dependent friction",
    ),
    # Cables, hoses and balancers; `springs` computes their torque, for all types of joints.
    FrictionTerm(
        *("spring", lambda j: j.q, "N·m/rad", _effort),
        field="stiffness",
        selection="candidate",
        label="springs",
    ),
    # A joint states it as its static friction, which is the sum of Coulomb friction and this.
    FrictionTerm(
        *("stribeck", _stribeck, *_TORQUE),
        field="static_friction",
        dry=True,
        shapes=("stribeck_velocity",),
        label="Stribeck friction",
    ),
    FrictionTerm("viscous_forward", lambda j: ca.fmax(j.v, 0), *_DAMPING, starts_from="viscous"),
    FrictionTerm("viscous_backward", lambda j: ca.fmin(j.v, 0), *_DAMPING, starts_from="viscous"),
    FrictionTerm(
        "coulomb_forward", lambda j: ca.fmax(j.direction, 0), *_TORQUE, dry=True, starts_from="coulomb"
    ),
    FrictionTerm(
        "coulomb_backward", lambda j: ca.fmin(j.direction, 0), *_TORQUE, dry=True, starts_from="coulomb"
    ),
    FrictionTerm(
        *("sigmoid", _sigmoid, *_TORQUE),
        shapes=("sigmoid_width", "sigmoid_shift"),
        signed=("sigmoid_shift",),
        starts_from="coulomb",
    ),
)
TERMS: Mapping[str, FrictionTerm] = {term.name: term for term in _ROWS}


def stated_names() -> tuple[str, ...]:
    """Names allowed in `friction_terms` of a joint: terms without a field of their own, and their shapes."""
    rows = [term for term in TERMS.values() if not term.field]
    return tuple(name for term in rows for name in (term.name, *term.shapes))


def check_friction(model: Model) -> None:
    """Raise ModelError where a joint states a term that is not in the table, or lacks the shape of one."""
    known = stated_names()
    for joint in model.joints:
        for name in joint.friction_terms:
            if name not in known:
                raise ModelError(
                    f"joint {joint.name!r}: unknown friction term {name!r}; there are: {', '.join(known)}"
                )
            for shape in TERMS[name].shapes if name in TERMS else ():
                width = np.asarray(joint.friction_terms.get(shape, 0.0))
                if shape not in TERMS[name].signed and not np.all(width > 0):
                    raise ModelError(f"joint {joint.name!r}: its {name} friction needs a {shape} above 0")


def friction_torque(
    physics: Physics, v: Expression, q: Expression | None = None, load: Expression | None = None
) -> Expression:
    """The torque that friction takes, nv: viscous and Coulomb of every joint, and the terms each states.

    ε of σ = tanh(v / ε) is `physics.smoothing`; as ε → 0 it becomes sign(v), which ε = 0 gives. Static
    friction of a joint that states no Stribeck velocity v_s acts at rest only and does not enter here. `load`
    is the gravity torque, needed where `needs_load`; `q` is needed by columns that depend on positions.
    """
    directions = direction(physics, v)
    torque = physics.damping * v + physics.friction * directions
    for entry in _entries(physics):
        if not _only_at_rest(entry):
            σ = directions[entry.coordinate] * _sign(entry.multiplier)
            torque[entry.coordinate] += _torque(entry, σ, v, q, load)
    return torque


def needs_load(physics: Physics) -> bool:
    """Whether the friction of any joint depends on the gravity torque."""
    return any(TERMS[entry.term].needs_load for entry in _entries(physics))


def dry_friction_bound(
    physics: Physics, v: Expression, q: Expression | None = None, load: Expression | None = None
) -> Expression:
    """The largest torque of dry friction, nv (N·m or N): of all terms that are a multiple of σ.

    Where a Stribeck velocity is 0, static friction falls to Coulomb's as soon as v ≠ 0. Where friction
    differs by direction, a joint at rest has the mean of both.
    """
    bound = ca.SX(physics.friction)
    for entry in _entries(physics):
        i = entry.coordinate
        if _only_at_rest(entry):
            bound[i] += entry.multiplier * entry.size * (v[i] == 0)
        elif TERMS[entry.term].dry:
            forward, backward = (ca.fabs(_torque(entry, ca.SX(σ), v, q, load)) for σ in (1.0, -1.0))
            bound[i] += ((1 + ca.sign(v[i])) * forward + (1 - ca.sign(v[i])) * backward) / 2
    return bound


def sliding_friction(
    physics: Physics, v: Expression, q: Expression | None = None, load: Expression | None = None
) -> Expression:
    """The torque of terms that are neither viscous nor dry, nv."""
    torque, directions = ca.SX.zeros(*v.shape), direction(physics, v)
    for entry in _entries(physics):
        if not TERMS[entry.term].dry:
            σ = directions[entry.coordinate] * _sign(entry.multiplier)
            torque[entry.coordinate] += _torque(entry, σ, v, q, load)
    return torque


def direction(physics: Physics, v: Expression) -> Expression:
    """σ = tanh(v / ε), or sign(v) where ε = 0, nv: dry friction acts against it."""
    return ca.sign(v) if np.all(physics.smoothing == 0) else ca.tanh(v / physics.smoothing)


def _entries(physics: Physics) -> list[FrictionEntry]:
    """The terms that joints state, without the shapes, which each entry carries along."""
    return [entry for entry in physics.friction_entries if entry.term in TERMS]


def _torque(
    entry: FrictionEntry, σ: Expression, v: Expression, q: Expression | None, load: Expression | None
) -> Expression:
    """The torque of a term at its coordinate; a mimic joint moves k times as fast as its source."""
    k, term = entry.multiplier, TERMS[entry.term]
    own_load = ca.SX(0) if load is None else load[entry.coordinate] / k
    position = ca.SX(0) if q is None or entry.position < 0 else k * q[entry.position] + entry.offset
    shapes = [entry.numbers.get(shape, 0.0) for shape in term.shapes]
    return k * entry.size * term.column(JointState(position, k * v[entry.coordinate], σ, own_load, shapes))


def _only_at_rest(entry: FrictionEntry) -> bool:
    return entry.term == "stribeck" and entry.numbers["stribeck_velocity"] == 0


def _sign(multiplier: float) -> float:
    return 1.0 if multiplier > 0 else -1.0
