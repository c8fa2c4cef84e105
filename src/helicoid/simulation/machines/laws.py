"""What may steer a machine, brought to one form: rows of controls, a callable, or a law inside the loop."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Function
from helicoid.errors import InputError
from helicoid.simulation.machines.machine import Machine


@dataclass(frozen=True, eq=False)
class LoopLaw:
    """A law of control that a simulation computes inside its compiled loop.

    Args:
        function: of some of t, q, v, states and memory, and further inputs; its output `u`, or its first
            one, are the controls, and `memory_next` what memory is one step later.
        memory: at the start; empty where the function has none.
        rows: the further inputs by name: (N, ...), row k for the step from k·dt on, or (1, ...) for all.
    """

    function: Function
    memory: Array = field(default_factory=lambda: np.zeros(0))
    rows: Mapping[str, Array] = field(default_factory=dict)

    def check(self, machine: Machine, n_steps: int) -> None:
        """Refuse a law that does not fit the machine."""
        robot, name = machine.robot, self.function.name
        known: dict[str, tuple[int, ...]] = {"t": (), "q": (robot.nq,), "v": (robot.nv,)}
        known |= {"states": (len(machine.states),), "memory": self.memory.shape}
        for item in self.function.inputs:
            if item.name in self.rows:
                shape = self.rows[item.name].shape
                if shape[1:] != item.shape or shape[0] not in (1, n_steps, n_steps + 1):
                    raise InputError(
                        f"controller {name!r}: rows of {item.name!r} have shape {shape}; there are {n_steps} "
                        f"steps and {item.shape} in each"
                    )
            elif item.name not in known:
                raise InputError(f"controller {name!r}: nothing says what its input {item.name!r} is")
            elif known[item.name] != item.shape:
                raise InputError(
                    f"controller {name!r}: its input {item.name} has shape {item.shape}, where "
                    f"{robot.name!r} has {known[item.name]}"
                )
        shape, wanted = self.function.outputs[self.which].shape, (len(machine.controls),)
        if shape != wanted and not (shape == () and wanted == (1,)):
            raise InputError(f"controller {name!r} gives {shape} numbers for the controls {machine.controls}")

    @property
    def which(self) -> int:
        """The number of the output that is u."""
        names = [item.name for item in self.function.outputs]
        return names.index("u") if "u" in names else 0


Feedback = Callable[[float, Array, Array, Array], Any]


def steering(controller: Any, machine: Machine, times: Array) -> LoopLaw | Feedback | Array:
    """The controller as a law, as a callable `(t, q, v, z) -> u`, or as numbers.

    Raises:
        InputError: it is none of what can steer this machine.
    """
    if controller is None:
        return np.clip(np.zeros(len(machine.controls)), *machine.control_limits)
    if isinstance(controller, Function):
        law = LoopLaw(controller)
        law.check(machine, len(times) - 1)
        return law
    if callable(getattr(controller, "in_loop", None)):
        law = controller.in_loop(times)
        law.check(machine, len(times) - 1)
        return law
    if callable(getattr(controller, "step", None)):
        return _stepping(controller, times)
    if callable(controller):
        return _callable(controller)
    return np.asarray(controller, dtype=np.float64)


def _callable(function: Callable[..., Any]) -> Feedback:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        parameters = []
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    several = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    if several or len(positional) >= 4:
        return function
    return lambda t, q, v, z: function(t, q, v)


def _stepping(controller: Any, times: Array) -> Feedback:
    """`step` once in every period, of q and v, or of the whole state where `measures` says "x"."""
    dt = float(times[1]) if len(times) > 1 else np.inf
    period = getattr(controller, "period", None)
    every = 1 if period is None or np.isinf(dt) else round(period / dt)
    if every < 1 or (period is not None and np.isfinite(dt) and abs(every * dt - period) > 1e-6 * dt):
        raise InputError(
            f"{type(controller).__name__} steps every {period:g} s, no multiple of dt = {dt:g} s"
        )
    whole = getattr(controller, "measures", "") == "x"
    held: list[Any] = [None]

    def feedback(t: float, q: Array, v: Array, z: Array) -> Any:
        if q.ndim > 1:
            raise InputError(f"{type(controller).__name__} controls one machine; a batch needs a function")
        if held[0] is None or round(t / dt) % every == 0:
            held[0] = controller.step(np.concatenate([q, v, z])) if whole else controller.step(q, v)
        return held[0]

    return feedback
