"""Result of identifying a multirotor from flights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.aerial.identification.flight_log import FlightLog
from helicoid.aerial.identification.multirotor.model import Residuals, predicted, speeds
from helicoid.aerial.identification.multirotor.parameters import Layout
from helicoid.aerial.identification.result import FlightIdentification, HeldOut, Predicted, errors_of
from helicoid.aerial.identification.sampling import Stretch, stretches
from helicoid.aerial.multirotor import Multirotor
from helicoid.arrays import real_array


@dataclass(frozen=True, eq=False, repr=False)
class MultirotorIdentification(FlightIdentification):
    """Result of `hc.aerial.identify` of a multirotor.

    Controls of the identified vehicle are rotor speeds, which `speeds` gives of commands.
    """

    vehicle: Multirotor
    layout: Layout

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

    def score(self, flight: FlightLog) -> HeldOut:
        """Errors on a flight, beside those of the mean of the fitted ones."""
        return judge(self.layout, stretches(flight)[0], self.point, self.means, flight.source)


def judge(layout: Layout, data: Sequence[Stretch], point: Array, means: Array, source: str) -> HeldOut:
    """Errors of a point on stretches, beside those of constants."""
    return errors_of(Residuals(layout, data).residuals(point), data, means, source)
