"""Bundled vehicles: their parameters in JSON files beside this module."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

from helicoid.errors import InputError

_SUFFIX = ".json"


def names() -> list[str]:
    """Names of the bundled vehicles, sorted.

    >>> names()
    ['aerosonde', 'cessna_172', 'f16', 'firefly', 'hummingbird', 'navion']
    """
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return sorted(file.removesuffix(_SUFFIX) for file in files if file.endswith(_SUFFIX))


def numbers(name: str) -> dict[str, Any]:
    """Parameters of a bundled vehicle by its name, or of a file by its path (.json), as they stand there."""
    if str(name).endswith(_SUFFIX):
        return _from_file(Path(name))
    if name not in names():
        raise InputError(f"no bundled vehicle is called {name!r}; there are: {', '.join(names())}")
    content: dict[str, Any] = json.loads((resources.files(__name__) / f"{name}{_SUFFIX}").read_text("utf-8"))
    return content


def _from_file(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(content, dict) or content.get("kind") not in ("multirotor", "fixed wing"):
        raise InputError(f'{path}: a vehicle has "kind": "multirotor" or "fixed wing"')
    return content
