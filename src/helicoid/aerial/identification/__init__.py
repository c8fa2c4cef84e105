"""Identification of aircraft from flights."""

from helicoid.aerial.identification.flight_log import FlightLog
from helicoid.aerial.identification.identify import identify
from helicoid.aerial.identification.result import FlightIdentification

__all__ = ["FlightIdentification", "FlightLog", "identify"]
