"""Collision shapes of a robot's links, and distances between them."""

from helicoid.robot.collision.capsules import Capsules, FittedCapsule
from helicoid.robot.collision.shapes import Capsule, Shape, Sphere, distance

__all__ = ["Capsule", "Capsules", "FittedCapsule", "Shape", "Sphere", "distance"]
