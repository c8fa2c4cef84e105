"""Shapes: boxes, spheres, capsules, cylinders, half-spaces, meshes, point clouds, height fields.

Shapes are immutable data in frames of their own; `hc.Scene` places them.

>>> from helicoid.geometry.shapes import Box
>>> Box([1.0, 2.0, 3.0]).volume
6.0
"""

from helicoid.geometry.shapes.height_field import HeightField
from helicoid.geometry.shapes.mesh import Mesh
from helicoid.geometry.shapes.plane import Plane
from helicoid.geometry.shapes.point_cloud import PointCloud
from helicoid.geometry.shapes.primitives import Box, Capsule, Cylinder, Sphere
from helicoid.geometry.shapes.shape import Shape

__all__ = ["Box", "Capsule", "Cylinder", "HeightField", "Mesh", "Plane", "PointCloud", "Shape", "Sphere"]
