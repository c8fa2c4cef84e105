"""Collision shapes of a robot's links, and distances between them."""

from helicoid.robot.collision.capsules import Capsules, FittedCapsule
from helicoid.robot.collision.shapes import PlacedCapsule, PlacedSphere, Shape, distance

__all__ = ["Capsules", "FittedCapsule", "PlacedCapsule", "PlacedSphere", "Shape", "distance"]
