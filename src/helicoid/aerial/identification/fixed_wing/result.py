"""Result of identifying an aircraft from flights."""

from __future__ import annotations

from dataclasses import dataclass

from helicoid._typing import Array
from helicoid.aerial.fixed_wing import FixedWing
from helicoid.aerial.identification.fixed_wing.equation_error import EquationError
from helicoid.aerial.identification.fixed_wing.parameters import AircraftLayout
from helicoid.aerial.identification.flight_log import FlightLog
from helicoid.aerial.identification.result import FlightIdentification, HeldOut, Predicted, errors_of
from helicoid.aerial.identification.sampling import PoseClock, Stretch, stretches

_RATE, _WINDOW = 50.0, 0.2  # Hz, s: rigid aircraft move below some hertz


def aircraft_stretches(log: FlightLog, flight: int = -1) -> tuple[list[Stretch], PoseClock]:
    """Even stretches of a flight of an aircraft."""
    return stretches(log, flight, _RATE, _WINDOW, compared=False)


@dataclass(frozen=True, eq=False, repr=False)
class FixedWingIdentification(FlightIdentification):
    """Result of `hc.aerial.identify` of an aircraft: stability and control derivatives.

    Attributes:
        vehicle: the identified aircraft.
        method: "equation_error" or "output_error".
    """

    vehicle: FixedWing
    layout: AircraftLayout
    method: str

    def predict(self, flight: FlightLog) -> list[Predicted]:
        """Specific force and angular acceleration of a flight at its measured states."""
        data = aircraft_stretches(flight)[0]
        model = EquationError(self.layout, data)
        return [
            Predicted(s.t, s.measured[:, :6], model.predicted(s, self.point[None])[0][:, :6]) for s in data
        ]

    def score(self, flight: FlightLog) -> HeldOut:
        """Errors on a flight, beside those of the mean of the fitted ones; without air data in still air."""
        return judge(self.layout, aircraft_stretches(flight)[0], self.point, self.means, flight.source)


def judge(layout: AircraftLayout, data: list[Stretch], point: Array, means: Array, source: str) -> HeldOut:
    """Errors of a point on stretches, beside those of constants."""
    return errors_of(EquationError(layout, data).residuals(point), data, means, source)
