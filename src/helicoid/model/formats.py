"""The table of description formats, recognised by the file's ending or by the root element of the XML."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from helicoid.errors import InputError
from helicoid.model.model import Model

_ROOT_ELEMENT = re.compile(r"<\s*([A-Za-z_][\w.-]*)")  # neither a comment nor a declaration
_MAX_PROLOGUE = 65536  # characters of a file in which its root element is looked for


_GENERAL = ("packages",)
"""Options that are of use for every format, after reading if not before: they find meshes."""


class Format(NamedTuple):
    """Format of robot descriptions.

    Args:
        root: the root element of its XML; "" where the format is not XML.
        suffixes: endings of its files.
        read: `(text, floating, name, folder) -> Model`; `name` is used in messages, meshes are relative to
            `folder`.
        read_file: `(path, floating) -> Model`; by default the text of the file is read.
        options: names of further keyword arguments of both, which `hc.load` hands on.
        mark: what tells its text from that of another format with the same root element.
    """

    root: str
    suffixes: tuple[str, ...]
    read: Callable[..., Model]
    read_file: Callable[..., Model] | None = None
    options: tuple[str, ...] = ()
    mark: str = ""


def _urdf(text: str, floating: bool, name: str, folder: str) -> Model:
    from helicoid.model.urdf.reader import read_urdf_text

    return read_urdf_text(text, floating=floating, name=name, folder=folder)


def _urdf_file(path: str, floating: bool) -> Model:
    from helicoid.model.urdf.reader import read_urdf

    return read_urdf(path, floating=floating)


def _mjcf(text: str, floating: bool, name: str, folder: str, **options: Any) -> Model:
    from helicoid.model.mjcf.reader import read_mjcf_text

    return read_mjcf_text(text, floating, name, folder, **options)


def _mjcf_file(path: str, floating: bool, **options: Any) -> Model:
    from helicoid.model.mjcf.reader import read_mjcf

    return read_mjcf(path, floating, **options)


def _xacro(text: str, floating: bool, name: str, folder: str, **options: Any) -> Model:
    from helicoid.model.urdf.xacro.reader import read_xacro_text

    return read_xacro_text(text, floating, name, folder, **options)


def _xacro_file(path: str, floating: bool, **options: Any) -> Model:
    from helicoid.model.urdf.xacro.reader import read_xacro

    return read_xacro(path, floating, **options)


def _sdf(text: str, floating: bool, name: str, folder: str, **options: Any) -> Model:
    from helicoid.model.sdf.reader import read_sdf_text

    return read_sdf_text(text, floating, name, folder, **options)


def _sdf_file(path: str, floating: bool, **options: Any) -> Model:
    from helicoid.model.sdf.reader import read_sdf

    return read_sdf(path, floating, **options)


FORMATS: dict[str, Format] = {
    "URDF": Format("robot", (".urdf",), _urdf, _urdf_file),
    "xacro": Format(
        "robot",
        (".xacro",),
        _xacro,
        _xacro_file,
        ("arguments", "packages"),
        mark=r"<xacro:(?!property\b|arg\b)|\$[{(]",
    ),
    "MJCF": Format("mujoco", (".mjcf",), _mjcf, _mjcf_file, ("ignore", "packages")),
    "SDF": Format("sdf", (".sdf", ".world"), _sdf, _sdf_file, ("model", "packages", "ignore")),
}


def read_text(text: str, floating: bool, name: str = "<text>", folder: str = "", **options: Any) -> Model:
    """Model that a description states; what no format recognises is read as URDF, whose errors explain it."""
    chosen = _of_root(text)
    return chosen.read(text, floating, name, folder, **_taken(chosen, options))


def read_object(source: Any, floating: bool, **options: Any) -> Model | None:
    """Model of an object of another library; None where it is of none that is known."""
    if type(source).__module__.partition(".")[0] != "mujoco" or type(source).__name__ not in (
        "MjModel",
        "MjSpec",
    ):
        return None
    from helicoid.model.mjcf.reader import read_mujoco

    taken = _taken(FORMATS["MJCF"], options)
    taken.pop("packages", None)  # it has read its files
    return read_mujoco(source, floating, **taken)


def read_file(path: str | os.PathLike[str], floating: bool, **options: Any) -> Model:
    """Model that a file describes; the ending selects the format, or else the root element."""
    name = os.fsdecode(path)
    chosen = next((one for one in FORMATS.values() if name.lower().endswith(one.suffixes)), None)
    if chosen is None:
        chosen = _of_root(_beginning(name))
    options = _taken(chosen, options)
    if chosen.read_file is not None:
        return chosen.read_file(name, floating, **options)
    with open(name, encoding="utf-8") as file:
        return chosen.read(file.read(), floating, name, os.path.dirname(os.path.abspath(name)), **options)


def _taken(chosen: Format, options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; refused where the format has none of that name."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in list(given):
        if name not in chosen.options:
            if name in _GENERAL:
                del given[name]
                continue
            kind = next(kind for kind, one in FORMATS.items() if one is chosen)
            others = [kind for kind, one in FORMATS.items() if name in one.options]
            raise InputError(f"{kind} is read without {name}, an option of {', '.join(others)}")
    return given


def _of_root(text: str) -> Format:
    bare = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    found = _ROOT_ELEMENT.search(bare[:_MAX_PROLOGUE])
    root = found.group(1) if found else ""
    fitting = [one for one in FORMATS.values() if one.root and one.root == root]
    marked = [one for one in fitting if one.mark and re.search(one.mark, bare)]
    return next(iter([*marked, *fitting]), FORMATS["URDF"])


def _beginning(name: str) -> str:
    try:
        with open(name, encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_PROLOGUE)
    except (OSError, ValueError):
        return ""  # the reader says why
