"""The numbers of a problem that may change at run time, in the arrays that the solver reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import real_array
from helicoid.deprecation import warn_renamed
from helicoid.errors import DoubtfulMotionWarning, HelicoidError, InputError, warn
from helicoid.mpc.constraints import Constraint
from helicoid.mpc.constraints.constraint import Refresh
from helicoid.mpc.phases import ContactSchedule
from helicoid.mpc.solver.nodes.stage import ConstraintRow, Stages
from helicoid.mpc.solver.switching import SCHEDULE, Switching

if TYPE_CHECKING:
    from helicoid.mpc.solver.engine import SqpSolver

HARD = 1e20  # price of a hard row, which the solver replaces by its own penalty


@dataclass(eq=False)
class Memory:
    """Arrays by node, (intervals + 1, ...): parameters, bounds and prices of the rows; and θ, d of all nodes.

    `hard` is the priority of a hard row, zero of a soft one.
    """

    stages: Stages
    parameters: Array
    constants: Array
    lower: Array
    upper: Array
    penalty: Array
    penalty2: Array
    hard: Array
    switching: Switching | None = field(default=None, init=False)

    @staticmethod
    def fresh(stages: Stages, intervals: int, theta: Array, switching: Switching | None = None) -> Memory:
        """New arrays with the initial values of the problem."""
        nodes = intervals + 1
        values = [p.initial.reshape(nodes, -1) for p in stages.parameters]
        rows = [np.empty((nodes, stages.nrp)) for _ in range(5)]
        constants = np.concatenate([theta, np.zeros(stages.system.disturbance.numel())])
        memory = Memory(stages, np.hstack([np.zeros((nodes, 0)), *values]), constants, *rows)
        memory._fill()
        memory.follow(switching)
        return memory

    @staticmethod
    def of(engine: SqpSolver) -> Memory:
        """The arrays of an engine: its next step uses what is set here."""
        stages = engine.stages
        n_parameters, n_constants = stages.parameter_symbol.numel(), stages.system.constants.numel()
        names = ("lower", "upper", "penalty", "penalty2", "hard")
        return Memory(
            stages,
            engine["parameters"][:, :n_parameters],
            engine["theta"][:n_constants],
            *(engine[name] for name in names),
        )

    @property
    def theta(self) -> Array:
        """The parameters θ of the model."""
        return self.constants[: self.stages.system.theta.numel()]

    @property
    def schedule(self) -> ContactSchedule | None:
        """The contact schedule of the present bounds."""
        return None if self.switching is None else self.switching.schedule

    def follow(self, switching: Switching | None) -> None:
        """Take bounds and parameters of contacts from another schedule."""
        self.switching = switching
        if switching is not None:
            switching.write(self)

    def advance(self, time: float) -> None:
        """Advance the contact schedule by a time (s)."""
        if self.switching is not None:
            schedule = self.switching.schedule
            self.follow(self.switching.of(schedule.at(schedule.time + time)))

    def numbers(self) -> dict[str, Array]:
        """All arrays by name."""
        names = ("parameters", "theta", "lower", "upper", "penalty", "penalty2", "hard")
        return {name: getattr(self, name) for name in names}

    def take(self, numbers: Mapping[str, Array], schedule: ContactSchedule | None = None) -> None:
        """Copy the numbers of another memory of the same problem."""
        if schedule is not None and self.switching is not None:
            self.switching = self.switching.of(schedule)
        for name, array in self.numbers().items():
            array[...] = numbers[name]

    def copy_from(self, other: Memory) -> None:
        """Take all numbers of another memory of the same problem."""
        self.take(other.numbers())
        self.switching = other.switching

    def _fill(self) -> None:
        self.lower[...], self.upper[...] = -np.inf, np.inf
        self.penalty[...] = self.penalty2[...] = self.hard[...] = 0.0
        for nodes, rows in self._parts():
            for k, row in enumerate(rows):
                constraint = row.constraint
                self._bound(self.lower, nodes, k, row, constraint.lower[row.element])
                self._bound(self.upper, nodes, k, row, constraint.upper[row.element])
                self.penalty[nodes, k] = HARD if constraint.price is None else constraint.price
                self.penalty2[nodes, k] = constraint.price2
                self.hard[nodes, k] = constraint.priority if constraint.price is None else 0.0

    def _parts(self) -> list[tuple[slice, list[ConstraintRow]]]:
        last = len(self.lower) - 1
        return [(slice(0, last), self.stages.path_rows), (slice(last, last + 1), self.stages.end_rows)]

    @staticmethod
    def _bound(array: Array, nodes: slice, k: int, row: ConstraintRow, value: float) -> None:
        start = 1 if nodes.start == 0 and not row.at_first else 0
        array[nodes, k][start:] = value * row.constraint.scale[row.element]

    @cached_property
    def _setters(self) -> dict[str, tuple[Array, str]]:
        """For every name its array and its kind: "theta", "weight" or "parameter"."""
        result: dict[str, tuple[Array, str]] = {}
        if self.theta.size:
            result["theta"] = self.theta, "theta"
        weights = {cost.weight.name for cost in self.stages.costs}
        start = 0
        for parameter in self.stages.parameters:
            columns = slice(start, start + parameter.symbol.numel())
            start = columns.stop
            for name, nodes in parameter.settable.items():
                kind = "weight" if parameter.name in weights else "parameter"
                result[name] = self.parameters[nodes, columns], kind
        return result

    @cached_property
    def _bounds(self) -> dict[str, Constraint]:
        rows = [*self.stages.path_rows, *self.stages.end_rows]
        found = {row.constraint.name: row.constraint for row in rows if row.constraint.role is None}
        return {f"{name}_{side}": one for name, one in found.items() for side in ("lower", "upper")}

    @cached_property
    def refreshes(self) -> tuple[Refresh, ...]:
        """Functions that compute parameters at the plan."""
        found = (one.refresh for one in self.stages.constraints)
        return tuple(one for one in found if one is not None)

    def refresh(self, x: Array) -> None:
        """Compute the parameters that depend on the plan, at states x (nodes, nx).

        Where that is not possible, as in a scene that names what is not there, they stay, with a warning.
        """
        for one in self.refreshes:
            try:
                self._setters[one.parameter][0][...] = one.values(x)
            except HelicoidError as error:
                warn(DoubtfulMotionWarning(f"collision avoidance keeps its former obstacles: {error}"))

    def refreshed(self, x: Array) -> float:
        """Refresh, and the largest change of a parameter."""
        before = [self._setters[one.parameter][0].copy() for one in self.refreshes]
        self.refresh(x)
        now = (self._setters[one.parameter][0] for one in self.refreshes)
        return max(float(np.abs(b - a).max(initial=0.0)) for a, b in zip(now, before, strict=True))

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of targets and of user parameters."""
        return tuple(name for name, (_, kind) in self._setters.items() if kind == "parameter")

    @property
    def names(self) -> list[str]:
        """The names that `set` takes."""
        return sorted([*self._setters, *self._bounds, *([] if self.switching is None else SCHEDULE)])

    def set(self, values: Mapping[str, ArrayLike], ahead: float = 0.0) -> None:
        """Change numbers by name, all or none, with a new schedule this time (s) ahead; see `Problem.set`."""
        values = {self._present_name(name): value for name, value in values.items()}
        switching = None if self.switching is None else self.switching.changed(values)
        if switching is not None:
            values = {name: value for name, value in values.items() if name not in SCHEDULE}
        lower, upper = self.lower.copy(), self.upper.copy()
        numbers = {name: self._numbers(name, value) for name, value in values.items()}
        for name, bound in numbers.items():
            if name in self._bounds:
                self._set_bound(name, self._bounds[name], bound, (lower, upper))
        self._refuse_crossed(lower, upper)
        self.lower[...], self.upper[...] = lower, upper
        for name, value in numbers.items():
            if name in self._setters:
                self._setters[name][0][...] = value
        if switching is not None:
            schedule = switching.schedule
            self.follow(switching.of(schedule.at(schedule.time + ahead)) if ahead else switching)

    def _present_name(self, name: str) -> str:
        """The name of a number, also by its former one: `final_q` is `end_q`."""
        if not name.startswith("final_") or name in self.names:
            return name
        now = f"end_{name.removeprefix('final_')}"
        warn_renamed(name, now)
        return now

    def _numbers(self, name: str, value: ArrayLike) -> Array:
        """Check a value for the name that it is set by."""
        numbers = real_array(name, value, copy=False)
        if name in self._bounds:
            return numbers
        if name not in self._setters:
            why = " (a weight that is zero when its cost is added stays zero)" * name.endswith("_weight")
            raise InputError(f"there is no {name!r} to set{why}; there are: {', '.join(self.names)}")
        array, kind = self._setters[name]
        if not np.isfinite(numbers).all():
            raise InputError(f"{name} must be finite")
        if kind == "weight" and np.any(numbers < 0):
            raise InputError(f"{name} must not be negative, got {numbers}")
        if kind != "theta" and numbers.shape not in ((), array.shape, array.shape[1:]):
            numbers = numbers.reshape(-1) if numbers.size == array.shape[1] else numbers
        if numbers.shape not in ((), array.shape, array.shape[1:]) or (kind == "theta" and not numbers.ndim):
            by_node = "" if kind == "theta" else f", or {array.shape} for each node"
            raise InputError(f"{name} takes {array.shape[-1]} numbers{by_node}; got shape {numbers.shape}")
        return numbers

    def _set_bound(
        self, name: str, constraint: Constraint, numbers: Array, arrays: tuple[Array, Array]
    ) -> None:
        is_upper = name == f"{constraint.name}_upper"
        never = -np.inf if is_upper else np.inf
        if np.isnan(numbers).any() or numbers.shape not in ((), (constraint.size,)):
            raise InputError(f"{name} takes {constraint.size} numbers, infinite for none; got {numbers}")
        if np.any(numbers == never):
            raise InputError(f"{name} is {never}, which nothing can meet; {-never} stands for no bound")
        full = np.broadcast_to(numbers, (constraint.size,))
        for nodes, rows in self._parts():
            for k, row in enumerate(rows):
                if row.constraint is constraint:
                    self._bound(arrays[is_upper], nodes, k, row, float(full[row.element]))

    def _refuse_crossed(self, lower: Array, upper: Array) -> None:
        if not np.any(lower > upper):
            return
        for nodes, rows in self._parts():
            for k, row in enumerate(rows):
                low, high = lower[nodes, k][-1], upper[nodes, k][-1]
                if low > high:
                    name, scale = row.constraint.name, row.constraint.scale[row.element]
                    raise InputError(
                        f"{name}_lower would be {low / scale:g} and {name}_upper {high / scale:g} "
                        f"({row.constraint.labels[row.element]}): set both at once, the lower one below"
                    )
