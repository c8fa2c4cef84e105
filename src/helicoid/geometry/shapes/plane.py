"""Half-spaces: floors, walls, ceilings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from helicoid._typing import Array
from helicoid.arrays import shown
from helicoid.errors import InputError
from helicoid.geometry.shapes.shape import Shape, vector


@dataclass(frozen=True)
class Plane(Shape):
    """The solid half-space n · x ≤ offset: a floor by default, its surface through the frame's origin.

    Args:
        normal: direction out of the solid; need not be of unit length.
        offset: distance (m) of the surface from the frame's origin, along the normal.

    >>> Plane([0, 0, 2], offset=0.1)
    Plane(normal=(0.0, 0.0, 1.0), offset=0.1)
    """

    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    offset: float = 0.0
    kind: ClassVar[str] = "plane"

    def __post_init__(self) -> None:
        normal = np.array(vector("normal of a plane", self.normal))
        size = float(np.linalg.norm(normal))
        if not 0 < size < np.inf:
            raise InputError(f"the normal of a plane is a direction; got {shown(self.normal)}")
        object.__setattr__(self, "normal", tuple((normal / size).tolist()))
        offset: Any = self.offset
        real = isinstance(offset, (int, float, np.number)) and not isinstance(offset, (bool, np.bool_))
        if not real or not np.isfinite(offset):
            raise InputError(f"the offset of a plane is a distance (m); got {shown(offset)}")
        object.__setattr__(self, "offset", float(offset))

    @property
    def bounds(self) -> Array:
        """Infinite in every direction (2, 3)."""
        return np.array([[-np.inf] * 3, [np.inf] * 3])
