"""What travels between processes."""

from __future__ import annotations

from functools import cached_property
from typing import Any


def without_cached(instance: Any) -> dict[str, Any]:
    """The state of an instance without its cached properties: compiled functions are made anew where it goes.

    A class says `__getstate__ = without_cached`.
    """
    kind = type(instance)
    return {
        name: value
        for name, value in vars(instance).items()
        if not isinstance(getattr(kind, name, None), cached_property)
    }
