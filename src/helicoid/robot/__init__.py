"""A robot: what it is, and every function made of it."""

from helicoid.robot.loading import load, robots, serial_chain
from helicoid.robot.robot import Robot, as_robot

__all__ = ["Robot", "as_robot", "load", "robots", "serial_chain"]
