"""Spheres that contain a robot's links."""

from helicoid.robot.collision.spheres.spheres import Spheres, fit_spheres

__all__ = ["Spheres", "fit_spheres"]
