"""Base of control laws and observers: one compiled call per step, with settable numbers and a memory.

A step is a function of measurements, references, numbers and memory; it gives results, the next memory and a
status. Where something that goes in or comes out is not finite, results are what `Expressions`
says for that case and memory stays: nothing raises and nothing becomes NaN.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.arrays import shown
from helicoid.compiler import Function, Input, Output, Shape, export_library, from_row_major, row_major
from helicoid.control.following import LawFollowing
from helicoid.control.program.numbers import Number as Number
from helicoid.control.program.numbers import Numbers
from helicoid.deprecation import former_attribute
from helicoid.dynamics.kinematics.configuration import is_near_unit, unit
from helicoid.errors import InputError
from helicoid.geometry import so3
from helicoid.interrupts import interruptible
from helicoid.model.model import Model
from helicoid.robot.robot import Robot, as_robot
from helicoid.status import Status

LARGEST = 1e300
"""Largest sum of squares of valid values; beyond it, and where it is NaN, they count as not finite."""

STATUSES = (
    Status.OK,
    Status.SATURATED,
    Status.BAD_MEASUREMENT,
    Status.BAD_REFERENCE,
    Status.NOT_FINITE,
)
"""Statuses in the order of their numbers in the output `status` of the compiled step."""

_EXAMPLES = 4  # steps that exported C repeats


@dataclass(frozen=True)
class Expressions:
    """Expressions of a step: its results, the memory after it, and its status.

    Args:
        results: by the names of the outputs.
        memory: after a valid step, by name.
        otherwise: results where something is not finite; functions of memory and numbers alone.
        limit: 0, or 1 + the row of a result that a limit bounds.
        sensible: whether references are valid, such as rotations.
    """

    results: Mapping[str, Expression]
    memory: Mapping[str, Expression]
    otherwise: Mapping[str, Expression]
    limit: Expression | int = 0
    sensible: Expression | int = 1


class CompiledLaw(ABC):
    """One compiled call for each period of a control loop; base of all laws and observers.

    Args:
        robot: that is controlled or observed.
        name: of the function, also in C.
        measured: shapes of the measurements, by name.
        references: shapes of the references, by name.
        results: shapes of the results, by name.
        numbers: that `set` may change.
        memory: initial values of the state that is carried from step to step.
        dt: time between steps (s), or None where any will do.
        defaults: references that `step` need not be given, by name.
    """

    command: ClassVar[str] = "tau"
    """Quantity that `step` returns: joint torques."""
    measures: ClassVar[str] = "q v"
    """Measured quantities that `step` takes first."""
    targets: tuple[str, ...] = ()
    """Names of numbers that are targets of tasks."""
    postures: tuple[str, ...] = ()
    """Names of those targets that are configurations."""

    @interruptible()
    def __init__(
        self,
        robot: Robot,
        name: str,
        measured: Mapping[str, Shape],
        references: Mapping[str, Shape],
        results: Mapping[str, Shape],
        numbers: Mapping[str, Number],
        memory: Mapping[str, Array],
        dt: float | None = None,
        defaults: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        self.period = check_period(dt)
        """Time between steps (s); None where any will do."""
        self.references = dict(references)
        """Shapes of the references that `step` takes, by name."""
        self._defaults_of_references = {
            name: np.array(x, dtype=np.float64) for name, x in (defaults or {}).items()
        }
        self.robot = as_robot(robot, type(self).__name__)
        self._numbers = Numbers()
        for key, number in numbers.items():
            self._numbers.add(key, number.value, number.read)
        self._memories = _places({key: np.shape(value) for key, value in memory.items()})
        self._start = _packed(memory.values())
        self._values = self._numbers.values
        given = {**measured, **references}
        inputs = [Input(key, shape) for key, shape in given.items()]
        inputs += [Input("numbers", self._values.shape), Input("memory", self._start.shape)]
        outputs = [Output(key, shape) for key, shape in results.items()]
        outputs += [Output("memory_next", self._start.shape), Output("status", (2,))]
        self.function = Function(
            name, inputs, outputs, lambda: self._expressions(given, list(measured), results)
        )
        """The step as a function of everything, memory and numbers included."""
        self._memory, self._code, self._started = self._start, np.zeros(2), False
        self._call_one = _OneSample(self.function)
        self._lost = [np.full(shape, np.nan) for shape in given.values()]
        self._call([np.zeros(shape) for shape in given.values()])  # compiled now, not in the loop
        self.reset()

    @abstractmethod
    def _law(self, x: Mapping[str, Expression]) -> Expressions:
        """The law on symbols: measurements, references, numbers and memory, by name."""

    # In the loop --------------------------------------------------------------------------------------

    def _call(self, values: Sequence[Any]) -> Any:
        try:
            result = self._call_one(*values, self._values, self._memory)
            if result[-1].ndim > 1:
                raise InputError(_ONE_STATE)
        except Exception as error:  # of `__array__` of a foreign type, too: the loop goes on
            if not self._started:
                raise error if isinstance(error, InputError) else InputError(str(error)) from error
            result = self._call_one(*self._lost, self._values, self._memory)
        self._memory, self._code, self._started = result[-2], result[-1], True
        return result

    @property
    def ok(self) -> bool:
        """Whether the last step computed the command of the law within all limits."""
        return self._started and bool(self._code[0] == 0.0)

    @property
    def status(self) -> Status:
        """Result of the last step: one of `STATUSES`, or NOT_STARTED."""
        return STATUSES[int(self._code[0])] if self._started else Status.NOT_STARTED

    @property
    def message(self) -> str:
        """Reason why the last step failed, in words; empty where `ok`."""
        status = self.status
        return "" if status is Status.OK else f"{status}: {_MESSAGES[status]}"

    details = former_attribute("details", "message")

    def reset(self) -> None:
        """Clear the memory of earlier steps; numbers stay as they are."""
        self._memory, self._code, self._started = self._start.copy(), np.zeros(2), False

    # Before it, and beside it -------------------------------------------------------------------------

    def set(self, **numbers: ArrayLike) -> None:
        """Change numbers of the law, from the next step on: all that are given, or none if one is refused."""
        values = self._numbers.changed(self._values, numbers)
        self._check({name: self._numbers.part(values, name) for name in self._numbers.names})
        self._values = values

    def _check(self, numbers: Mapping[str, Array]) -> None:
        """Refuse combinations of numbers that are invalid; overridden by laws that have such."""
        return

    def number(self, name: str) -> Array:
        """Present value of a number of the law."""
        return self._numbers.part(self._values, self._numbers.entry(name)[0]).copy()

    def _kept(self, name: str) -> Array:
        """A part of the memory."""
        place, shape = self._memories[name]
        return self._memory[place].reshape(shape)

    def export_c(self, folder: str | os.PathLike[str], name: str | None = None) -> list[Path]:
        """Write the step as C99 with nothing but math.h, with a program that checks it.

        The function takes what `step` takes, then `numbers` and `memory`, and gives the results, the next
        memory and `status`: [0] is the index in `STATUSES`, [1] is 1 + the row that a limit bounds, or 0.
        `layout` says what is where in numbers and memory.
        """
        name = self.function.name if name is None else name
        return export_library(name, {name: self.function}, folder, samples=self._examples())

    # References over time -----------------------------------------------------------------------------

    def following(self, reference: Any = None, **references: Any) -> LawFollowing:
        """The law with its references over time; see `hc.control.Following` for what they may be."""
        return LawFollowing(self, reference, **references)

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the references that have no default."""
        return tuple(name for name in self.references if name not in self._defaults_of_references)

    def motion_reference(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        """References (N, ...) by name for samples q (N, nq), v and a (N, nv) of a joint motion."""
        if "q_ref" not in self.references:
            known = ", ".join(self.references) or "none"
            raise InputError(f"{type(self).__name__} follows no joint motion; its references are: {known}")
        return {k: x for k, x in {"q_ref": q, "v_ref": v, "a_ref": a}.items() if k in self.references}

    def _measured_rows(self, rows: dict[str, Array]) -> dict[str, Array]:
        """Rows of references for a compiled loop, with those of measurements that it does not have."""
        return rows

    def _examples(self) -> list[Array]:
        """Inputs of consecutive steps, for the check of the exported C, (n, size) each."""
        rng, memory, rows = np.random.default_rng(0), self._start, []
        for _ in range(_EXAMPLES):
            values = [self._example(item, rng) for item in self.function.inputs[:-2]]
            rows.append([*values, self._values, memory])
            memory = self.function(*rows[-1])[-2]
        return [np.array([np.ravel(row[k]) for row in rows]) for k in range(len(rows[0]))]

    def _example(self, item: Input, rng: np.random.Generator) -> Array:
        if _is_configuration(item.name):
            return self.robot.random(rng)
        if item.shape in ((3, 3), (4, 4)):
            T = np.eye(item.shape[0])
            T[:3, :3] = so3.exp(rng.normal(size=3))
            T[:3, 3:] = 0.3 * rng.normal(size=(3, item.shape[0] - 3))
            return T
        return np.asarray(0.1 * rng.normal(size=item.shape))

    @property
    def layout(self) -> dict[str, dict[str, slice]]:
        """Slices of the vectors `numbers` and `memory` of the function, by name."""
        return {
            "numbers": {name: self._numbers[name].at for name in self._numbers.names},
            "memory": {name: place for name, (place, _) in self._memories.items()},
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot.name!r}, {self.status})"

    def _expressions(
        self, given: Mapping[str, Shape], measured: Sequence[str], results: Mapping[str, Shape]
    ) -> tuple[list[Expression], list[Expression]]:
        symbols = {name: ca.SX.sym(name, *(*shape, 1, 1)[:2]) for name, shape in given.items()}
        numbers, memory = ca.SX.sym("numbers", len(self._values)), ca.SX.sym("memory", len(self._start))
        parts = {name: (self._numbers[name].at, self._numbers[name].shape) for name in self._numbers.names}
        x = symbols | _unpacked(parts, numbers) | _unpacked(self._memories, memory)
        model = self.robot.model
        law = self._law(x | {name: unit(model, q) for name, q in symbols.items() if _is_configuration(name)})
        measurement_valid = _sound(model, {name: symbols[name] for name in measured})
        reference_valid = _sound(model, {name: symbols[name] for name in symbols if name not in measured})
        reference_valid = ca.logic_and(reference_valid, law.sensible)
        result_valid = _finite([*law.results.values(), *law.memory.values()])
        good = ca.logic_and(ca.logic_and(measurement_valid, reference_valid), result_valid)
        chosen = [ca.if_else(good, law.results[name], law.otherwise[name]) for name in results]
        after = {name: ca.if_else(good, law.memory.get(name, x[name]), x[name]) for name in self._memories}
        kept = ca.vertcat(ca.SX(0, 1), *(row_major(ca.SX(part)) for part in after.values()))
        if "last" in self._memories:  # the command that the next step may hold
            place, _ = self._memories["last"]
            kept[place] = row_major(ca.SX(chosen[0]))
        bad = ca.if_else(measurement_valid, ca.if_else(reference_valid, 4, 3), 2)
        status = ca.vertcat(ca.if_else(good, law.limit > 0, bad), ca.if_else(good, law.limit, 0))
        return [*symbols.values(), numbers, memory], [*chosen, kept, status]


class _OneSample(Function):
    """The same function for one sample at a time: a batch is refused before code for it is compiled."""

    def __init__(self, function: Function) -> None:
        super().__init__(function.name, function.inputs, function.outputs, lambda: function.casadi)
        self._definition, self._numeric = function._definition, function._numeric

    def _evaluate(self, values: Sequence[Any], out: Any) -> Any:
        for item, value in zip(self.inputs, values, strict=True):
            if np.ndim(value) != len(item.shape):
                raise InputError(f"{item.name} has shape {item.shape}; got {shown(value)}: {_ONE_STATE}")
        return super()._evaluate(values, out)

    def __reduce__(self) -> tuple[Any, ...]:
        return _OneSample, (Function(self.name, self.inputs, self.outputs, self.casadi),)


_ONE_STATE = "a law takes one state at a time; its `function` takes many"
_MESSAGES = {
    Status.SATURATED: "a limit bounds the command",
    Status.BAD_MEASUREMENT: "a measurement is not finite or of the wrong size; the last valid result acts",
    Status.BAD_REFERENCE: "a reference is not finite or of the wrong size; the last valid result acts",
    Status.NOT_FINITE: "the result overflowed; the last valid one acts",
    Status.NOT_STARTED: "there was no step yet",
}


def check_period(dt: float | None) -> float | None:
    """The time between steps (s), or None.

    Raises:
        InputError: it is not positive.
    """
    if dt is None:
        return None
    if isinstance(dt, bool) or not isinstance(dt, Real) or not 0 < dt < np.inf:
        raise InputError(f"dt is the time between steps (s), above 0; got {dt!r}")
    return float(dt)


def _is_configuration(name: str) -> bool:
    return name == "q" or name.startswith("q_")


def _sound(model: Model, parts: Mapping[str, Expression]) -> Expression:
    """Whether all values are finite and quaternions have unit length."""
    sound = _finite(list(parts.values()))
    for name, q in parts.items():
        if model.quaternions and _is_configuration(name):
            sound = ca.logic_and(sound, is_near_unit(model, q))
    return sound


def _finite(parts: Sequence[Expression]) -> Expression:
    columns = [ca.vec(part) for part in parts]
    return ca.sumsqr(ca.vertcat(ca.SX(0, 1), *columns)) <= LARGEST


def _places(shapes: Mapping[str, Shape]) -> dict[str, tuple[slice, Shape]]:
    places, start = {}, 0
    for name, shape in shapes.items():
        end = start + int(np.prod(shape, dtype=int))
        places[name] = slice(start, end), shape
        start = end
    return places


def _packed(parts: Any) -> Array:
    return np.concatenate([np.zeros(0), *(np.ravel(part) for part in parts)])


def _unpacked(places: Mapping[str, tuple[slice, Shape]], vector: Expression) -> dict[str, Expression]:
    return {name: from_row_major(vector[place], shape) for name, (place, shape) in places.items()}
