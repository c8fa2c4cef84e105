"""Base of the flight control laws: commands within their limits, and defaults of references."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.vehicle import Vehicle
from helicoid.compiler import Shape
from helicoid.control.laws.step import CompiledLaw, Expressions, Number
from helicoid.errors import InputError

References = Mapping[str, tuple[Shape, ArrayLike]]
"""Shapes and defaults of the references, by name."""


class Command(NamedTuple):
    """Controls u of a step, the memory after it, and whether an actuator saturates (0 or 1)."""

    u: Expression
    memory: Mapping[str, Expression] = {}
    saturated: Expression | int = 0


class FlightLaw(CompiledLaw):
    """Base of the control laws of vehicles: one compiled call a step.

    Where a measurement or a reference is not finite, the last valid controls are held, `ok` is False and
    `status` says why; it is "saturated" where the actuators cannot give the commanded thrust and moments.
    `hc.simulate(vehicle, controller=law.following(position=...))` runs the law inside its compiled loop;
    see `hc.control.Following` for the forms of a reference.
    """

    command: ClassVar[str] = "u"
    """Quantity that `step` returns: controls of the vehicle."""

    def __init__(
        self,
        vehicle: Vehicle,
        name: str,
        references: References,
        numbers: Mapping[str, Number],
        memory: Mapping[str, Array] | None = None,
        dt: float | None = None,
    ) -> None:
        if not isinstance(vehicle, Vehicle):
            raise InputError(
                f"{type(self).__name__} controls a vehicle, such as hc.aerial.load('hummingbird')"
            )
        self.vehicle, robot = vehicle, vehicle.robot
        limits = (x[: len(vehicle.own_controls)] for x in vehicle.control_limits)
        hover = np.clip(vehicle._guess(0.0), *limits)
        hover = np.concatenate([hover, np.zeros(len(vehicle.controls) - len(hover))])
        super().__init__(
            robot,
            name,
            {"q": (robot.nq,), "v": (robot.nv,)},
            {key: shape for key, (shape, _) in references.items()},
            {"u": (len(vehicle.controls),)},
            numbers,
            {**(memory or {}), "last": hover},
            dt,
            {key: value for key, (_, value) in references.items()},
        )

    @abstractmethod
    def _command(self, x: Mapping[str, Expression]) -> Command:
        """The law on symbols: measurements, references, numbers and memory by name."""

    def _law(self, x: Mapping[str, Expression]) -> Expressions:
        command = self._command(x)
        return Expressions({"u": command.u}, command.memory, {"u": x["last"]}, command.saturated)

    def step(self, q: ArrayLike, v: ArrayLike, **references: ArrayLike) -> Array:
        """Controls for a measured state; references that are not given have the default of the law."""
        given = {**self._defaults_of_references, **references}
        if len(given) != len(self._defaults_of_references):
            unknown = next(name for name in references if name not in self.references)
            known = ", ".join(self.references)
            raise InputError(f"{type(self).__name__} has no reference {unknown!r}; there are: {known}")
        return self._call((q, v, *given.values()))[0]
