"""Files of propeller geometry as the UIUC propeller database publishes them."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError


def read_geometry(path: str | PathLike[str]) -> tuple[Array, Array, Array]:
    """Columns r/R, c/R and β (rad) of a file whose header names them and whose β is in degrees.

    Raises:
        InputError: the file cannot be read, or a line of it is something else, with its number.
    """
    try:
        lines = Path(path).read_text("utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        words = line.replace(",", " ").split()
        if not words or (not rows and not _is_number(words[0])):  # the header
            continue
        if len(words) < 3 or not all(_is_number(word) for word in words[:3]):
            raise InputError(f"{path}, line {number}: r/R, c/R and beta (degrees) as numbers; got {line!r}")
        rows.append([float(word) for word in words[:3]])
    table = np.array(rows).reshape(-1, 3)
    if len(table) < 4 or np.any(table[:, 0] > 1 + 1e-9) or np.any(table[:, 1] <= 0):
        raise InputError(f"{path}: four or more radii r/R up to 1 with chords c/R above 0")
    return table[:, 0], table[:, 1], np.radians(table[:, 2])


def _is_number(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False
