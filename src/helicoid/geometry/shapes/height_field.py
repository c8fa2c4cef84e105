"""Height fields: terrain over a regular grid."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.arrays import float_array, shown
from helicoid.errors import InputError
from helicoid.geometry.shapes.shape import Shape, length


@dataclass(frozen=True, eq=False)
class HeightField(Shape):
    """The solid below a surface over a grid: each cell is two triangles, which meet on its diagonal.

    Args:
        heights: z (m) at the points of the grid, (rows along y, columns along x), as in `hc.Ground`.
        spacing: between points (m), one for both directions or (x, y).
        origin: (x, y) of the first point (m); None puts the middle of the field at the frame's origin.
        thickness: of the solid below its lowest point (m).

    >>> HeightField([[0.0, 1.0], [0.0, 1.0]], spacing=2.0)
    HeightField(2 × 2 points, spacing=(2.0, 2.0))
    """

    heights: ArrayLike = field(repr=False)
    spacing: float | tuple[float, float] = 0.1
    origin: tuple[float, float] | None = None
    thickness: float = 1.0
    kind: ClassVar[str] = "height_field"

    def __post_init__(self) -> None:
        heights = np.array(float_array(self.heights, "heights must be numbers"))
        if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
            raise InputError(
                "the heights of a field are finite (rows, columns), 2 each at least; got "
                + (f"shape {heights.shape}" if heights.ndim != 2 or min(heights.shape) < 2 else "NaN or inf")
            )
        heights.setflags(write=False)
        spacing = np.atleast_1d(float_array(self.spacing, "the spacing of a height field must be numbers"))
        if spacing.shape not in ((1,), (2,)) or not (np.all(spacing > 0) and np.all(np.isfinite(spacing))):
            raise InputError(f"the spacing (m) of a height field is above 0; got {shown(self.spacing)}")
        spacing = np.broadcast_to(spacing, (2,))
        middle = -spacing * (np.array(heights.shape[::-1]) - 1) / 2
        origin = middle if self.origin is None else float_array(self.origin, "the origin must be numbers")
        if origin.shape != (2,) or not np.isfinite(origin).all():
            raise InputError(f"the origin of a height field is (x, y) in m; got {shown(self.origin)}")
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "spacing", tuple(spacing.tolist()))
        object.__setattr__(self, "origin", tuple(origin.tolist()))
        object.__setattr__(self, "thickness", length("thickness of a height field", self.thickness))

    @property
    def _grid(self) -> tuple[Array, Array, Array]:
        heights = np.asarray(self.heights)
        (dx, dy), (x0, y0) = np.ravel(self.spacing), np.ravel(np.asarray(self.origin))
        rows, columns = heights.shape
        return x0 + dx * np.arange(columns), y0 + dy * np.arange(rows), heights

    @cached_property
    def bottom(self) -> float:
        """z of the underside (m)."""
        return float(np.min(np.asarray(self.heights))) - self.thickness

    @cached_property
    def bounds(self) -> Array:
        """Axis-aligned bounding box (2, 3)."""
        x, y, heights = self._grid
        return np.array([[x[0], y[0], self.bottom], [x[-1], y[-1], heights.max()]])

    @cached_property
    def triangles(self) -> tuple[Array, NDArray[np.int64]]:
        """Vertices (n, 3) of the surface, and triangles (m, 3) as indices of them, seen from above."""
        x, y, heights = self._grid
        X, Y = np.meshgrid(x, y)
        rows, columns = heights.shape
        corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
        lower = np.stack([corner, corner + 1, corner + columns + 1], axis=1)
        upper = np.stack([corner, corner + columns + 1, corner + columns], axis=1)
        vertices = np.stack([X, Y, heights], axis=-1).reshape(-1, 3)
        return vertices, np.stack([lower, upper], axis=1).reshape(-1, 3).astype(np.int64)

    def __repr__(self) -> str:
        rows, columns = np.asarray(self.heights).shape
        return f"HeightField({rows} × {columns} points, spacing={self.spacing})"
