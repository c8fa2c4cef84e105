"""Mesh files of a robot description: finding and reading them."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import numpy as np

from helicoid._typing import Array
from helicoid.errors import DoubtfulModelWarning, HelicoidError, InputError, warn
from helicoid.geometry.shapes.mesh import read_mesh
from helicoid.model.parts import Geometry
from helicoid.model.urdf.roots import description_root, is_inside


def find_mesh(shape: Geometry) -> Path | None:
    """The file of a mesh, or None; a warning if it is outside of the description's package.

    A plain name is looked for beside the description, then from the working directory. `package://name/...`
    is looked for in the folders around the description and in those that ROS_PACKAGE_PATH and
    AMENT_PREFIX_PATH name; `hc.load(..., packages={name: folder})` says where it is.
    """
    for path, root in _candidates(shape):
        if path.is_file():
            if not is_inside(path, root):
                warn(
                    DoubtfulModelWarning(
                        f"the mesh {shape.filename} is {path.resolve()}, outside of {root.resolve()}, where "
                        "its description belongs to"
                    )
                )
            return path
    return None


def _candidates(shape: Geometry) -> list[tuple[Path, Path]]:
    """Candidate paths of a mesh file, each with the folder in which it should be."""
    scheme, separator, rest = shape.filename.partition("://")
    folder = Path(shape.folder or ".")
    if not separator:
        return [(folder / shape.filename, description_root(folder)), (Path(shape.filename), Path())]
    if scheme == "file":
        return [(Path(rest), description_root(folder))]
    package, _, inside = rest.partition("/")
    if package in ("", ".", ".."):
        return []
    places = [folder, *folder.parents] if shape.folder else []
    named = [place for place in places if place.name == package]
    around = [place / package for place in places]
    return [(root / inside, root) for root in (*named, *around, *_ros_packages(package))]


def _ros_packages(package: str) -> list[Path]:
    def paths(variable: str) -> list[Path]:
        return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]

    ros1 = [place for place in paths("ROS_PACKAGE_PATH") if place.name == package]
    ros1 += [place / package for place in paths("ROS_PACKAGE_PATH")]
    return ros1 + [place / "share" / package for place in paths("AMENT_PREFIX_PATH")]


def mesh_points(shape: Geometry) -> Array:
    """The vertices (n, 3) of a mesh in its own frame (m).

    Raises:
        InputError: the file is not found; the message has the remedy.
        HelicoidError: it cannot be read, or has no triangles.
    """
    path = find_mesh(shape)
    if path is None:
        package = shape.filename.removeprefix("package://").partition("/")[0]
        where = f"; give its folder: hc.load(..., packages={{{package!r}: folder}})"
        raise InputError(f"the mesh {shape.filename} is not found{where if '://' in shape.filename else ''}")
    return _points(path) * np.array(shape.size)


@lru_cache(maxsize=256)
def _points(path: Path) -> Array:
    return read_mesh(path)[0]


def mesh_hull(shape: Geometry) -> Array | None:
    """Corners (n, 3) of the convex hull of a mesh in its own frame (m); None if flat or not readable."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        points = mesh_points(shape)
        return np.asarray(points[ConvexHull(points).vertices], dtype=np.float64)
    except (HelicoidError, QhullError, ValueError):
        return None
