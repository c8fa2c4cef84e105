"""Folders from which a description may read: its own package and those that are given."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from helicoid.errors import RobotDescriptionError

_MANIFEST = "package.xml"
_MANIFESTS = (_MANIFEST, ".git", "pyproject.toml")
_PYTHON_PACKAGE = "__init__.py"
_MAX_MANIFEST = 1_000_000  # characters


class Roots:
    """The folder of a file, or the ROS package that it is in, and packages by name.

    Args:
        path: of the outermost file; "" of a text.
    """

    def __init__(self, path: str, packages: Mapping[str, str | os.PathLike[str]] | None) -> None:
        self.packages = {name: os.path.abspath(os.fspath(one)) for name, one in (packages or {}).items()}
        self._own = ""
        if path:
            folder = os.path.dirname(os.path.abspath(path))
            package = _package_of(folder)
            self._own = package or folder
            if package:
                for name in (os.path.basename(package), _stated_name(package)):
                    if name:
                        self.packages.setdefault(name, package)

    def find(self, package: str) -> str:
        """The folder of a package.

        Raises:
            RobotDescriptionError: it is not known.
        """
        if package not in self.packages:
            raise RobotDescriptionError(
                f"the folder of package {package!r} is not known: hc.load(..., packages={{{package!r}: "
                "folder})"
            )
        return self.packages[package]

    def check(self, path: str) -> str:
        """The absolute path of a file to read.

        Raises:
            RobotDescriptionError: it is outside of the allowed folders, or no file.
        """
        place = os.path.normpath(os.path.abspath(path))
        allowed = [one for one in (self._own, *self.packages.values()) if one]
        if not any(os.path.commonpath((place, one)) == os.path.normpath(one) for one in allowed):
            raise RobotDescriptionError(
                f"{place} is not read: it lies neither in the folder or ROS package of the file nor in "
                "packages={name: folder}"
            )
        if not os.path.isfile(place):
            raise RobotDescriptionError(f"there is no file {place}")
        return place


def description_root(folder: Path) -> Path:
    """Folder that the files of a description in `folder` are expected in.

    The nearest one above with a manifest; that of the outermost package of Python around it; or the parent.
    """
    around = [folder.absolute(), *folder.absolute().parents]
    for k, place in enumerate(around):
        if any((place / name).exists() for name in _MANIFESTS):
            return place
        if (place / _PYTHON_PACKAGE).exists():
            outside = (n for n in range(k, len(around)) if not (around[n] / _PYTHON_PACKAGE).exists())
            return around[next(outside, len(around)) - 1]
    return around[min(1, len(around) - 1)]


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path is in a folder, by names: workspaces link packages from other places."""
    return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(root))


def _package_of(folder: str) -> str:
    """The nearest folder above with a package manifest; "" if there is none."""
    while True:
        if os.path.isfile(os.path.join(folder, _MANIFEST)):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above


def _stated_name(package: str) -> str:
    try:
        with open(os.path.join(package, _MANIFEST), encoding="utf-8", errors="replace") as file:
            found = re.search(r"<name>\s*([\w.-]+)\s*</name>", file.read(_MAX_MANIFEST))
    except OSError:
        return ""
    return found.group(1) if found else ""
