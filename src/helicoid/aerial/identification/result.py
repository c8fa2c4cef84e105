"""Result of identifying an aircraft from flights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.aerial.identification.fitting import residuals
from helicoid.aerial.identification.flight_log import FlightLog
from helicoid.aerial.identification.model import predicted, speeds
from helicoid.aerial.identification.parameters import Layout
from helicoid.aerial.identification.sampling import Stretch, stretches
from helicoid.aerial.multirotor import Multirotor
from helicoid.arrays import real_array
from helicoid.errors import InputError

CHANNELS = ("force x", "force y", "force z", "angular x", "angular y", "angular z")
"""Specific force (m/s²) and angular acceleration (rad/s²) along the axes of the inertial sensor."""


class HeldOut(NamedTuple):
    """Errors on a flight that was not fitted, RMS of each of `CHANNELS`, and those of a constant."""

    flight: str
    errors: Array
    constant: Array

    @property
    def worse_than_a_constant(self) -> list[str]:
        """Channels that a constant predicts better."""
        return [
            name
            for name, error, constant in zip(CHANNELS, self.errors, self.constant, strict=True)
            if error > 1.02 * constant
        ]

    def total(self, first: int) -> tuple[float, float]:
        """RMS over three channels from `first`, of the model and of the constant."""
        each = slice(first, first + 3)
        return tuple(float(np.linalg.norm(x[each])) for x in (self.errors, self.constant))  # type: ignore[return-value]


class Predicted(NamedTuple):
    """Times, and measured and predicted specific force and angular acceleration (M, 6), alike."""

    t: Array
    measured: Array
    predicted: Array


@dataclass(frozen=True, eq=False)
class FlightIdentification:
    """Result of `hc.aerial.identify`.

    Attributes:
        vehicle: the identified vehicle; its controls are rotor speeds, which `speeds` gives of commands.
        names, values, sigma: parameters and their standard deviations; `described`, what they were before.
        pose_delays: by which poses are later than the gyroscope (s), by flight.
        held_out: errors on flights, or halves of the only one, that were left out of a fit.
        success: whether the vehicle is physical and predicts better than a constant; else `message` says why.
        notes: what else should be known.
    """

    vehicle: Multirotor
    names: tuple[str, ...]
    values: Array
    sigma: Array
    described: Array
    pose_delays: Mapping[str, float]
    held_out: tuple[HeldOut, ...]
    success: bool
    message: str
    notes: tuple[str, ...]
    layout: Layout
    point: Array
    covariance: Array
    means: Array

    def __getitem__(self, name: str) -> float:
        """A parameter by name."""
        if name not in self.names:
            raise InputError(f"no parameter is called {name!r}; there are: {', '.join(self.names)}")
        return float(self.values[self.names.index(name)])

    def speeds(self, command: ArrayLike, voltage: float | None = None) -> Array:
        """Steady rotor speeds (rad/s) of commands; by default at the mean voltage of the flights."""
        x = self.layout.speed_of(self.point, real_array("command", command))
        if voltage is not None and self.layout.has("voltage_exponent"):
            x = x * (voltage / self.layout.voltage) ** self["voltage_exponent"]
        return np.maximum(x, 0.0)

    def commands(self, speed: ArrayLike, voltage: float | None = None) -> Array:
        """Commands for steady rotor speeds (rad/s), the inverse of `speeds`."""
        x = real_array("speed", speed)
        if voltage is not None and self.layout.has("voltage_exponent"):
            x = x / (voltage / self.layout.voltage) ** self["voltage_exponent"]
        if not self.layout.has("speed_at_mean"):
            return x
        slope = self["speed_slope"] / self.layout.command_scale
        return self.layout.command_mean + (x - self["speed_at_mean"]) / slope

    def predict(self, flight: FlightLog) -> list[Predicted]:
        """Specific force and angular acceleration of a flight, by stretches without gaps."""
        data = stretches(flight)[0]
        (own,) = speeds(self.layout, data, self.point[None])
        return [
            Predicted(s.t, s.measured[:, :6], predicted(self.layout, s, x, self.point)[:, :6])
            for s, x in zip(data, own, strict=True)
        ]

    def judged(self, flight: FlightLog) -> HeldOut:
        """Errors on a flight, beside those of the mean of the fitted ones."""
        return judge(self.layout, stretches(flight)[0], self.point, self.means, flight.source)

    def __str__(self) -> str:
        lines = [f"{name:24s}{x:12.5g} ± {s:<10.2g} {d:12.5g}" for name, x, s, d in zip(
            self.names, self.values, self.sigma, self.described, strict=True)]  # fmt: skip
        for one in self.held_out:
            force, angular = one.total(0), one.total(3)
            lines.append(
                f"held out, {one.flight}: specific force {force[0]:.3g} m/s² (constant {force[1]:.3g}), "
                f"angular acceleration {angular[0]:.3g} rad/s² (constant {angular[1]:.3g})"
            )
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes), self.message])

    def __repr__(self) -> str:
        return (
            f"FlightIdentification({self.vehicle.robot.name!r}, {len(self.names)} parameters: {self.message})"
        )


def judge(layout: Layout, data: Sequence[Stretch], point: Array, means: Array, source: str) -> HeldOut:
    """Errors of a point on stretches, beside those of constants."""
    left = np.concatenate(residuals(layout, data, point))
    measured = np.concatenate([s.measured[s.window : -s.window] * s.present for s in data])
    present = data[0].present
    return HeldOut(
        source,
        np.sqrt(np.mean(left**2, axis=0))[:6],
        np.sqrt(np.mean((measured - means * present) ** 2, axis=0))[:6],
    )
