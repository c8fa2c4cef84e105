"""Checks of an MJCF text and of what it includes, before MuJoCo sees them.

MuJoCo's compiler returns an error for broken texts, but reads any file that a text names, and makes as many
bodies or samples as it asks for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.parsers import expat

from helicoid.errors import DoubtfulModelWarning, RobotDescriptionError, warn
from helicoid.model.urdf.roots import description_root, is_inside

_MAX_COPIES = 20_000
"""Bodies that nested <replicate> and <composite> may make."""
_MAX_SAMPLES = 100_000_000
"""Rows times columns of a height field, or pixels of a texture."""
_MAX_FILES = 1000
_MAX_BYTES = 200_000_000

_COPYING = ("replicate", "composite", "flexcomp")
_SAMPLED = {"hfield": ("nrow", "ncol"), "texture": ("width", "height")}
_INCLUDING = ("include", "model")
_SIDES = ("right", "left", "up", "down", "front", "back")
_DATA = ("mesh", "hfield", "skin", "flexcomp", "texture")
_DATA_FILES = ("file", *(f"file{side}" for side in _SIDES))
_DATA_FOLDERS = ("assetdir", "meshdir", "texturedir")


class Screening:
    """The checks of one description: of its text, and of each text that it includes or attaches.

    Args:
        folder: that file names are relative to.
        packages: further folders from which it may read.
    """

    def __init__(self, folder: str, packages: Mapping[str, str | os.PathLike[str]] | None = None) -> None:
        self._folder = os.path.abspath(folder)
        self._root = description_root(Path(self._folder))
        self._allowed = [self._root, *(Path(one) for one in (packages or {}).values())]
        self._read: set[str] = set()
        self._data: list[tuple[str, str]] = []
        self._data_folders = {""}

    def check(self, text: str | bytes, name: str) -> None:
        """Refuse document types, unbounded growth, and includes from elsewhere; warn of other files there.

        Raises:
            RobotDescriptionError: with the line. Texts that are no XML pass: MuJoCo says what is wrong.
        """
        self._screen(text, name, self._folder, 1)
        outside = [place for place in map(self._place_of_data, self._data) if place]
        if outside:
            more = f" and {len(outside) - 3} more" if len(outside) > 3 else ""
            warn(
                DoubtfulModelWarning(
                    f"{name}: files are read outside of {self._root}, where the description belongs to: "
                    f"{', '.join(outside[:3])}{more}"
                )
            )

    def _screen(self, text: str | bytes, name: str, folder: str, copies: int) -> None:
        parser, nested = expat.ParserCreate(), [copies]

        def fail(what: str) -> None:
            raise RobotDescriptionError(f"{name}:{parser.CurrentLineNumber}: {what}")

        def doctype(*_: Any) -> None:
            fail("a document type is refused: its entities could grow without bound; write their text there")

        def begin(tag: str, attributes: dict[str, str]) -> None:
            more = _product(attributes.get("count", "1")) if tag in _COPYING else 1
            nested.append(nested[-1] * max(more, 1))
            if nested[-1] > _MAX_COPIES:
                given = attributes.get("count")
                fail(f"<{tag} count={given!r}> makes {nested[-1]} copies, more than {_MAX_COPIES}")
            if tag in _SAMPLED:
                samples = _product(" ".join(attributes.get(key, "1") for key in _SAMPLED[tag]))
                if samples > _MAX_SAMPLES:
                    fail(f"<{tag}> with {samples} samples, more than {_MAX_SAMPLES}")
            where = f"{name}:{parser.CurrentLineNumber}"
            if tag == "compiler":
                self._data_folders.update(attributes[key] for key in _DATA_FOLDERS if key in attributes)
            elif tag in _INCLUDING and attributes.get("file"):
                self._include(attributes["file"], where, folder, nested[-1])
            elif tag in _DATA:
                self._data += [(attributes[key], where) for key in _DATA_FILES if attributes.get(key)]

        parser.StartDoctypeDeclHandler = doctype
        parser.StartElementHandler = begin
        parser.EndElementHandler = lambda _: nested.pop()
        with suppress(expat.ExpatError):
            parser.Parse(text, True)

    def _include(self, file: str, where: str, folder: str, copies: int) -> None:
        """Check the text of an included file; MuJoCo looks beside the first file, then beside this one."""
        places = (os.path.normpath(os.path.join(one, file)) for one in (self._folder, folder))
        for place in dict.fromkeys(places):
            if not self._is_allowed(place):
                raise RobotDescriptionError(
                    f"{where}: {file} is not included: {place} is outside of {self._root}, where the "
                    "description belongs to; hc.load(..., packages={name: folder}) allows its folder"
                )
            if not os.path.lexists(place) or place in self._read:
                continue
            self._read.add(place)
            if len(self._read) > _MAX_FILES:
                raise RobotDescriptionError(f"{where}: more than {_MAX_FILES} files are included")
            self._screen(_content(place, where), place, os.path.dirname(place), copies)

    def _place_of_data(self, named: tuple[str, str]) -> str:
        """Where a mesh, texture or height field is outside of the folders; "" where it is inside, or missing.

        Raises:
            RobotDescriptionError: it is a device or a pipe, which never ends.
        """
        file, where = named
        found = ""
        for folder in sorted(self._data_folders):
            place = os.path.normpath(os.path.join(self._folder, folder, file))
            if not os.path.exists(place) or os.path.isdir(place):
                continue
            if not os.path.isfile(place):
                raise RobotDescriptionError(f"{where}: {place} is not a regular file")
            if self._is_allowed(place):
                return ""
            found = found or place
        return found

    def _is_allowed(self, place: str) -> bool:
        return any(is_inside(Path(place), one) for one in self._allowed)


def _content(place: str, where: str) -> bytes:
    if not os.path.isfile(place):
        raise RobotDescriptionError(f"{where}: {place} is not a regular file")
    if os.path.getsize(place) > _MAX_BYTES:
        raise RobotDescriptionError(f"{where}: {place} has more than {_MAX_BYTES} bytes")
    with open(place, "rb") as file:
        return file.read()


def _product(words: str) -> int:
    """Product of whole numbers; 1 for what is none."""
    result = 1
    for word in words.split():
        try:
            result *= max(int(float(word)), 1)
        except (ValueError, OverflowError):
            continue
    return result
