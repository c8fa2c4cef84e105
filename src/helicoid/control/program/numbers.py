"""The numbers that change while a controller runs: by name, in one vector that C reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.errors import InputError

Check = Callable[[str, Any], Array]


@dataclass(frozen=True)
class Entry:
    """Where a number or an array of them lies, and what it may be."""

    at: slice
    check: Check


class Numbers:
    """Named entries of one vector `values`.

    `set` changes all of a call or, where one is refused, nothing.
    """

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._parts: list[Array] = []
        self._also: dict[str, str] = {}
        self._values: Array | None = None

    def add(self, name: str, start: ArrayLike | None, check: Check, also: str = "") -> None:
        """A new entry with its first value, which may also be called otherwise."""
        first = check(name, start).ravel()
        used = sum(part.size for part in self._parts)
        self._entries[name] = Entry(slice(used, used + first.size), check)
        self._parts.append(first)
        self._also[also or name] = name

    @property
    def values(self) -> Array:
        """All entries, in order."""
        if self._values is None:
            self._values = np.concatenate([np.zeros(0), *self._parts])
        return self._values

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    @property
    def names(self) -> tuple[str, ...]:
        """What `set` takes."""
        return tuple(self._entries)

    def symbols(self, p: Expression) -> Mapping[str, Expression]:
        """The parts of a symbol for `values`, by name."""
        return {name: p[entry.at] for name, entry in self._entries.items()}

    def set(self, changes: Mapping[str, ArrayLike]) -> None:
        """Change entries; see the class."""
        checked = {}
        for given, value in changes.items():
            name = given if given in self._entries else self._also.get(given, "")
            if not name:
                raise InputError(f"there is no number {given!r}; there are {', '.join(self.names)}")
            checked[name] = self._entries[name].check(name, value).ravel()
        for name, numbers in checked.items():
            self.values[self._entries[name].at] = numbers


def numbers_of(
    shape: tuple[int, ...], low: float = -np.inf, high: float = np.inf, strict: bool = False
) -> Check:
    """A check for finite or infinite numbers of a shape, between low and high; one number serves for all."""

    def check(name: str, value: ArrayLike) -> Array:
        try:
            given = np.asarray(value, dtype=np.float64)
            array = np.array(np.broadcast_to(given, shape))
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{name} must be numbers of shape {shape}; got {value!r}") from None
        wrong = ~((array > low) if strict else (array >= low)) | ~(array <= high)
        if wrong.any():
            sign = ">" if strict else "≥"
            limit = f"{sign} {low:g}" + (f" and ≤ {high:g}" if np.isfinite(high) else "")
            text = limit if np.isfinite(low) else "numbers"
            raise InputError(f"{name} must be {text}; got {value!r}")
        return array

    return check


def finite(shape: tuple[int, ...], low: float = -1.7e308, high: float = 1.7e308) -> Check:
    """A check for finite numbers."""
    return numbers_of(shape, low, high)
