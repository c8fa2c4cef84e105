"""Bundled vehicles: their parameters in JSON files beside this module."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from helicoid.errors import InputError

_SUFFIX = ".json"


def names() -> list[str]:
    """Names of the bundled vehicles, sorted.

    >>> names()
    ['aerosonde', 'firefly', 'hummingbird']
    """
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return sorted(file.removesuffix(_SUFFIX) for file in files if file.endswith(_SUFFIX))


def numbers(name: str) -> dict[str, Any]:
    """Parameters of a bundled vehicle, as in its file."""
    if name not in names():
        raise InputError(f"no bundled vehicle is called {name!r}; there are: {', '.join(names())}")
    content: dict[str, Any] = json.loads((resources.files(__name__) / f"{name}{_SUFFIX}").read_text("utf-8"))
    return content
