"""Triangle meshes, as solids or as their convex hulls."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import file_name, float_array, shown
from helicoid.errors import DoubtfulModelWarning, HelicoidError, InputError, optional_import, warn
from helicoid.geometry.shapes.shape import Shape, points_array

_LARGEST_METRES = 50.0  # of a mesh; larger ones are probably in mm


class Mesh(Shape):
    """A mesh of triangles: the solid that it encloses, or with `convex` its convex hull.

    Args:
        path: STL, OBJ, DAE, GLB, PLY ... (needs trimesh: `pip install 'helicoid[view]'`).
        scale: of the file's coordinates, one number or three; 0.001 for a file in mm.
        convex: take the convex hull, which makes distances much cheaper.
        vertices: (n, 3) in place of a file.
        faces: (m, 3) indices of the vertices; without them the mesh is the convex hull of the vertices.

    A mesh that is not watertight has no inside: it is then its surface alone, and a warning says so.
    A warning tells of meshes of more than 50 m, which are probably in mm.

    >>> Mesh(vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    Mesh(4 vertices, convex)
    """

    kind: ClassVar[str] = "mesh"

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        scale: float | ArrayLike = 1.0,
        convex: bool = False,
        *,
        vertices: ArrayLike | None = None,
        faces: ArrayLike | None = None,
    ) -> None:
        if (path is None) == (vertices is None):
            raise InputError("a mesh has a path, or vertices (n, 3) with faces (m, 3)")
        self.path = None if path is None else file_name(path)
        self.scale = _scale(scale)
        what = "vertices of a mesh" if self.path is None else f"vertices of the mesh {self.path}"
        if self.path is not None:
            found, indices = read_mesh(Path(self.path))
        else:
            found = points_array(what, vertices)
            indices = np.zeros((0, 3), np.int64) if faces is None else _faces(faces, len(found))
        self.vertices: Array = points_array(what, found * self.scale)
        self.faces: Array = indices[:, ::-1] if np.prod(self.scale) < 0 else indices
        self.convex = bool(convex) or not len(self.faces)
        extent = float(np.ptp(self.vertices, axis=0).max())
        if not extent > 0:
            raise InputError(f"the {what} are all the same point, so that it has no extent")
        if extent > _LARGEST_METRES:
            text = f"the {what} span {extent:.4g} m; a file in mm is read with scale=0.001"
            warn(DoubtfulModelWarning(text))
        if not self.convex and not self.is_watertight:
            name = self.path or "a mesh"
            text = f"{name} is not watertight, so that its inside counts as free; convex=True takes its hull"
            warn(DoubtfulModelWarning(text))

    @cached_property
    def bounds(self) -> Array:
        """Axis-aligned bounding box (2, 3)."""
        return np.stack([self.vertices.min(axis=0), self.vertices.max(axis=0)])

    @cached_property
    def is_watertight(self) -> bool:
        """Whether each edge belongs to two triangles, once in each direction."""
        _, same = np.unique(self.vertices, axis=0, return_inverse=True)
        faces = np.asarray(same).ravel()[self.faces]
        faces = faces[np.all(faces != np.roll(faces, 1, axis=1), axis=1)]
        if not len(faces):
            return False
        edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        keys, counts = np.unique(edges, axis=0, return_counts=True)
        turned = np.unique(edges[:, ::-1], axis=0)
        return bool(np.all(counts == 1) and np.array_equal(keys, turned))

    @cached_property
    def hull(self) -> Array:
        """Corners (k, 3) of the convex hull; of points in a plane, all of them."""
        from scipy.spatial import ConvexHull, QhullError

        try:
            return np.asarray(self.vertices[ConvexHull(self.vertices).vertices])
        except (QhullError, ValueError):
            return np.unique(self.vertices, axis=0)

    def __repr__(self) -> str:
        count = "convex" if self.convex else f"{len(self.faces)} triangles"
        return f"Mesh({f'{self.path!r}, ' if self.path else ''}{len(self.vertices)} vertices, {count})"


def read_mesh(path: Path) -> tuple[Array, Array]:
    """Vertices (n, 3) and triangles (m, 3) of a file, all its meshes together, each at its pose.

    Raises:
        InputError: there is no such file.
        HelicoidError: it cannot be read, or has no triangles.
    """
    if not path.is_file():
        raise InputError(f"there is no mesh {path}")
    scene = mesh_scene(path)
    vertices, faces, count = [], [], 0
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        mesh = scene.geometry[name]
        if len(getattr(mesh, "faces", ())):
            used, indices = np.unique(np.asarray(mesh.faces), return_inverse=True)
            vertices.append(np.asarray(mesh.vertices)[used] @ transform[:3, :3].T + transform[:3, 3])
            faces.append(np.asarray(indices).reshape(-1, 3) + count)
            count += len(used)
    if not vertices:
        raise HelicoidError(f"{path}: has no triangles")
    return np.concatenate(vertices), np.concatenate(faces)


def mesh_scene(path: Path) -> Any:
    """The meshes of a file (STL, OBJ, DAE, GLB, PLY ...), each with its pose, as a scene of trimesh."""
    trimesh = optional_import("trimesh", "reading meshes", "helicoid[view]")  # costs 0.3 s
    try:
        return trimesh.load(path, force="scene")
    except Exception as error:
        raise HelicoidError(f"{path}: cannot be read as a mesh: {error!r}") from error


def _scale(given: Any) -> Array:
    scale = float_array(given, "the scale of a mesh has one number or three")
    if scale.shape not in ((), (3,)) or not np.all(np.isfinite(scale)) or np.any(scale == 0):
        raise InputError(
            f"the scale of a mesh has one number or three, none of them zero; got {shown(given)}"
        )
    return np.array(np.broadcast_to(scale, (3,)))


def _faces(given: Any, count: int) -> Array:
    faces = float_array(given, "the faces of a mesh are indices of its vertices")
    whole = faces.ndim == 2 and faces.shape[1] == 3 and len(faces) and np.array_equal(faces, np.round(faces))
    if not whole or faces.min() < 0 or faces.max() >= count:
        raise InputError(f"the faces of a mesh are (m, 3) indices below {count}; got {shown(given)}")
    return faces.astype(np.int64)
