"""Linear regression model of torques or wrenches: one equation a row, linear in named parameters.

    y - known = Y(q, v, a) x,   x = [π (10 a body) | a column for each joint and kind: viscous, coulomb, ...]

where `known` is what described terms need that are not among the unknowns. Rows are joint torques (nv), or
six-axis wrenches (n, f) between a body and the one that carries it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.compiler import Function
from helicoid.dynamics.friction import TERMS as FRICTION
from helicoid.dynamics.parametric import inertial_parameters
from helicoid.dynamics.physics import SMOOTHING, nominal
from helicoid.errors import InputError
from helicoid.identification.linear.equations.elastic_columns import (
    elastic_columns,
    elastic_parameters,
    elastic_wrench,
)
from helicoid.identification.linear.equations.friction_columns import friction_columns, linear_terms, suffix
from helicoid.identification.linear.equations.known import known_torque
from helicoid.robot import Robot, as_robot
from helicoid.robot.function import RobotFunction

Indices = NDArray[np.intp]

_BATCH = 1024  # samples


def default_groups() -> tuple[str, ...]:
    """Groups of unknowns of a regression by default: inertia, basic friction, an offset, armature."""
    return ("inertia", *linear_terms("always"), "armature")


def known_groups() -> tuple[str, ...]:
    """Groups of unknowns that a linear regression may have; see `dynamics.friction` for those of friction."""
    return ("inertia", *linear_terms(), "armature", "elastic")


@dataclass(frozen=True, eq=False, repr=False)
class ParameterSet:
    """The unknowns x: their names, their values in the robot's description, and where each group lies.

    >>> import helicoid as hc
    >>> parameters = Regression(hc.load("double_pendulum"), ("inertia", "viscous")).parameters
    >>> len(parameters), parameters.groups["viscous"], parameters.names[-1]
    (22, slice(20, 22, None), 'joint_2.damping')
    """

    names: tuple[str, ...]
    nominal: Array
    groups: Mapping[str, slice]

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """The position of a name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise InputError(f"no unknown is called {name!r}; there are: {', '.join(self.names)}") from None

    def of(self, x: Array, group: str) -> Array:
        """The part of x that belongs to a group; empty where the group is not among the unknowns."""
        return x[self.groups.get(group, slice(0, 0))]


class _RowLayout(NamedTuple):
    """A row of Y: runs of columns of the bodies' regressor with their places, and terms with theirs."""

    runs: list[tuple[slice, slice]]
    terms: list[tuple[int, str]]


class Regression:
    """The linear model y = Y x of measured joint torques or wrenches.

    Args:
        robot: its kinematics, and the nominal values of the unknowns.
        groups: which unknowns there are, in the order of x; any of `known_groups()`. Joints of a
            floating base have neither friction nor armature and get no such columns. "elastic" are stiffness
            and damping of the elastic elements, with their described rest lengths.
        smoothing: ε of the Coulomb column tanh(v / ε) (rad/s or m/s), one number or one a velocity (nv).
        load: inertial parameters (10 n_bodies) from which load-dependent friction takes the joint load; by
            default the robot's.
        wrenches: links whose six-axis wrench is measured, in place of all joint torques: that which acts on
            the link's body through its joint, moment then force, about the body's origin in its axes. Then
            "offset" is a constant of each of a sensor's channels, and friction has no effect.

    `row_names` names the rows, `parameters` the columns.
    """

    def __init__(
        self,
        robot: Robot,
        groups: Sequence[str] | None = None,
        smoothing: float | Array = SMOOTHING,
        wrenches: Sequence[str] = (),
        load: Array | None = None,
    ) -> None:
        as_robot(robot, "identification")
        known = known_groups()
        groups = default_groups() if groups is None else groups
        for group in groups:
            if group not in known:
                raise InputError(f"no group of unknowns is called {group!r}; there are: {', '.join(known)}")
        if wrenches and "elastic" in groups:
            raise InputError("elastic elements are identified from joint torques; this log has wrenches")
        self.robot, self.groups, self.wrenches = robot, tuple(groups), tuple(wrenches)
        self.smoothing = np.broadcast_to(np.asarray(smoothing, dtype=np.float64), (robot.nv,))
        self._load = robot.parameters.values if load is None else load

    def __repr__(self) -> str:
        kind, rows, unknowns = type(self).__name__, len(self.row_names), len(self.parameters)
        return f"{kind}({self.robot.name!r}, {rows} rows, {unknowns} unknowns: {', '.join(self.groups)})"

    @cached_property
    def _inertial_functions(self) -> list[RobotFunction]:
        own = [self.robot.wrench_regressor(link) for link in self.wrenches]
        return own or [self.robot.regressor]

    def with_groups(self, groups: Sequence[str]) -> Regression:
        """A regression of what these sensors read on other unknowns."""
        return Regression(self.robot, groups, self.smoothing, self.wrenches, self._load)

    def with_load(self, load: Array) -> Regression:
        """This regression with the joint load of other inertial parameters (10 n_bodies)."""
        return Regression(self.robot, self.groups, self.smoothing, self.wrenches, load)

    def loaded_by(self, x: Array) -> Regression:
        """This regression with the joint load of the bodies in x."""
        if not self.load_dependent or "inertia" not in self.groups:
            return self
        return self.with_load(self.parameters.of(x, "inertia"))

    @property
    def load_dependent(self) -> bool:
        """Whether any friction among the unknowns grows with the load."""
        return any(FRICTION[group].needs_load for group in self.groups if group in FRICTION)

    @property
    def covered(self) -> frozenset[str]:
        """Groups that are unknown: their described values do not enter the known torque."""
        return frozenset(self.groups)

    @property
    def shape_values(self) -> dict[str, Array]:
        """The shapes of friction terms by name, (nv,) each; a linear regression has none."""
        return {}

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """Name of each row: a velocity's joint, or `link.nx` ... `link.fz`."""
        if self.wrenches:
            axes = ("nx", "ny", "nz", "fx", "fy", "fz")
            return tuple(f"{link}.{axis}" for link in self.wrenches for axis in axes)
        return self.robot.model.velocity_names

    @cached_property
    def jointed(self) -> tuple[int, ...]:
        """The velocities that have friction and armature: all but those of a floating base."""
        free = [body.v for body in self.robot.model.bodies if body.joint.parent == ""]
        return tuple(k for k in range(self.robot.nv) if not any(v.start <= k < v.stop for v in free))

    def velocities(self, group: str) -> tuple[int, ...]:
        """The velocities that have a column in a group: any but "inertia" and "elastic"."""
        if group not in FRICTION or not FRICTION[group].depends_on_position:
            return self.jointed
        single = self._positions
        return tuple(k for k in self.jointed if k in single)

    @cached_property
    def _positions(self) -> dict[int, int]:
        """Index in q of each joint with one coordinate, by its index in v."""
        bodies = [b for b in self.robot.model.bodies if b.joint.mimic is None and b.joint.type.nq == 1]
        return {body.v.start: body.q.start for body in bodies}

    @cached_property
    def parameters(self) -> ParameterSet:
        """Names, nominal values and groups of the unknowns."""
        model, joints = self.robot.model, self.robot.model.velocity_names
        names: list[str] = []
        values: list[Array] = []
        groups: dict[str, slice] = {}
        for group in self.groups:
            if group == "inertia":
                inertial = inertial_parameters(model)
                own_names, own_values = list(inertial.names), inertial.values
            elif group == "elastic":
                own_names, own_values = elastic_parameters(model)
            elif group == "offset" and self.wrenches:
                own_names = [f"{row}.{suffix(group)}" for row in self.row_names]
                own_values = np.zeros(len(own_names))
            else:
                own_names = [f"{joints[k]}.{suffix(group)}" for k in self.velocities(group)]
                own_values = stated(self.robot, group)[list(self.velocities(group))]
            if group == "offset" and "spring" in self.groups and not self.wrenches:
                # K q of an unknown K is 0 where q is.
                described = stated(self.robot, "spring") * self.rest
                own_values = own_values - described[list(self.velocities(group))]
            groups[group] = slice(len(names), len(names) + len(own_names))
            names.extend(own_names)
            values.append(own_values)
        return ParameterSet(tuple(names), np.concatenate([np.zeros(0), *values]), groups)

    @property
    def rest(self) -> Array:
        """Positions (nv) at which springs of joints with one coordinate have no torque."""
        rest = np.zeros(self.robot.nv)
        for body in self.robot.model.bodies:
            if body.v.start in self._positions:
                rest[body.v] = body.joint.rest
        return rest

    @cached_property
    def supports(self) -> tuple[Indices, ...]:
        """For each row the columns that are not zero whatever the motion, as sorted indices."""
        found: list[list[int]] = [[] for _ in self.row_names]
        if "inertia" in self.groups:
            start, row = self.parameters.groups["inertia"].start, 0
            for function in self._inertial_functions:
                pattern = _pattern(function)
                for r, c in zip(*pattern.get_triplet(), strict=True):
                    found[row + r].append(start + c)
                row += pattern.size1()
        for row, column, _ in self._term_columns:
            found[row].append(column)
        return tuple(np.array(sorted(columns), dtype=np.intp) for columns in found)

    def wrench_offsets(self, x: Array) -> dict[str, Array]:
        """The part of x that are offsets of force/torque sensors, (6,) by link; empty where there is none."""
        if not self.wrenches or "offset" not in self.groups:
            return {}
        return dict(zip(self.wrenches, self.parameters.of(x, "offset").reshape(-1, 6), strict=True))

    def regressor(self, q: Array, v: Array, a: Array) -> Array:
        """Y of a batch of samples, (N, rows, unknowns)."""
        Y = np.zeros((len(q), len(self.row_names), len(self.parameters)))
        inertial = self.parameters.groups.get("inertia")
        if inertial is not None:
            Y[:, :, inertial] = self._inertial(q, v, a)
        columns = self._columns(q, v, a)
        for row, column, group in self._term_columns:
            Y[:, row, column] = columns[group][:, row]
        return Y

    def rows(self, q: Array, v: Array, a: Array) -> list[Array]:
        """Y of a batch, row by row and without the columns that are always zero: (N, len(supports[k])) each.

        This is what a `Stack` takes: a third of the numbers of `regressor` for a 7-joint arm.
        """
        dense = self._inertial(q, v, a) if "inertia" in self.groups else None
        columns = self._columns(q, v, a)
        blocks: list[Array] = []
        for k, plan in enumerate(self._plans):
            block = np.empty((len(q), len(self.supports[k])), order="F")
            if dense is not None:
                for into, taken in plan.runs:
                    block[:, into] = dense[:, k, taken]
            for position, group in plan.terms:
                block[:, position] = columns[group][:, k]
            blocks.append(block)
        return blocks

    def predict(self, x: Array, q: Array, v: Array, a: Array) -> Array:
        """Predicted measurements of a batch, (N, rows): Y x and the known torque of the description."""
        known, explained = self.known(q, v, a), self.times(x, q, v, a)
        return explained if known is None else explained + known

    def times(self, x: Array, q: Array, v: Array, a: Array) -> Array:
        """Y x of a batch, (N, rows)."""
        found = np.empty((len(q), len(self.supports)))
        for start in range(0, len(q), _BATCH):  # the regressor of all samples would not stay in the cache
            part = slice(start, start + _BATCH)
            for k, Y in enumerate(self.rows(q[part], v[part], a[part])):
                found[part, k] = Y @ x[self.supports[k]]
        return found

    def known(self, q: Array, v: Array, a: Array) -> Array | None:
        """Known part (N, rows) of the measurement: described terms beside the unknowns; None if none."""
        if self.wrenches:
            known = elastic_wrench(self.robot, self.wrenches, q, v)
        else:
            known = known_torque(self.robot, self.covered, q, v, a)
        if "inertia" in self.covered:
            return known
        bodies = np.asarray(self._inertial(q, v, a) @ self.robot.parameters.values)
        return bodies if known is None else bodies + known

    def _inertial(self, q: Array, v: Array, a: Array) -> Array:
        blocks = [function(q, v, a) for function in self._inertial_functions]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)

    @cached_property
    def _plans(self) -> list[_RowLayout]:
        """Source of the columns of each row; in runs, for fast copies."""
        start = self.parameters.groups.get("inertia", slice(0, 0)).start
        terms = {(row, column): group for row, column, group in self._term_columns}
        plans = []
        for k, support in enumerate(self.supports):
            runs: list[tuple[slice, slice]] = []
            own: list[tuple[int, str]] = []
            for position, column in enumerate(int(c) for c in support):
                if (k, column) in terms:
                    own.append((position, terms[k, column]))
                elif runs and runs[-1][0].stop == position and runs[-1][1].stop == column - start:
                    into, columns = runs[-1]
                    runs[-1] = slice(into.start, position + 1), slice(columns.start, column - start + 1)
                else:
                    runs.append((slice(position, position + 1), slice(column - start, column - start + 1)))
            plans.append(_RowLayout(runs, own))
        return plans

    @cached_property
    def _term_columns(self) -> list[tuple[int, int, str]]:
        """Row, column and source (see `_columns`) of every term; wrenches do not depend on friction."""
        found: list[tuple[int, int, str]] = []
        if self.wrenches:
            own = self.parameters.groups.get("offset", slice(0, 0))
            return [(row, column, "offset") for row, column in enumerate(range(own.start, own.stop))]
        for group in self.groups:
            columns = range(len(self.parameters))[self.parameters.groups[group]]
            if group == "elastic":
                names = self.parameters.names
                found.extend((k, column, names[column]) for column in columns for k in range(self.robot.nv))
            elif group != "inertia":
                pairs = zip(self.velocities(group), columns, strict=True)
                found.extend((k, column, group) for k, column in pairs)
        return found

    def _columns(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        """Columns by group, of elastic elements by name, (N, nv) each."""
        if self.wrenches:
            return {"offset": np.ones((len(q), len(self.row_names)))}
        found = {"armature": a}
        if "elastic" in self.groups:
            found |= elastic_columns(self.robot, q, v)
        terms = tuple(group for group in self.groups if group in FRICTION and not FRICTION[group].shapes)
        if terms:
            made = friction_columns(terms)(*self._joint_motions(q, v))
            found |= {term: made[:, k].reshape(v.shape) for k, term in enumerate(terms)}
        return found

    def _joint_motions(self, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
        """Position, velocity, load and ε of every joint and sample, (N nv,) each."""
        position = np.zeros_like(v)
        for k, place in self._positions.items():
            position[:, k] = q[:, place]
        load = np.zeros_like(v)
        if self.load_dependent:
            still = np.zeros((len(q), self.robot.nv))
            load = np.asarray(self.robot.regressor(q, still, still) @ self._load)
            # The load of an upright axis is zero up to rounding, which must not become a column.
            load[:, np.abs(load).max(axis=0, initial=0.0) < 1e-9 * np.abs(self._load).max(initial=1.0)] = 0.0
        smoothing = np.broadcast_to(self.smoothing, v.shape)
        return position.ravel(), v.ravel(), load.ravel(), smoothing.ravel()


def stated(robot: Robot, group: str) -> Array:
    """Described values of a group's unknowns, (nv,)."""
    physics = nominal(robot.model)
    if group == "armature":
        return np.array(ca.evalf(physics.armature), dtype=np.float64).ravel()
    if group in ("viscous", "coulomb"):
        return np.array(ca.evalf(getattr(physics, FRICTION[group].field)), dtype=np.float64).ravel()
    values = np.zeros(robot.nv)
    for body in robot.model.bodies:
        if body.joint.mimic is None and group in FRICTION:
            field = FRICTION[group].field
            own = getattr(body.joint, field) if field else body.joint.friction_terms.get(group, 0.0)
            values[body.v] = own
    return values


def _pattern(function: Function) -> ca.Sparsity:
    """Sparsity pattern of a regressor: entries that are not the constant zero."""
    symbols = [ca.SX.sym(item.name, *item.shape) for item in function.inputs]
    return ca.sparsify(function(*symbols)).sparsity()
