"""Base of the flight control laws: commands within their limits, and references over time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.vehicle import Vehicle
from helicoid.compiler import Shape
from helicoid.control.laws.step import Expressions, Number, Step
from helicoid.errors import InputError
from helicoid.simulation.inputs.laws import LoopLaw

Reference = ArrayLike | Callable[[float], ArrayLike]
References = Mapping[str, tuple[Shape, ArrayLike]]
"""Shapes and defaults of the references, by name."""


class Command(NamedTuple):
    """Controls u of a step, the memory after it, and whether an actuator saturates (0 or 1)."""

    u: Expression
    memory: Mapping[str, Expression] = {}
    saturated: Expression | int = 0


class FlightLaw(Step):
    """Base of the control laws of vehicles: one compiled call a step.

    Where a measurement or a reference is not finite, the last valid controls are held, `ok` is False and
    `status` says why; it is "saturated" where the actuators cannot give the commanded thrust and moments.
    `hc.simulate(vehicle, controller=law.following(position=...))` runs the law inside its compiled loop.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        name: str,
        references: References,
        numbers: Mapping[str, Number],
        memory: Mapping[str, Array] | None = None,
    ) -> None:
        if not isinstance(vehicle, Vehicle):
            raise InputError(
                f"{type(self).__name__} controls a vehicle, such as hc.aerial.load('hummingbird')"
            )
        self.vehicle, robot = vehicle, vehicle.robot
        self._defaults = {key: np.asarray(value, np.float64) for key, (_, value) in references.items()}
        self._shapes = {key: shape for key, (shape, _) in references.items()}
        self._default_values = tuple(self._defaults.values())
        limits = (x[: len(vehicle.own_controls)] for x in vehicle.control_limits)
        hover = np.clip(vehicle._guess(0.0), *limits)
        hover = np.concatenate([hover, np.zeros(len(vehicle.controls) - len(hover))])
        super().__init__(
            robot,
            name,
            {"q": (robot.nq,), "v": (robot.nv,)},
            self._shapes,
            {"u": (len(vehicle.controls),)},
            numbers,
            {**(memory or {}), "last": hover},
        )

    @abstractmethod
    def _command(self, x: Mapping[str, Expression]) -> Command:
        """The law on symbols: measurements, references, numbers and memory by name."""

    def _law(self, x: Mapping[str, Expression]) -> Expressions:
        command = self._command(x)
        return Expressions({"u": command.u}, command.memory, {"u": x["last"]}, command.saturated)

    def step(self, q: ArrayLike, v: ArrayLike, **references: ArrayLike) -> Array:
        """Controls for a measured state; references that are not given have the default of the law."""
        if not references:
            return self._call((q, v, *self._default_values))[0]
        given = {**self._defaults, **references}
        if len(given) != len(self._defaults):
            self._check_names(references)
        return self._call((q, v, *given.values()))[0]

    def _check_names(self, references: Mapping[str, Any]) -> None:
        for name in references:
            if name not in self._shapes:
                known = ", ".join(self._shapes)
                raise InputError(f"{type(self).__name__} has no reference {name!r}; there are: {known}")

    def following(self, **references: Reference) -> Following:  # type: ignore[override]
        """The law with its references over time, for `hc.simulate`.

        Each is constant, an array with a row for each sampling time, or a function of time (s) that gives
        one, for arrays of times too if it can.
        """
        self._check_names(references)
        return Following(self, references)


@dataclass(frozen=True, eq=False)
class Following:
    """A law and what it follows; `hc.simulate(vehicle, controller=...)` takes it."""

    law: FlightLaw
    references: Mapping[str, Reference]

    def in_loop(self, times: Array) -> LoopLaw:
        """The law as the compiled loop of a simulation computes it."""
        law = self.law
        rows = {"numbers": law._values[None].copy()}
        for name, default in law._defaults.items():
            rows[name] = _rows(name, self.references.get(name, default), law._shapes[name], times)
        return LoopLaw(law.function, law._start.copy(), rows)


def _rows(name: str, given: Any, shape: Shape, times: Array) -> Array:
    if callable(given):
        given = np.stack([np.asarray(given(float(t)), dtype=np.float64) for t in times])
    rows = np.asarray(given, dtype=np.float64)
    if rows.shape == shape:
        return rows[None].copy()
    if (
        rows.ndim != len(shape) + 1
        or rows.shape[1:] != shape
        or len(rows) not in (len(times), len(times) - 1)
    ):
        raise InputError(
            f"reference {name!r} has shape {shape}, or a row for each of {len(times)} times; got {rows.shape}"
        )
    return np.ascontiguousarray(rows)
