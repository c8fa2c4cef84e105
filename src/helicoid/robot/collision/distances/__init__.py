"""Signed distances between a robot, itself, and a scene."""

from helicoid.robot.collision.distances.checker import Checker, Proximity, checker

__all__ = ["Checker", "Proximity", "checker"]
