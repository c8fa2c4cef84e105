"""Controllers with `step`, brought to one form: a callable `(t, q, v)` that steps them once every period."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.inputs.forces import numbers

_OBSERVED = "residual"  # `command` of an observer, whose step returns an estimate and no command

Measure = Callable[[Array, Array, Array], tuple[Array, Array, Array]]
Targets = Callable[[float], Mapping[str, ArrayLike]]


@dataclass(frozen=True, eq=False)
class Commanded:
    """The system that a controller commands.

    Args:
        names: of the entries of the command: velocities of a robot, controls of a vehicle.
        n_states: number of actuator states of a vehicle; None of a robot.
        limit: symmetric limit of the command that the simulation applies; None where it applies none.
        options, theta: of the inverse dynamics of a robot, for controllers that command velocities.
    """

    robot: Robot
    names: tuple[str, ...]
    n_states: int | None = None
    limit: Array | None = None
    options: dict[str, Any] | None = None
    theta: ArrayLike | None = None


class SteppedController:
    """A controller with `step` as a callable `(t, q, v, ...)`: stepped once every period, its command held.

    A controller that commands joint velocities (`command == "v"`) acts through an ideal inner velocity loop:
    τ = ID(q, v, (v_command - v) / T), the inverse dynamics of the simulated robot, with T the time that is
    left of the period. An observer commands nothing.

    Args:
        measure: sensors, `(q, v, tau) -> (q, v, tau)`, of the true state and the torque that has acted until
            now; None measures exactly.
        targets: `t -> dict` for `controller.set` before each step.

    `seconds` is the computation time of the last step, `n_not_ok` the number of steps that were not ok.
    """

    def __init__(
        self,
        controller: Any,
        system: Commanded,
        dt: float,
        measure: Measure | None = None,
        targets: Targets | None = None,
    ) -> None:
        self._controller, self._step, self._name = (
            controller,
            step_caller(controller),
            type(controller).__name__,
        )
        self._system, self._dt, self._measure, self._targets = system, dt, measure, targets
        self._every = sampling_multiple(controller, dt)
        self._commands_velocity, self._observes = commands_velocity(controller), is_observer(controller)
        self._held: Any = None
        self._applied = np.zeros(len(system.names))
        self.seconds, self.n_not_ok = 0.0, 0
        if self._commands_velocity and (system.n_states is not None or system.robot.unactuated):
            raise InputError(
                f"{self._name} commands joint velocities, which {system.robot.name!r} cannot follow: not all "
                "of its velocities have an actuator"
            )

    def __call__(self, t: float, q: Array, v: Array, states: Array | None = None) -> Any:
        """Command at the time t (s)."""
        if q.ndim > 1:
            raise InputError(
                f"{self._name} controls one robot; a batch needs a law, a callable or a function"
            )
        k = 0 if math.isinf(self._dt) else round(t / self._dt) % self._every
        begins = k == 0 or self._held is None
        if begins and self._targets is not None:
            self._controller.set(**self._targets(t))
        tau = self._applied
        if self._measure is not None:
            q, v, tau = self._measure(q, v, tau)
        if begins:
            began = time.perf_counter()
            found = self._step(t, q, v, states, tau)
            self.seconds = time.perf_counter() - began
            self._held = np.zeros(len(self._applied)) if self._observes else found
            self.n_not_ok += not getattr(self._controller, "ok", True)
        command = self._inner_loop(t, q, v, k) if self._commands_velocity else self._held
        self._applied = self._saturated(command)
        return command

    def _inner_loop(self, t: float, q: Array, v: Array, k: int) -> Array:
        robot, size = self._system.robot, len(v)
        wanted = numbers(f"{self._name}.step must return", self._held, t, (size,))
        remaining = (self._every - k) * (1.0 if math.isinf(self._dt) else self._dt)
        inverse = robot.inverse_dynamics.with_options(**(self._system.options or {}))
        theta = robot.theta.values if self._system.theta is None else self._system.theta
        a = (wanted - v) / remaining
        tau = inverse(q, v, a, theta) if robot.theta.groups else inverse(q, v, a)
        return np.clip(tau, -robot.limits.effort, robot.limits.effort)

    def _saturated(self, command: Any) -> Array:
        limit = self._system.limit
        return np.asarray(command if limit is None else np.clip(command, -limit, limit))


class Observation:
    """An observer beside a simulation: stepped with q, v and the torque that acts from there on.

    `rows` are its estimates (N + 1, n), each held until the next; the last row repeats.
    """

    def __init__(self, observer: Any, times: Array) -> None:
        if not callable(getattr(observer, "step", None)):
            raise InputError(f"an observer has step(q, v, tau), such as a MomentumObserver; got {observer!r}")
        self._step, self._times = step_caller(observer), times
        self._every = sampling_multiple(observer, step_time(times))
        self.rows: list[Any] = []

    def update(self, last: int, q: Array, v: Array, tau: Array) -> None:
        """Observe the steps up to row `last` that have not been observed; arrays (rows, 1, n)."""
        for k in range(len(self.rows), last):
            if k % self._every:
                self.rows.append(self.rows[-1])
                continue
            acting = tau[k if len(tau) > 1 else 0, 0]
            found = self._step(float(self._times[k]), q[k, 0].copy(), v[k, 0].copy(), None, acting.copy())
            self.rows.append(np.array(found, dtype=np.float64))

    def estimates(self, n: int) -> Array:
        """The estimates of n rows."""
        rows = [*self.rows, *self.rows[-1:]]
        return np.array(rows[:n]) if rows else np.zeros((n, 0))


def step_caller(controller: Any) -> Callable[[float, Array, Array, Array | None, Array], Any]:
    """`(t, q, v, states, tau) -> command`: `step` with those of the arguments that it takes.

    Args:
        controller: its `step` takes q and v; the torque that has acted until now where its third argument
            begins with "tau"; the time where one is called t; the whole state where `measures` is "x".

    Raises:
        InputError: `step` needs a reference.
    """
    step, name = controller.step, type(controller).__name__
    measures = str(getattr(controller, "measures", "")).split()
    try:
        parameters = list(inspect.signature(step).parameters.values())
    except ValueError:  # of compiled code: it says when it is called
        return lambda t, q, v, states, tau: step(q, v)
    positional = [x for x in parameters if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)]
    needed = [x.name for x in positional if x.default is x.empty and x.name != "t"]
    torque = len(needed) == 3 and needed[2].startswith("tau")
    if len(needed) > 2 and not torque:
        missing = ", ".join(required_references(controller) or needed[2:])
        raise InputError(
            f"{name}.step cannot be called with q and v alone, it needs {missing}: give it a reference over "
            "time, controller=law.following(reference), or wrap it, controller=lambda t, q, v: law.step(...)"
        )
    if torque:
        return lambda t, q, v, states, tau: step(q, v, tau)
    timed = any(x.name == "t" for x in parameters)
    measured = "tau" in measures and any(x.name == "tau" for x in parameters)
    n = 1 if len(positional) == 1 and not any(x.kind == x.VAR_POSITIONAL for x in parameters) else 2

    def call(t: float, q: Array, v: Array, states: Array | None, tau: Array) -> Any:
        keywords: dict[str, Any] = {"t": t} if timed else {}
        if measured:
            keywords["tau"] = tau
        state = (np.concatenate([q, v, states]), None) if measures == ["x"] else (q, v)
        return step(*state[:n], **keywords)

    return call


def required_references(controller: Any) -> tuple[str, ...]:
    """References without which `step` cannot be called, where the controller names them."""
    return tuple(getattr(controller, "required", ()))


def sampling_multiple(controller: Any, dt: float) -> int:
    """Sampling times dt (s) in the controller's period; 1 where it has none.

    Raises:
        InputError: the period is no multiple of dt.
    """
    period = getattr(controller, "period", None)
    if period is None or math.isinf(dt):
        return 1
    every = round(period / dt)
    if every < 1 or abs(every * dt - period) > 1e-6 * dt:
        raise InputError(
            f"{type(controller).__name__} steps every {period:g} s, no multiple of dt = {dt:g} s: take "
            f"dt={period:g}, with substeps if the steps should be shorter"
        )
    return every


def commands_velocity(controller: Any) -> bool:
    """Whether `step` returns joint velocities, as that of differential inverse kinematics."""
    command = getattr(controller, "command", None)
    return isinstance(command, str) and command == "v"


def is_observer(controller: Any) -> bool:
    """Whether `step(q, v, tau)` returns an estimate and no command."""
    command = getattr(controller, "command", None)
    return isinstance(command, str) and command == _OBSERVED


def step_time(times: Array) -> float:
    """Time between two steps (s); infinite where there is only one time."""
    return float(times[1]) if len(times) > 1 else math.inf
