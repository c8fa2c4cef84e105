"""A robot: what it is, and every function made of it."""

from helicoid.robot.loading import load, robots, serial_chain
from helicoid.robot.robot import Robot

__all__ = ["Robot", "load", "robots", "serial_chain"]
