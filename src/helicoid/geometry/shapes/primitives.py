"""Primitive shapes, centred in their frames: box, sphere, capsule, cylinder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from helicoid._typing import Array
from helicoid.geometry.shapes.shape import Shape, length, vector


class _Primitive(Shape):
    """A shape that a few numbers define; `numbers` has them in the order of the arguments."""

    @property
    def numbers(self) -> tuple[float, ...]:
        raise NotImplementedError

    @property
    def half_extent(self) -> Array:
        """Largest |x|, |y|, |z| (3)."""
        raise NotImplementedError

    @property
    def bounds(self) -> Array:
        """Axis-aligned bounding box (2, 3)."""
        return np.stack([-self.half_extent, self.half_extent])


@dataclass(frozen=True)
class Box(_Primitive):
    """A box of edges `size` (x, y, z) in m, centred at its frame.

    >>> Box([0.4, 0.6, 0.1])
    Box(size=(0.4, 0.6, 0.1))
    """

    size: tuple[float, float, float]
    kind: ClassVar[str] = "box"

    def __post_init__(self) -> None:
        x, y, z = vector("size of a box", self.size)
        size = tuple(length("size of a box", edge) for edge in (x, y, z))
        object.__setattr__(self, "size", size)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The edges."""
        return self.size

    @property
    def half_extent(self) -> Array:
        """Half of the edges (3)."""
        return np.array(self.size) / 2

    @property
    def volume(self) -> float:
        """Volume (m³)."""
        return float(np.prod(self.size))


@dataclass(frozen=True)
class Sphere(_Primitive):
    """A ball of a `radius` (m) about the origin of its frame.

    >>> Sphere(0.1).bounding_ball[1]
    0.1
    """

    radius: float
    kind: ClassVar[str] = "sphere"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", length("radius of a sphere", self.radius))

    @property
    def numbers(self) -> tuple[float, ...]:
        """(radius,)."""
        return (self.radius,)

    @property
    def half_extent(self) -> Array:
        """The radius, three times."""
        return np.full(3, self.radius)

    @property
    def bounding_ball(self) -> tuple[Array, float]:
        """The ball itself."""
        return np.zeros(3), self.radius

    @property
    def volume(self) -> float:
        """4/3 π r³, in m³."""
        return 4 / 3 * np.pi * self.radius**3


@dataclass(frozen=True)
class _Round(_Primitive):
    radius: float
    length: float

    def __post_init__(self) -> None:
        for name in ("radius", "length"):
            object.__setattr__(self, name, length(f"{name} of a {self.kind}", getattr(self, name)))

    @property
    def numbers(self) -> tuple[float, ...]:
        """(radius, length)."""
        return self.radius, self.length


@dataclass(frozen=True)
class Capsule(_Round):
    """All points within `radius` (m) of a segment of `length` (m) on the z axis, centred at its frame.

    The height is length + 2 radius.

    >>> Capsule(0.1, 0.5).bounding_ball[1]
    0.35
    """

    kind: ClassVar[str] = "capsule"

    @property
    def half_extent(self) -> Array:
        """Radius, radius, half of the height."""
        return np.array([self.radius, self.radius, self.radius + self.length / 2])

    @property
    def bounding_ball(self) -> tuple[Array, float]:
        """Centre (3) and radius of the smallest ball that contains it."""
        return np.zeros(3), self.radius + self.length / 2

    @property
    def volume(self) -> float:
        """π r² (l + 4/3 r), in m³."""
        return float(np.pi * self.radius**2 * (self.length + 4 / 3 * self.radius))


@dataclass(frozen=True)
class Cylinder(_Round):
    """A cylinder of a `radius` and a `length` (m) about the z axis, centred at its frame.

    >>> print(Cylinder(0.3, 0.8).bounds)
    [[-0.3 -0.3 -0.4]
     [ 0.3  0.3  0.4]]
    """

    kind: ClassVar[str] = "cylinder"

    @property
    def half_extent(self) -> Array:
        """Radius, radius, half of the length."""
        return np.array([self.radius, self.radius, self.length / 2])

    @property
    def bounding_ball(self) -> tuple[Array, float]:
        """Centre (3) and radius of the smallest ball that contains it."""
        return np.zeros(3), float(np.hypot(self.radius, self.length / 2))

    @property
    def volume(self) -> float:
        """π r² l, in m³."""
        return float(np.pi * self.radius**2 * self.length)


PRIMITIVE_CLASSES: dict[str, Any] = {one.kind: one for one in (Box, Sphere, Capsule, Cylinder)}
"""Classes of primitives by kind."""
