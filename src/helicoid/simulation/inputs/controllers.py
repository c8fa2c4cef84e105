"""What may steer a simulated robot, brought to one form: a series of torques, or `(t, q, v) -> tau`."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler import Function
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.inputs.forces import Feedback, Force
from helicoid.simulation.inputs.laws import SymbolicLaw, check_law

_POSITIONS = {1: ("q",), 2: ("q", "v"), 3: ("t", "q", "v")}
"""What the inputs of a function mean that has no names for them."""


class Stepping(Protocol):
    """A controller with `step(q, v) -> tau`, such as `mpc.Controller`; its `period` (s), if any, is kept."""

    step: Callable[..., ArrayLike]


class Torques(Protocol):
    """Torques over time, such as a Plan, a Trajectory or a Log: row k of `tau` acts from `t[k]` (s) on."""

    @property
    def t(self) -> Array: ...

    @property
    def tau(self) -> Array | None: ...


class InLoop(Protocol):
    """A law with what it follows, for what flies: the compiled loop computes it."""

    def in_loop(self, times: Array) -> Any: ...


Controller = Force | Stepping | Torques | InLoop


def control_law(controller: Controller, robot: Robot, times: Array) -> Force:
    """The controller as numbers or as a callable, for steps that begin at times[:-1] (s).

    Raises:
        InputError: it does not fit the robot or the times.
    """
    given: Any = controller
    if isinstance(given, Function):
        shapes = {item.name: math.prod(item.shape) for item in given.inputs}
        names = [item.name for item in given.outputs]
        return _function(given, given.name, shapes, names, robot)
    if isinstance(given, ca.Function):
        shapes = {given.name_in(k): given.numel_in(k) for k in range(given.n_in())}
        return _function(given, given.name(), shapes, given.name_out(), robot)
    if callable(getattr(given, "step", None)):
        return _stepping(given, robot, times)
    if hasattr(given, "t") and hasattr(given, "tau"):
        return _series(given, robot, times)
    return given


def _function(
    source: Any, name: str, sizes: Mapping[str, int], outputs: Sequence[str], robot: Robot
) -> SymbolicLaw:
    """A function of some of t, q and v, told by their names, or in this order where they have none."""
    names = tuple(sizes)
    if not set(names) & {"t", "q", "v"} and len(names) in _POSITIONS and all(map(_unnamed, names)):
        names = _POSITIONS[len(names)]
    check_law(name, dict(zip(names, sizes.values(), strict=True)), outputs, robot)
    which = outputs.index("tau") if len(outputs) > 1 else None
    return SymbolicLaw(source, names, which, source if isinstance(source, Function) else _columns(source))


def _unnamed(name: str) -> bool:
    return re.fullmatch(r"i\d+", name) is not None


def _columns(function: Any) -> Callable[..., Any]:
    """A CasADi function called with NumPy vectors, or with rows of a batch, which CasADi has as columns."""

    def call(*values: Any) -> Any:
        n = max((len(value) for value in values if np.ndim(value) == 2), default=None)
        arguments = values if n is None else [_column(value, n) for value in values]
        results = [np.array(result, dtype=np.float64) for result in function.call(arguments)]
        results = [result[:, 0] if n is None else result.T for result in results]
        return results[0] if len(results) == 1 else results

    return call


def _column(value: Any, n: int) -> Array:
    return np.full((1, n), value) if np.ndim(value) == 0 else np.asarray(value).T


def _stepping(controller: Any, robot: Robot, times: Array) -> Feedback:
    """`step` called every period, its torque held in between."""
    name = type(controller).__name__
    measures_torque = _measures_torque(controller.step, name)
    dt = float(times[1]) if len(times) > 1 else math.inf
    period = getattr(controller, "period", None)
    every = 1 if period is None or math.isinf(dt) else round(period / dt)
    if every < 1 or (period is not None and not math.isinf(dt) and abs(every * dt - period) > 1e-6 * dt):
        raise InputError(
            f"{name} steps every {period:g} s, no multiple of dt = {dt:g} s: take dt={period:g}, with "
            "substeps if the steps should be shorter"
        )
    held: list[Any] = [np.zeros(robot.nv)]

    def feedback(t: float, q: Array, v: Array) -> Any:
        if q.ndim > 1:
            raise InputError(f"{name} controls one robot; a batch needs a callable or a function")
        if math.isinf(dt) or round(t / dt) % every == 0:
            held[0] = controller.step(q, v, *held) if measures_torque else controller.step(q, v)
        return held[0]

    return feedback


def _measures_torque(step: Callable[..., Any], name: str) -> bool:
    """Whether `step` wants the torque that acted until now, after q and v."""
    try:
        signature = inspect.signature(step)
    except ValueError:  # of compiled code: it says when it is called
        return False
    needed = [one.name for one in signature.parameters.values() if one.default is inspect.Parameter.empty]
    if len(needed) == 3 and needed[2].startswith("tau"):
        return True
    try:
        signature.bind(None, None)
    except TypeError as error:
        raise InputError(
            f"{name}.step{signature} cannot be called with q and v alone; wrap it: "
            "controller=lambda t, q, v: controller.step(q, v, ...)"
        ) from error
    return False


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
