"""Coloured triangles from the mesh files of a robot description."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from helicoid.errors import HelicoidError
from helicoid.geometry.shapes.mesh import mesh_scene
from helicoid.view.drawing.triangles import Triangles, welded

Color = tuple[float, float, float, float]

_WELD_TOLERANCE = 1e-6  # relative to the extent: closer vertices are merged


class MeshPiece(NamedTuple):
    """Triangles of one colour, None if the file has none."""

    triangles: Triangles
    color: Color | None


@lru_cache(maxsize=256)
def read_mesh(path: Path) -> tuple[MeshPiece, ...]:
    """Read the triangles of a mesh file (STL, OBJ, DAE, GLB, PLY ...), by colour, in the file's units."""
    scene = mesh_scene(path)
    pieces = []
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        mesh = scene.geometry[name]
        if not len(getattr(mesh, "faces", ())):
            continue
        vertices = mesh.vertices @ transform[:3, :3].T + transform[:3, 3]
        extent = float(np.ptp(vertices, axis=0).max())
        triangles = welded(Triangles(vertices, np.asarray(mesh.faces)), _WELD_TOLERANCE * (extent or 1.0))
        pieces.append(MeshPiece(triangles, _color(mesh)))
    if not pieces:
        raise HelicoidError(f"{path}: holds no triangles")
    return tuple(pieces)


def _color(mesh: object) -> Color | None:
    visual = getattr(mesh, "visual", None)
    if visual is None or not visual.defined:
        return None
    material = getattr(visual, "material", None)
    rgba = material.main_color if material is not None else visual.main_color
    r, g, b, a = (float(x) / 255 for x in rgba)
    return r, g, b, a
