"""Control laws that are symbolic functions, evaluated inside the compiled time step of a simulation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler import Expressions, Function, Input, Iteration, Output
from helicoid.errors import InputError
from helicoid.robot import Robot

_MAX_CACHED_LOOPS = 8  # compiled loops that a robot keeps: a program may make a new law again and again
_WINDOW = 12_800  # rows times rollouts of the states that are not recorded: some MB, which caches hold


@dataclass(frozen=True, eq=False)
class LoopLaw:
    """A control law that a simulation evaluates inside its compiled loop.

    Args:
        function: of some of t, q, v, states and memory, and of further inputs. Its output `tau` or `u`, or
            the only one, is the command; `memory_next` is the memory one step later.
        memory: initial memory (size,), or (B, size) for each rollout; empty where the function has none.
        rows: the further inputs by name: (N, ...), row k for the step from k·dt on, or (1, ...) for all;
            with one axis more, (N or 1, B or 1, ...), one for each rollout.
        every: sampling times from one evaluation to the next; the command is held in between.
        at_end: called with the memory, q and v after the last step of a single rollout.
    """

    function: Function
    memory: Array = field(default_factory=lambda: np.zeros(0))
    rows: Mapping[str, Array] = field(default_factory=dict)
    every: int = 1
    at_end: Callable[[Array, Array, Array], None] | None = None

    @property
    def command(self) -> int:
        """Index of the output that is the command.

        Raises:
            InputError: there are several outputs, and none has the name of a command.
        """
        names = [item.name for item in self.function.outputs]
        for name in ("tau", "u"):
            if name in names:
                return names.index(name)
        if len(names) > 1 and names[1:] != ["memory_next"]:
            raise InputError(
                f"controller {self.function.name!r} has the outputs {', '.join(names)}, and none called tau"
            )
        return 0

    @property
    def memory_size(self) -> int:
        """Number of elements of the memory."""
        return int(self.memory.shape[-1])

    def check(self, robot: Robot, n_states: int | None, names: Sequence[str], n_steps: int) -> None:
        """Refuse a law that does not fit the system that it controls.

        Args:
            n_states: number of actuator states of a vehicle; None of a robot.
            names: of the entries of its command.
        """
        known: dict[str, int] = {"t": 1, "q": robot.nq, "v": robot.nv, "memory": self.memory_size}
        known |= {} if n_states is None else {"states": n_states}
        given = [item.name for item in self.function.inputs]
        for item in self.function.inputs:
            size = int(np.prod(item.shape, initial=1))
            if item.name in self.rows:
                self._check_rows(item, n_steps)
            elif item.name not in known:
                raise InputError(
                    f"controller {self.function.name!r} has the inputs {', '.join(given)}; those of a "
                    f"controller are some of {', '.join(x for x in known if x != 'memory')}, not {item.name}"
                )
            elif known[item.name] != size:
                raise InputError(
                    f"controller {self.function.name!r}: its input {item.name} has {size} numbers, where "
                    f"robot {robot.name!r} has {known[item.name]}"
                )
        shape = self.function.outputs[self.command].shape
        if int(np.prod(shape, initial=1)) != len(names):
            raise InputError(
                f"controller {self.function.name!r} returns {shape} numbers for a command of {len(names)}: "
                f"{', '.join(names)}"
            )

    def _check_rows(self, item: Input, n_steps: int) -> None:
        shape, n = self.rows[item.name].shape, len(item.shape)
        if shape[len(shape) - n :] != item.shape or shape[0] not in (1, n_steps, n_steps + 1):
            raise InputError(
                f"controller {self.function.name!r}: rows of {item.name!r} have shape {shape}; there are "
                f"{n_steps} steps and {item.shape} in each"
            )

    def row_arrays(self) -> list[Array]:
        """The rows as (N or 1, B or 1, ...), in the order of the function's inputs."""
        result = []
        for item in self.function.inputs:
            if item.name in self.rows:
                rows = self.rows[item.name]
                rows = rows[:, None] if rows.ndim == len(item.shape) + 1 else rows
                result.append(np.ascontiguousarray(rows, dtype=np.float64))
        return result


class LawFeedback:
    """A `LoopLaw` as a callable `(t, q, v, ...)` with its own memory, for loops that are not compiled."""

    def __init__(self, law: LoopLaw, times: Array) -> None:
        self._law, self._memory, self._held = law, law.memory, None
        self._dt = float(times[1]) if len(times) > 1 else np.inf
        self._rows = {item.name: law.rows[item.name] for item in law.function.inputs if item.name in law.rows}

    def __call__(self, t: float, q: Array, v: Array, states: Array | None = None) -> Any:
        """Command at the time t (s), evaluated once every `every` sampling times."""
        law, k = self._law, round(t / self._dt)
        if self._held is not None and k % law.every:
            return self._held
        x: dict[str, Any] = {"t": t, "q": q, "v": v, "states": states, "memory": self._memory}
        x |= {name: rows[min(k, len(rows) - 1)] for name, rows in self._rows.items()}
        results = law.function(*(x[item.name] for item in law.function.inputs))
        results = results if isinstance(results, tuple) else (results,)
        if law.memory_size:
            self._memory = results[[item.name for item in law.function.outputs].index("memory_next")]
        self._held = results[law.command]
        return self._held


class LawInStep:
    """The evaluation of a law within a compiled time step: further states and inputs of that step.

    The states are the command, the law's `memory`, and, where the command is held for several steps, `count`,
    the number of steps since the last evaluation. The inputs are the time, the law's rows, and `hold`, the
    number of steps for which a command is held.
    """

    def __init__(self, law: LoopLaw, command: Input, held: bool) -> None:
        self._law, self._command, self._held = law, command, held
        function = law.function
        self.key: Hashable = function, tuple(law.rows), held
        self.states = [command]
        self.states += [Input("memory", (law.memory_size,))] if law.memory_size else []
        self.states += [Input("count", ())] if held else []
        self._timed = any(item.name == "t" for item in function.inputs)
        # Rows may have the names of inputs of the step, such as theta.
        self.inputs = [Input("t", ())] if self._timed else []
        self.inputs += [Input(f"law_{x.name}", x.shape) for x in function.inputs if x.name in law.rows]
        self.inputs += [Input("hold", ())] if held else []

    def evaluate(self, x: Mapping[str, Expression]) -> tuple[Expression, list[Expression]]:
        """The command, and the next values of `states`."""
        law, f = self._law, self._law.function
        known = {**x, "states": x.get("states", ca.SX(0, 1)), "memory": x.get("memory", ca.SX(0, 1))}
        known |= {name: x[f"law_{name}"] for name in law.rows if f"law_{name}" in x}
        results = f.casadi.call([known[item.name] for item in f.inputs], True, False)
        command, following = ca.vec(ca.densify(results[law.command])), []
        begins = x["count"] < 0.5 if self._held else None
        if begins is not None:
            command = ca.if_else(begins, command, x[self._command.name])
        if law.memory_size:
            memory = results[[item.name for item in f.outputs].index("memory_next")]
            following.append(memory if begins is None else ca.if_else(begins, memory, x["memory"]))
        if self._held:
            following.append(ca.if_else(x["count"] + 1.5 > x["hold"], 0, x["count"] + 1))
        return command, [command, *following]

    def state_arrays(self, rows: int, rollouts: int) -> list[Array]:
        """Arrays (rows, rollouts, ...) for `states`, with the initial memory in the first row."""
        arrays = [np.zeros((rows, rollouts, *item.shape)) for item in self.states]
        if self._law.memory_size:
            arrays[1][0] = self._law.memory
        return arrays

    def input_arrays(self, times: Array, substeps: int) -> list[Array]:
        """Arrays (N or 1, B or 1, ...) for `inputs`."""
        arrays = [np.ascontiguousarray(times[:, None])] if self._timed else []
        arrays += self._law.row_arrays()
        return [*arrays, *([np.full((1, 1), float(substeps * self._law.every))] if self._held else [])]


class LawLoop:
    """Steps of a system, each of which evaluates the law first, all in compiled code.

    Args:
        robot: keeps the compiled loop for later simulations.
        step: `(states, command, ..., dt) -> states`, one step of the system.
        states: (rows, rollouts, n) for each state of the system; the caller fills row 0.
        inputs: (rows or 1, rollouts or 1, n) for each further input of `step`, without dt.
        limit: at which the command saturates, symmetric; None where the system has limits of its own.
        disturbance: (rows or 1, rollouts or 1, n), added to the command that acts; None where there is none.
        length: dt of `step` (s); None is that of the times, divided by the substeps.

    `command` is (rows + 1, rollouts, n), before saturation: row k + 1 is that of the step from row k on.
    """

    def __init__(
        self,
        robot: Robot,
        step: Function,
        law: LoopLaw,
        states: Sequence[Array],
        inputs: Sequence[Array],
        times: Array,
        substeps: int = 1,
        limit: Array | None = None,
        disturbance: Array | None = None,
        length: float | None = None,
    ) -> None:
        n, held = len(step.outputs), substeps * law.every > 1
        parts = LawInStep(law, step.inputs[n], held)
        loops: dict[Any, Function] = robot.memo("loops with laws", dict)
        key = step, parts.key, limit is not None, disturbance is not None
        if key not in loops:
            forget_oldest(loops)
            loops[key] = _step_with_law(step, parts, limit, disturbance is not None)
        self._function, self._substeps = loops[key], substeps
        rows, rollouts = states[0].shape[:2]
        self._window = rows if rows * rollouts <= _WINDOW else max(_WINDOW // rollouts, 100) + 1
        own = parts.state_arrays(1, rollouts)
        self.command = np.zeros((rows + 1, *own[0].shape[1:]))
        self._recorded = [*states, self.command[:rows]]
        self._carried = [np.zeros((self._window, *x.shape[1:])) for x in own[1:]]
        for array, first in zip(self._carried, own[1:], strict=True):
            array[0] = first[0]
        more = [] if disturbance is None else [disturbance]
        dt = np.full(
            (1, 1), (float(times[1]) / substeps if len(times) > 1 else 1.0) if length is None else length
        )
        self._inputs = [*parts.input_arrays(times, substeps), *more, *inputs, dt]
        self._whole = self._iteration(0, rows) if self._window == rows else None
        self._last = 0

    def _iteration(self, first: int, end: int) -> Iteration:
        """Iteration over rows `first` to `end` - 1; unrecorded arrays begin at their window's first row."""
        recorded = [x[first:end] for x in self._recorded]
        carried = [x[: end - first] for x in self._carried]
        inputs = [x if len(x) == 1 else x[first : max(end - 1, first + 1)] for x in self._inputs]
        return Iteration(self._function, [*recorded, *carried], inputs, self._substeps)

    def run(self, first: int, last: int) -> None:
        """Compute rows first + 1 to last."""
        if self._whole is not None:
            self._whole.run(first, last)
            self._last = last
            return
        while first < last:
            end = min(first + self._window - 1, last)
            self._iteration(first, end + 1).run(0, end - first)
            for x in self._carried:
                x[0] = x[end - first]
            first = end

    @property
    def memory(self) -> Array:
        """The law's memory (rollouts, size) after the last step."""
        return self._carried[0][self._last]


def _step_with_law(step: Function, parts: LawInStep, limit: Array | None, disturbed: bool) -> Function:
    """`(states, law states, law inputs, [disturbance], ..., dt) -> states, law states`, one step later."""
    n = len(step.outputs)
    states, command, others = step.inputs[:n], step.inputs[n], step.inputs[n + 1 :]
    more = [Input("disturbance", command.shape)] if disturbed else []
    first = [*states, *parts.states]
    inputs = [*first, *parts.inputs, *more, *others]

    def expressions() -> Expressions:
        x = {item.name: ca.SX.sym(item.name, *(*item.shape, 1, 1)[:2]) for item in inputs}
        wanted, following = parts.evaluate(x)
        acting = saturated(wanted, limit) + (x["disturbance"] if disturbed else 0)
        moved = step(*(x[item.name] for item in states), acting, *(x[item.name] for item in others))
        moved = moved if isinstance(moved, tuple) else (moved,)
        return list(x.values()), [*moved, *following]

    outputs = [Output(f"{item.name}_next", item.shape) for item in first]
    return Function(f"{step.name}_with_law", inputs, outputs, expressions)


def saturated(command: Expression, limit: Array | None) -> Expression:
    """The command within ± limit; infinite limits add no operations."""
    if limit is None:
        return command
    bounds = [(command[k], float(x)) for k, x in enumerate(limit)]
    return ca.vertcat(*(ca.fmax(ca.fmin(u, x), -x) if np.isfinite(x) else u for u, x in bounds))


def forget_oldest(cache: dict[Any, Any]) -> None:
    """Make place in a cache of compiled loops."""
    while len(cache) >= _MAX_CACHED_LOOPS:
        del cache[next(iter(cache))]


def hashable(options: Mapping[str, Any]) -> tuple[Any, ...]:
    """Options as a key of a cache."""
    return tuple(
        (key, tuple(np.ravel(value).tolist()) if key == "gravity" else value)
        for key, value in sorted(options.items())
    )
