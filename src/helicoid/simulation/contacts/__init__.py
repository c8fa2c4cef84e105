"""Contacts with the ground: what touches, and the time step in which it does."""

from helicoid.simulation.contacts.ground import ContactPoint, Ground
from helicoid.simulation.contacts.stepping import TimeStepping, World

__all__ = ["ContactPoint", "Ground", "TimeStepping", "World"]
