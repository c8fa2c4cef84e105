"""Obstacles of a scene in the layout of the planner's C; a change compiles nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.compiler import CHeader
from helicoid.errors import InputError
from helicoid.planning.engine import LANES, OBSTACLE, RUNTIME, Field, World, address

KINDS = CHeader(RUNTIME / "obstacles.h").enumeration("BOX")
SURFACE_RADIUS = 0.005  # m: of the balls that cover the surface of a mesh that is not convex
_CELLS_PER_POINT = 1  # of a cloud's grid, about
_MAX_CELLS = 1 << 24


@dataclass(frozen=True, eq=False)
class Obstacles:
    """Obstacles with their names, in the layout of runtime/obstacles.h; `memory` keeps the arrays alive."""

    names: tuple[str, ...]
    table: NDArray[Any]
    bounds: NDArray[np.float32]
    struct: World
    memory: tuple[Any, ...]
    fields: tuple[tuple[NDArray[Any], ...], ...] = ()

    @property
    def padded(self) -> int:
        """The number of obstacles, rounded up to whole vectors."""
        return int(self.struct.padded)

    @property
    def n_bytes(self) -> int:
        """Memory of clouds, height fields and tables (bytes)."""
        return int(sum(array.nbytes for array in self.memory if isinstance(array, np.ndarray)))

    def depth_below(self, which: int, x: Array) -> Array:
        """Height (n) of points x (n, 3), in its axes, above the cell of a height field below them."""
        field, heights = self.struct.field[which], self.fields[which][0]
        at = np.floor((x[:, :2] - np.array(field.origin[:2])) / field.cell).astype(int)
        inside = np.all((at >= 0) & (at < heights.shape), axis=1)
        i, j = np.clip(at, 0, np.array(heights.shape) - 1).T
        return np.where(inside, x[:, 2] - heights[i, j], np.inf)

    def field_distance(self, which: int, x: Array) -> Array:
        """Distance (n) of points x (n, 3), in its axes, from the points of a cloud or the faces of a hull."""
        points = self.fields[which][-1]
        if points.shape[-1] == 4:
            return np.asarray((x @ points[:, :3].T - points[:, 3]).max(axis=1))
        return np.array([np.sqrt(np.min(np.sum(np.square(points - at), axis=1))) for at in x])


def obstacles_of(objects: Iterable[tuple[str, Any, Array]], margin: float) -> Obstacles:
    """Named shapes at poses (4, 4), each larger by `margin` (m).

    Raises:
        InputError: planning does not support a shape.
    """
    names: list[str] = []
    rows: list[Any] = []
    boxes: list[Array] = []
    fields: list[tuple[Field, tuple[NDArray[Any], ...]]] = []
    for name, shape, pose in objects:
        make = _ROWS.get(shape.kind)
        if make is None:
            raise InputError(f"object {name!r}: planning knows no shape {shape.kind!r}")
        row = np.zeros((), OBSTACLE)
        row["R"], row["p"] = pose[:3, :3].ravel(), pose[:3, 3]
        field = make(row, shape, pose)
        if field is not None:
            row["field"] = len(fields)
            fields.append(field)
        row["radius"] += margin
        names.append(name)
        rows.append(row)
        boxes.append(_moved(np.asarray(shape.bounds), pose, margin))
    n = len(names)
    padded = -(-n // LANES) * LANES
    table = np.array(rows, dtype=OBSTACLE).reshape(n)
    bounds = np.zeros((2, 3, padded), np.float32)
    bounds[0], bounds[1] = np.inf, -np.inf
    if n:
        bounds[:, :, :n] = np.moveaxis(np.array(boxes), 0, -1)
    structs = (Field * max(1, len(fields)))(*(field for field, _ in fields))
    world = World(n, padded, address(table) if n else None)
    for k in range(3):
        world.low[k], world.high[k] = bounds[0, k].ctypes.data, bounds[1, k].ctypes.data
    world.field = structs
    memory = (table, bounds, structs, *(array for _, arrays in fields for array in arrays))
    arrays = tuple(own for _, own in fields)
    return Obstacles(tuple(names), table, bounds[:, :, :n], world, memory, arrays)


def _moved(bounds: Array, pose: Array, margin: float) -> Array:
    """The box (2, 3) around a box at a pose, rounded outwards to float32."""
    if not np.all(np.isfinite(bounds)):
        return np.array([[-np.inf] * 3, [np.inf] * 3])
    middle = pose[:3, :3] @ bounds.mean(axis=0) + pose[:3, 3]
    half = np.abs(pose[:3, :3]) @ (bounds[1] - bounds[0]) / 2 + margin
    half = half + 1e-6 * (1 + np.abs(middle) + half)
    return np.stack([middle - half, middle + half])


# One function a shape: it fills a row; of clouds and fields it returns the grid and its arrays --------------


def _box(row: Any, shape: Any, pose: Array) -> None:
    row["kind"], row["half"] = KINDS.index("box"), np.array(shape.size) / 2


def _sphere(row: Any, shape: Any, pose: Array) -> None:
    row["kind"], row["radius"] = KINDS.index("sphere"), shape.radius


def _capsule(row: Any, shape: Any, pose: Array) -> None:
    row["kind"], row["half"], row["radius"] = KINDS.index("capsule"), (0, 0, shape.length / 2), shape.radius


def _cylinder(row: Any, shape: Any, pose: Array) -> None:
    row["kind"] = KINDS.index("cylinder")
    row["half"] = shape.radius, shape.radius, shape.length / 2


def _plane(row: Any, shape: Any, pose: Array) -> None:
    normal = pose[:3, :3] @ np.asarray(shape.normal)
    row["kind"], row["R"][6:], row["p"] = KINDS.index("plane"), normal, 0.0
    row["p"][0] = shape.offset + normal @ pose[:3, 3]


def _cloud(row: Any, shape: Any, pose: Array) -> tuple[Field, tuple[NDArray[Any], ...]]:
    row["kind"], row["radius"] = KINDS.index("cloud"), shape.radius
    return _grid(np.asarray(shape.points))


def _grid(points: Array) -> tuple[Field, tuple[NDArray[Any], ...]]:
    """Points in the cells of a grid: 12 bytes a point and 4 a cell, about as many cells as points."""
    low, high = points.min(axis=0), points.max(axis=0)
    extent = np.maximum(high - low, 1e-3)
    cell = float((np.prod(extent) / (_CELLS_PER_POINT * len(points))) ** (1 / 3))
    cell = max(cell, float(extent.max()) / 1000)
    while np.prod(np.floor(extent / cell) + 1) > _MAX_CELLS:
        cell *= 1.2
    n = (np.floor(extent / cell) + 1).astype(np.int64)
    at = np.minimum(((points - low) / cell).astype(np.int64), n - 1)
    flat = (at[:, 0] * n[1] + at[:, 1]) * n[2] + at[:, 2]
    order = np.argsort(flat, kind="stable")
    first = np.zeros(int(np.prod(n)) + 1, np.int32)
    np.cumsum(np.bincount(flat, minlength=len(first) - 1), out=first[1:])
    sorted_points = np.ascontiguousarray(points[order], dtype=np.float32)
    field = Field((*n.tolist(),), (*low.tolist(),), cell, 0.0, address(first), address(sorted_points))
    return field, (first, sorted_points)


def _mesh(row: Any, shape: Any, pose: Array) -> tuple[Field, tuple[NDArray[Any], ...]]:
    if shape.convex:
        return _hull(row, shape)
    row["kind"], row["radius"] = KINDS.index("cloud"), SURFACE_RADIUS
    return _grid(_surface(shape))


def _hull(row: Any, shape: Any) -> tuple[Field, tuple[NDArray[Any], ...]]:
    from scipy.spatial import ConvexHull, QhullError

    row["kind"] = KINDS.index("hull")
    try:
        faces = ConvexHull(shape.vertices).equations
    except QhullError as error:
        raise InputError(
            f"the corners of {shape!r} are in a plane: planning takes hulls with a volume"
        ) from error
    faces = np.unique(np.round(faces, 9), axis=0) * (1, 1, 1, -1)
    planes = np.ascontiguousarray(faces, dtype=np.float32)
    return Field((len(planes), 0, 0), (0, 0, 0), 1.0, 0.0, None, address(planes)), (planes,)


def _surface(shape: Any) -> Array:
    """Points on the triangles of a mesh, whose balls of radius `SURFACE_RADIUS` contain these."""
    corners = np.asarray(shape.vertices)[np.asarray(shape.faces)]  # (triangles, 3, 3)
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1)
    # Triangles of sides up to e are within e / √3 of their corners.
    parts = np.maximum(np.ceil(longest / (np.sqrt(3) * SURFACE_RADIUS * 0.999)), 1).astype(int)
    if np.sum((parts + 1) * (parts + 2) / 2) > _MAX_CELLS:
        raise InputError(
            f"{shape!r} is too large for points every {SURFACE_RADIUS} m on its surface; use convex=True"
        )
    found = []
    for n in np.unique(parts):
        i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        u, v = (x[i + j <= n] / n for x in (i, j))
        a, b, c = np.moveaxis(corners[parts == n], 1, 0)
        found.append(
            (a[:, None] + u[:, None] * (b - a)[:, None] + v[:, None] * (c - a)[:, None]).reshape(-1, 3)
        )
    return np.concatenate(found)


def _height_field(row: Any, shape: Any, pose: Array) -> tuple[Field, tuple[NDArray[Any], ...]]:
    """Square cells, each as high as the highest corner of the cells of the field that it meets."""
    row["kind"] = KINDS.index("height_field")
    z = np.asarray(shape.heights).T  # rows along x
    z = np.maximum(np.maximum(z[:-1, :-1], z[1:, :-1]), np.maximum(z[:-1, 1:], z[1:, 1:]))
    spacing = np.ravel(shape.spacing)
    cell = float(spacing.min())
    for axis in range(2):
        ratio = cell / spacing[axis]
        n = int(np.ceil(z.shape[axis] / ratio - 1e-9))
        low = np.minimum(np.floor(np.arange(n) * ratio + 1e-9).astype(int), z.shape[axis] - 1)
        high = np.minimum(np.floor((np.arange(n) + 1) * ratio - 1e-9).astype(int), z.shape[axis] - 1)
        z = np.maximum(np.take(z, low, axis), np.take(z, high, axis))
    heights = np.ascontiguousarray(z, dtype=np.float32)
    x0, y0 = np.ravel(shape.origin).tolist()
    return Field((*z.shape, 1), (x0, y0, 0.0), cell, 0.0, None, address(heights)), (heights,)


_ROWS: dict[str, Callable[[Any, Any, Array], tuple[Field, tuple[NDArray[Any], ...]] | None]] = {
    "box": _box,
    "sphere": _sphere,
    "capsule": _capsule,
    "cylinder": _cylinder,
    "plane": _plane,
    "point_cloud": _cloud,
    "mesh": _mesh,
    "height_field": _height_field,
}
