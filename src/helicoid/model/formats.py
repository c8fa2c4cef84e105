"""The table of description formats, recognised by the file's ending or by the root element of the XML."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import NamedTuple

from helicoid.model.model import Model

_ROOT_ELEMENT = re.compile(r"<\s*([A-Za-z_][\w.-]*)")  # neither a comment nor a declaration
_MAX_PROLOGUE = 65536  # characters of a file in which its root element is looked for


class Format(NamedTuple):
    """Format of robot descriptions.

    Args:
        root: the root element of its XML; "" where the format is not XML.
        suffixes: endings of its files.
        read: `(text, floating, name, folder) -> Model`; `name` is used in messages, meshes are relative to
            `folder`.
        read_file: `(path, floating) -> Model`; by default the text of the file is read.
    """

    root: str
    suffixes: tuple[str, ...]
    read: Callable[[str, bool, str, str], Model]
    read_file: Callable[[str, bool], Model] | None = None


def _urdf(text: str, floating: bool, name: str, folder: str) -> Model:
    from helicoid.model.urdf.reader import read_urdf_text

    return read_urdf_text(text, floating=floating, name=name, folder=folder)


def _urdf_file(path: str, floating: bool) -> Model:
    from helicoid.model.urdf.reader import read_urdf

    return read_urdf(path, floating=floating)


FORMATS: dict[str, Format] = {"URDF": Format("robot", (".urdf",), _urdf, _urdf_file)}


def read_text(text: str, floating: bool, name: str = "<text>", folder: str = "") -> Model:
    """Model that a description states; what no format recognises is read as URDF, whose errors explain it."""
    return _of_root(text).read(text, floating, name, folder)


def read_file(path: str | os.PathLike[str], floating: bool) -> Model:
    """Model that a file describes; the ending selects the format, or else the root element."""
    name = os.fsdecode(path)
    chosen = next((one for one in FORMATS.values() if name.lower().endswith(one.suffixes)), None)
    if chosen is None:
        chosen = _of_root(_beginning(name))
    if chosen.read_file is not None:
        return chosen.read_file(name, floating)
    with open(name, encoding="utf-8") as file:
        return chosen.read(file.read(), floating, name, os.path.dirname(os.path.abspath(name)))


def _of_root(text: str) -> Format:
    found = _ROOT_ELEMENT.search(re.sub(r"<!--.*?-->", "", text[:_MAX_PROLOGUE], flags=re.DOTALL))
    root = found.group(1) if found else ""
    return next((one for one in FORMATS.values() if one.root and one.root == root), FORMATS["URDF"])


def _beginning(name: str) -> str:
    try:
        with open(name, encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_PROLOGUE)
    except (OSError, ValueError):
        return ""  # the reader says why
