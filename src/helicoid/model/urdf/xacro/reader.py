"""Reading a robot from a xacro: its expansion, read as URDF, with errors in lines of the xacro."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from helicoid.errors import DoubtfulModelWarning, InputError, RobotDescriptionError, warn
from helicoid.model.model import Model
from helicoid.model.urdf.markup import Source
from helicoid.model.urdf.reader import read_urdf_bytes
from helicoid.model.urdf.roots import Roots
from helicoid.model.urdf.xacro.documents import MAX_BYTES
from helicoid.model.urdf.xacro.library import Expansion

Packages = Mapping[str, str | os.PathLike[str]]


def read_xacro(
    path: str,
    floating: bool = False,
    arguments: Mapping[str, Any] | None = None,
    packages: Packages | None = None,
) -> Model:
    """The robot that a xacro file describes, with values for its `<xacro:arg>`.

    Raises:
        RobotDescriptionError: with file and line of the xacro.
    """
    if not os.path.isfile(path):
        what = "is a folder, not a file" if os.path.isdir(path) else "there is no such file"
        raise RobotDescriptionError(f"{path}: {what}")
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    folder = os.path.dirname(os.path.abspath(path))
    return _read(data, path, folder, Roots(path, packages), floating, arguments)


def read_xacro_text(
    text: str,
    floating: bool = False,
    name: str = "<text>",
    folder: str = "",
    arguments: Mapping[str, Any] | None = None,
    packages: Packages | None = None,
) -> Model:
    """The robot that a xacro text describes; it includes files of `packages`, and of `folder` if given."""
    roots = Roots(os.path.join(folder, "text.xacro") if folder else "", packages)
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise RobotDescriptionError(f"{name}: not a text: {error}") from error
    return _read(data, name, folder, roots, floating, arguments)


def _read(
    data: bytes, name: str, folder: str, roots: Roots, floating: bool, arguments: Mapping[str, Any] | None
) -> Model:
    given = {} if arguments is None else arguments
    if not isinstance(given, Mapping) or not all(isinstance(one, str) for one in given):
        raise InputError(f"arguments are values by name, such as {{'prefix': 'left_'}}; got {arguments!r}")
    expansion = Expansion(name, roots, given)
    found = expansion.expand(data)
    unused = [one for one in given if one not in expansion.arguments.asked]
    if unused:
        raise InputError(f"{name}: the xacro has no argument {', '.join(map(repr, unused))}")
    for text in dict.fromkeys(expansion.warnings):
        warn(DoubtfulModelWarning(text))
    places = [name if place is None else str(place) for place in found.places]
    return read_urdf_bytes(found.text.encode(), "utf-8", Source(name, places), folder, floating)
