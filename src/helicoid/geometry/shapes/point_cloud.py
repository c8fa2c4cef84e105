"""Clouds of points, each a ball of one radius."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from helicoid._typing import Array
from helicoid.geometry.shapes.shape import Shape, length, points_array


@dataclass(frozen=True, eq=False)
class PointCloud(Shape):
    """Balls of one `radius` (m) about `points` (n, 3): what a depth camera or a laser scanner measures.

    The points are copied, 24 bytes each; distances use a tree over them (see `memory`).

    >>> import numpy as np
    >>> cloud = PointCloud(np.zeros((100, 3)), radius=0.01)
    >>> cloud
    PointCloud(100 points, radius=0.01)
    """

    points: Array = field(repr=False)
    radius: float = 0.01
    kind: ClassVar[str] = "point_cloud"

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", points_array("points of a cloud", self.points))
        object.__setattr__(self, "radius", length("radius of a point cloud", self.radius))

    @cached_property
    def bounds(self) -> Array:
        """Axis-aligned bounding box (2, 3)."""
        return np.stack([self.points.min(axis=0) - self.radius, self.points.max(axis=0) + self.radius])

    @property
    def memory(self) -> int:
        """Bytes of the points."""
        return int(self.points.nbytes)

    def __repr__(self) -> str:
        return f"PointCloud({len(self.points)} points, radius={self.radius:g})"
