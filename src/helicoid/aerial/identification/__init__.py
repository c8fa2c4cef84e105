"""Identification of vehicles from flights."""

from helicoid.aerial.identification.fixed_wing.result import FixedWingIdentification
from helicoid.aerial.identification.flight_log import FlightLog
from helicoid.aerial.identification.identify import identify
from helicoid.aerial.identification.manoeuvres import multistep
from helicoid.aerial.identification.multirotor.result import MultirotorIdentification
from helicoid.aerial.identification.result import FlightIdentification

__all__ = [
    "FixedWingIdentification",
    "FlightIdentification",
    "FlightLog",
    "MultirotorIdentification",
    "identify",
    "multistep",
]
