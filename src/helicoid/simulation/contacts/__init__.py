"""Contacts with the ground: what touches, and the time step in which it does."""

from helicoid.simulation.contacts.stepping import TimeStepping, World
from helicoid.simulation.ground import ContactPoint, Ground

__all__ = ["ContactPoint", "Ground", "TimeStepping", "World"]
