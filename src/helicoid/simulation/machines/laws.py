"""What may steer a machine, brought to one form: rows of controls, a callable, or a law inside the loop."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Function
from helicoid.errors import InputError
from helicoid.simulation.equations.actuated import ActuatedSystem as Machine
from helicoid.simulation.inputs.laws import LoopLaw

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
