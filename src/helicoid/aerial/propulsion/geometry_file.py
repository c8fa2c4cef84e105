"""Files of propeller geometry: those of the UIUC propeller database, and PE0 files of APC."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError

_INCH = 0.0254
_BEYOND_TIP = 1 + 1e-6  # of the radius: a station of the mould, not of the blade
_MIN_STATIONS = 4


@dataclass(frozen=True)
class GeometryFile:
    """Stations r/R, c/R and β (rad) of a blade; radius (m) and number of blades where the file has them."""

    r: Array
    chord: Array
    pitch: Array
    radius: float | None = None
    blades: int | None = None


def read_geometry(path: str | PathLike[str]) -> GeometryFile:
    """A file with columns r/R, c/R and β in degrees (UIUC), or one of APC (PE0), by its header.

    Raises:
        InputError: the file cannot be read, or a line of it is something else, with its number.
    """
    try:
        lines = Path(path).read_text("utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(lines):
        if line.split()[:2] == ["STATION", "CHORD"]:
            return _apc(path, lines, number)
    return _uiuc(path, lines)


def _uiuc(path: str | PathLike[str], lines: list[str]) -> GeometryFile:
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        words = line.replace(",", " ").split()
        if not words or (not rows and not _is_number(words[0])):  # the header
            continue
        if len(words) < 3 or not all(_is_number(word) for word in words[:3]):
            raise InputError(f"{path}, line {number}: r/R, c/R and beta (degrees) as numbers; got {line!r}")
        rows.append([float(word) for word in words[:3]])
    table = np.array(rows).reshape(-1, 3)
    if len(table) < _MIN_STATIONS or np.any(table[:, 0] > 1 + 1e-9) or np.any(table[:, 1] <= 0):
        raise InputError(f"{path}: four or more radii r/R up to 1 with chords c/R above 0")
    return GeometryFile(table[:, 0], table[:, 1], np.radians(table[:, 2]))


def _apc(path: str | PathLike[str], lines: list[str], header: int) -> GeometryFile:
    """STATION and CHORD in inches, TWIST in degrees; the radius and the number of blades follow the table."""
    names = lines[header].split()
    units = lines[header + 1].split() if header + 1 < len(lines) else []
    if "TWIST" not in names or units[:2] != ["(IN)", "(IN)"]:
        raise InputError(
            f"{path}, line {header + 1}: STATION and CHORD in (IN), and TWIST; got {names} {units}"
        )
    rows: list[list[float]] = []
    for number, line in enumerate(lines[header + 2 :], header + 3):
        words = line.split()
        if not words:
            continue
        if words[0] == "RADIUS:":
            break
        if len(words) != len(names) or not all(_is_number(word) for word in words):
            raise InputError(f"{path}, line {number}: {len(names)} numbers, {names}; got {line!r}")
        rows.append([float(words[names.index(name)]) for name in ("STATION", "CHORD", "TWIST")])
    radius, blades = _labelled(path, lines, "RADIUS:"), _labelled(path, lines, "BLADES:")
    table = np.array(rows).reshape(-1, 3)
    if radius <= 0 or blades < 2 or blades != round(blades):
        raise InputError(f"{path}: a RADIUS above 0 and two or more BLADES; got {radius:g} and {blades:g}")
    table = table[table[:, 0] <= _BEYOND_TIP * radius]
    if len(table) < _MIN_STATIONS or np.any(table[:, 1] <= 0) or np.any(np.diff(table[:, 0]) <= 0):
        raise InputError(f"{path}: four or more ascending stations up to the radius with chords above 0")
    r = np.minimum(table[:, 0] / radius, 1.0)
    return GeometryFile(r, table[:, 1] / radius, np.radians(table[:, 2]), _INCH * radius, round(blades))


def _labelled(path: str | PathLike[str], lines: list[str], label: str) -> float:
    """The number after a label."""
    for line in lines:
        words = line.split()
        if len(words) > 1 and words[0] == label and _is_number(words[1]):
            return float(words[1])
    raise InputError(f"{path}: the line {label!r} with its number is missing")


def _is_number(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False
