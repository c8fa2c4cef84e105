"""Contacts with the ground: contact points, and the time step with contact forces."""

from helicoid.simulation.contacts.stepping import TimeStepping, World
from helicoid.simulation.ground import ContactPoint, Ground

__all__ = ["ContactPoint", "Ground", "TimeStepping", "World"]
