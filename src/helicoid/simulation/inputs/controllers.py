"""Controllers brought to one form: numbers, a callable `(t, q, v)`, or a law inside the compiled loop."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler import Function, Input, Output
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.inputs.forces import Feedback, Force
from helicoid.simulation.inputs.laws import LoopLaw, forget_oldest
from helicoid.simulation.inputs.stepped import (
    Commanded,
    SteppedController,
    required_references,
    sampling_multiple,
    step_time,
)

_POSITIONS = {1: ("q",), 2: ("q", "v"), 3: ("t", "q", "v")}
"""Meaning of the inputs of a CasADi function that has no names for them."""


class Stepping(Protocol):
    """A controller with `step(q, v) -> command`, called once every `period` (s): see `hc.control`."""

    step: Callable[..., ArrayLike]


class Torques(Protocol):
    """Torques over time, such as a Plan, a Trajectory or a Log: row k of `tau` acts from `t[k]` (s) on."""

    @property
    def t(self) -> Array: ...

    @property
    def tau(self) -> Array | None: ...


class InLoop(Protocol):
    """A law together with its reference, which the compiled loop evaluates: `law.following(reference)`."""

    def in_loop(self, times: Array) -> Any: ...


Controller = Force | Stepping | Torques | InLoop
Command = LoopLaw | Feedback | Array | None


def command_of(controller: Any, system: Commanded, times: Array) -> Any:
    """The controller as numbers, as a callable, or as a law inside the loop, for steps at times[:-1] (s).

    Raises:
        InputError: it does not fit the system or the times.
    """
    if isinstance(controller, (Function, ca.Function)):
        return _function(controller, system, times)
    if isinstance(getattr(controller, "function", None), Function) and not required_references(controller):
        controller = controller.following()  # a compiled law whose references all have defaults
    if callable(getattr(controller, "in_loop", None)):
        law: LoopLaw = controller.in_loop(times)
        law = replace(law, every=sampling_multiple(controller, step_time(times)))
        law.check(system.robot, system.n_states, system.names, len(times) - 1)
        return law
    if callable(getattr(controller, "step", None)):
        return SteppedController(controller, system, step_time(times))
    if hasattr(controller, "t") and hasattr(controller, "tau"):
        return _series(controller, system.robot, times)
    if callable(controller):
        return controller if system.n_states is None else _with_states(controller)
    return controller


def _function(source: Function | ca.Function, system: Commanded, times: Array) -> LoopLaw | Feedback:
    """A function of some of t, q and v, by their names, or in this order where they have none."""
    laws: dict[Any, tuple[LoopLaw, bool]] = system.robot.memo("laws of functions", dict)
    if source not in laws:
        forget_oldest(laws)
        law = LoopLaw(source if isinstance(source, Function) else _named(source))
        laws[source] = law, _symbolic(law.function)
    law, symbolic = laws[source]
    law.check(system.robot, system.n_states, system.names, len(times) - 1)
    if symbolic:
        return law
    call = source if isinstance(source, Function) else _by_columns(source)
    inputs = [item.name for item in law.function.inputs]

    def feedback(t: float, q: Array, v: Array, states: Array | None = None) -> Any:
        values = {"t": t, "q": q, "v": v, "states": states}
        result = call(*(values[name] for name in inputs))
        return result[law.command] if isinstance(result, (tuple, list)) else result

    return feedback


def _named(function: ca.Function) -> Function:
    """A CasADi function as a `Function` with the names t, q, v and vectors for its inputs and outputs."""
    names: Sequence[str] = function.name_in()
    if len(names) in _POSITIONS and all(re.fullmatch(r"i\d+", name) for name in names):
        names = _POSITIONS[len(names)]
    sizes = [function.numel_in(k) for k in range(len(names))]
    inputs = [Input(name, () if name == "t" else (n,)) for name, n in zip(names, sizes, strict=True)]
    outputs = [Output(name, (function.numel_out(k),)) for k, name in enumerate(function.name_out())]

    def expressions() -> tuple[list[Any], list[Any]]:
        x = [ca.SX.sym(item.name, n) for item, n in zip(inputs, sizes, strict=True)]
        shaped = [ca.reshape(one, *function.size_in(k)) for k, one in enumerate(x)]
        results = function.call(shaped, True, False)  # written out
        return x, [ca.vec(ca.densify(one)) for one in results]

    return Function(function.name(), inputs, outputs, expressions)


def _symbolic(function: Function) -> bool:
    """Whether it can be written out in SX; a CasADi function that calls Python cannot."""
    x = [ca.SX.sym(item.name, *(*item.shape, 1, 1)[:2]) for item in function.inputs]
    try:
        function.casadi.call(x, True, False)
    except (RuntimeError, NotImplementedError):
        return False
    return True


def _by_columns(function: ca.Function) -> Callable[..., list[Array]]:
    """A CasADi function called with NumPy vectors, or with rows of a batch, which CasADi has as columns."""

    def call(*values: Any) -> list[Array]:
        n = max((len(value) for value in values if np.ndim(value) == 2), default=None)
        arguments = values if n is None else [_column(value, n) for value in values]
        results = [np.array(result, dtype=np.float64) for result in function.call(arguments)]
        return [result[:, 0] if n is None else result.T for result in results]

    return call


def _column(value: Any, n: int) -> Array:
    return np.full((1, n), value) if np.ndim(value) == 0 else np.asarray(value).T


def _with_states(function: Callable[..., Any]) -> Feedback:
    """A callable `(t, q, v)` or `(t, q, v, states)`, by its signature, as one with the actuator states."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        parameters = []
    positional = [x for x in parameters if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)]
    if len(positional) >= 4 or any(x.kind == x.VAR_POSITIONAL for x in parameters):
        return function
    return lambda t, q, v, *states: function(t, q, v)


def _series(given: Torques, robot: Robot, times: Array) -> Array:
    """The torques at the sampling times; each is held until the next of its own times."""
    name = type(given).__name__
    if given.tau is None:
        raise InputError(f"this {name} has no torques tau: it is not that of a robot")
    t, tau = np.asarray(given.t, dtype=np.float64), np.asarray(given.tau, dtype=np.float64)
    n = len(t)
    if tau.ndim < 2 or tau.shape[-1] != robot.nv or tau.shape[-2] not in (n, n - 1) or not n:
        raise InputError(
            f"a {name} of {robot.name!r} has tau of shape ({n} or {n - 1}, {robot.nv}) for its {n} times; it "
            f"has {tau.shape}"
        )
    wanted = times[:-1] if len(times) > 1 else times
    slack = 1e-6 * float(times[1] - times[0]) if len(times) > 1 else 0.0
    end = float(times[-1])
    if t[0] > slack or end > t[-1] + slack:
        raise InputError(
            f"this {name} goes from {t[0]:g} to {t[-1]:g} s, and the simulation from 0 to {end:g} s: take "
            f"duration={t[-1]:g}"
        )
    rows = np.clip(np.searchsorted(t, wanted + slack, side="right") - 1, 0, tau.shape[-2] - 1)
    return np.asarray(tau[..., rows, :])
