"""Robots: loading, edits, and all functions of kinematics and dynamics."""

from helicoid.robot.assembly import with_base
from helicoid.robot.loading import load, robots, serial_chain
from helicoid.robot.robot import Robot, as_robot

__all__ = ["Robot", "as_robot", "load", "robots", "serial_chain", "with_base"]
