"""Parsing of option values: lists of numbers and names, ranges by link; errors name the option."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from helicoid.errors import InputError
from helicoid.identification.linear.solving.consistent import Bounds


def numbers(option: str, text: str, count: int | None = None) -> list[float]:
    """Parse `1,2.5,3` as numbers, exactly `count` if given."""
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or not np.all(np.isfinite(found)) or count not in (None, len(found)):
        expected = "numbers" if count is None else f"{count} number{'s' if count > 1 else ''}"
        raise InputError(f"{option}: expected {expected} separated by commas, got {text!r}")
    return found


def names(text: str | None) -> tuple[str, ...] | None:
    """Parse `a,b,c` as names."""
    return None if text is None else tuple(word.strip() for word in text.split(","))


def filter_cutoff(text: str) -> float | Literal["auto"] | None:
    """Parse `none`, `auto` or a frequency in Hz."""
    if text in ("none", "auto"):
        return None if text == "none" else "auto"
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < np.inf:
        raise InputError(f"--cutoff: expected a frequency in Hz above 0, none or auto, got {text!r}")
    return value


def bounds(mass: Sequence[str], com: Sequence[str]) -> Bounds | None:
    """Parse `LINK=MIN:MAX` of masses and of centres of mass."""
    if not mass and not com:
        return None
    masses = {link: (low[0], high[0]) for link, low, high in (_range("--mass", one, 1) for one in mass)}
    centers = {link: (low, high) for link, low, high in (_range("--com", one, 3) for one in com)}
    return Bounds(masses, centers)


def _range(option: str, text: str, count: int) -> tuple[str, list[float], list[float]]:
    link, equals, both = text.rpartition("=")
    least, colon, most = both.partition(":")
    if not link or not equals or not colon:
        form = "LINK=MIN:MAX" if count == 1 else "LINK=X,Y,Z:X,Y,Z"
        raise InputError(f"{option}: expected {form}, got {text!r}")
    low, high = numbers(option, least, count), numbers(option, most, count)
    if any(a > b for a, b in zip(low, high, strict=True)):
        raise InputError(f"{option} {text}: the lower bound exceeds the upper bound")
    return link, low, high
