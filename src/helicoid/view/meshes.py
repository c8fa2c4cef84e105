"""Mesh files of a robot description: where they are, and the colored triangles in them."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from helicoid.errors import HelicoidError
from helicoid.model.parts import Geometry
from helicoid.view.triangles import Triangles, welded

Color = tuple[float, float, float, float]

_SAME = 1e-6  # of the extent: vertices nearer than that are one


class Piece(NamedTuple):
    """Triangles of one color; None where the file states none."""

    triangles: Triangles
    color: Color | None


def find_mesh(shape: Geometry) -> Path | None:
    """The file of a mesh, or None.

    A plain name is looked for beside the description, then from the working directory. `package://name/...`
    is looked for in the folders around the description and in those that ROS_PACKAGE_PATH and
    AMENT_PREFIX_PATH name; `hc.load(..., packages={name: folder})` says where it is.
    """
    scheme, separator, rest = shape.filename.partition("://")
    folder = Path(shape.folder or ".")
    if not separator:
        candidates = [folder / shape.filename, Path(shape.filename)]
    elif scheme == "file":
        candidates = [Path(rest)]
    else:
        package, _, inside = rest.partition("/")
        places = [folder, *folder.parents] if shape.folder else []
        named = [place for place in places if place.name == package]
        around = [place / package for place in places]
        candidates = [root / inside for root in (*named, *around, *_ros_packages(package))]
    return next((path for path in candidates if path.is_file()), None)


def _ros_packages(package: str) -> list[Path]:
    def paths(variable: str) -> list[Path]:
        return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]

    ros1 = [place for place in paths("ROS_PACKAGE_PATH") if place.name == package]
    ros1 += [place / package for place in paths("ROS_PACKAGE_PATH")]
    return ros1 + [place / "share" / package for place in paths("AMENT_PREFIX_PATH")]


@lru_cache(maxsize=256)
def read_mesh(path: Path) -> tuple[Piece, ...]:
    """The triangles of a mesh file (STL, OBJ, DAE, GLB, PLY ...), by color, in the file's units."""
    try:
        import trimesh  # costs 0.3 s
    except ImportError as error:
        raise HelicoidError("reading meshes needs trimesh: pip install 'helicoid[view]'") from error
    try:
        scene: Any = trimesh.load(path, force="scene")
    except Exception as error:
        raise HelicoidError(f"{path}: cannot be read as a mesh: {error!r}") from error
    pieces = []
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        mesh = scene.geometry[name]
        if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
            continue
        vertices = mesh.vertices @ transform[:3, :3].T + transform[:3, 3]
        extent = float(np.ptp(vertices, axis=0).max())
        triangles = welded(Triangles(vertices, np.asarray(mesh.faces)), _SAME * (extent or 1.0))
        pieces.append(Piece(triangles, _color(mesh)))
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
