"""Shapes of links and of scenes as rows for the C of distances."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.geometry.shapes import (
    Box,
    Capsule,
    Cylinder,
    HeightField,
    Mesh,
    Plane,
    PointCloud,
    Shape,
    Sphere,
)
from helicoid.geometry.shapes.primitives import PRIMITIVE_CLASSES
from helicoid.model.parts import Geometry
from helicoid.model.shapes import PRIMITIVES
from helicoid.robot.collision.distances.library import KINDS, LANES, SHAPE, Tree
from helicoid.robot.collision.meshes import mesh_points

_trees: weakref.WeakKeyDictionary[Shape, Tree] = weakref.WeakKeyDictionary()
_hulls: weakref.WeakKeyDictionary[Shape, Array] = weakref.WeakKeyDictionary()


class Rows:
    """Rows of shapes, and the arrays that they refer to."""

    def __init__(self) -> None:
        self._rows: list[Any] = []
        self._kept: list[Any] = []

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def table(self) -> Array:
        """All rows as one array; the rows must outlive it."""
        return np.concatenate(self._rows) if self._rows else np.zeros(0, SHAPE)

    def extended(self) -> Rows:
        """Rows that begin with these."""
        other = Rows()
        other._rows, other._kept = list(self._rows), list(self._kept)
        return other

    def add(self, shape: Shape, body: int, pose: Array, convex: bool = False) -> None:
        """Add a shape on a body (-1: the world) at a pose (4, 4) or (3, 4); with `convex` its hull."""
        row = np.zeros(1, SHAPE)
        row["body"], row["pose"] = body, pose[:3].ravel()
        if isinstance(shape, Plane):
            row["kind"], row["numbers"], row["ball"] = KINDS["plane"], (*shape.normal, shape.offset), np.inf
        else:
            low, high = shape.bounds
            row["center"], row["half"] = (low + high) / 2, (high - low) / 2
            row["ball"] = np.linalg.norm(high - low) / 2
            if isinstance(shape, (Box, Sphere, Capsule, Cylinder)):
                _primitive(row, shape)
            elif convex or (isinstance(shape, Mesh) and shape.convex):
                self._points(row, _hull(shape), shape.radius if isinstance(shape, PointCloud) else 0.0)
            else:
                tree = tree_of(shape)
                self._kept.append(tree)
                row["kind"], row["tree"] = KINDS[_TREES[shape.kind]], tree.address
                row["radius"] = shape.radius if isinstance(shape, PointCloud) else 0.0
        self._rows.append(row)

    def add_geometry(self, shape: Geometry, body: int, pose: Array) -> None:
        """Add a shape of a link at the pose (3, 4) of that shape on the body."""
        if shape.kind == "mesh":
            mesh = Mesh(vertices=mesh_points(shape))
            self.add(mesh, body, pose)
        elif shape.kind in PRIMITIVE_CLASSES:
            size = [max(x, 1e-9) for x in shape.size]  # a side of zero is one of no thickness
            made = Box(size) if shape.kind == "box" else PRIMITIVE_CLASSES[shape.kind](*size)  # type: ignore[arg-type]
            self.add(made, body, pose)
        else:
            corners = PRIMITIVES[shape.kind].corners(shape.size) if shape.kind in PRIMITIVES else None
            if corners is None:
                raise InputError(f"distances have no shape {shape.kind!r}")
            self.add(Mesh(vertices=corners, convex=True), body, pose)

    def _points(self, row: Any, points: Array, radius: float) -> None:
        filled = np.concatenate([points, np.repeat(points[:1], -len(points) % LANES, axis=0)])
        apart = np.ascontiguousarray(filled.T)
        self._kept.append(apart)
        row["kind"], row["radius"] = KINDS["hull"], radius
        row["n_points"], row["points"] = len(filled), apart.ctypes.data


_TREES = {"mesh": "triangles", "point_cloud": "cloud", "height_field": "field"}


def _primitive(row: Any, shape: Box | Sphere | Capsule | Cylinder) -> None:
    row["ball"] = shape.bounding_ball[1]
    if isinstance(shape, Box):
        row["kind"], row["numbers"] = KINDS["box"], (*shape.half_extent, 0)
    elif isinstance(shape, Sphere):
        row["kind"], row["radius"] = KINDS["point"], shape.radius
    elif isinstance(shape, Capsule):
        row["kind"], row["numbers"] = KINDS["segment"], (shape.length / 2, 0, 0, 0)
        row["radius"] = shape.radius
    else:
        row["kind"], row["numbers"] = KINDS["cylinder"], (shape.radius, shape.length / 2, 0, 0)


def tree_of(shape: Shape) -> Tree:
    """The tree of a cloud, a mesh or a height field; built once for each."""
    if shape not in _trees:
        if isinstance(shape, PointCloud):
            _trees[shape] = Tree("cloud", shape.points, None, 0.0, False)
        elif isinstance(shape, Mesh):
            corners = np.ascontiguousarray(shape.faces, dtype=np.int32)
            _trees[shape] = Tree("triangles", shape.vertices, corners, 0.0, shape.is_watertight)
        elif isinstance(shape, HeightField):
            vertices, triangles = shape.triangles
            corners = np.ascontiguousarray(triangles, dtype=np.int32)
            _trees[shape] = Tree("field", np.ascontiguousarray(vertices), corners, shape.bottom, False)
        else:
            raise InputError(f"distances have no shape {shape!r}")
    return _trees[shape]


def _hull(shape: Shape) -> Array:
    """Corners of the convex hull of a mesh, a cloud's points, or a height field."""
    if shape not in _hulls:
        if isinstance(shape, Mesh):
            corners = shape.hull
        elif isinstance(shape, PointCloud):
            corners = (
                Mesh(vertices=shape.points).hull
                if len(np.unique(shape.points, axis=0)) > 1
                else shape.points[:1]
            )
        elif isinstance(shape, HeightField):
            top, _ = shape.triangles
            low = np.column_stack([top[:, :2], np.full(len(top), shape.bottom)])
            corners = Mesh(vertices=np.concatenate([top, low])).hull
        else:
            raise InputError(f"{shape!r} has no convex hull, so that a robot cannot carry it")
        _hulls[shape] = np.ascontiguousarray(corners)
    return _hulls[shape]
