"""Shapes that stand for a robot's links, and how far they are from each other."""

from helicoid.robot.collision.capsules import Capsules, FittedCapsule
from helicoid.robot.collision.shapes import Capsule, Shape, Sphere, distance

__all__ = ["Capsule", "Capsules", "FittedCapsule", "Shape", "Sphere", "distance"]
