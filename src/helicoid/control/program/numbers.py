"""Numbers of a controller that may change while it runs: by name, in one vector that compiled code reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.arrays import real_array, shown
from helicoid.deprecation import warn_renamed
from helicoid.errors import InputError

Shape = tuple[int, ...]
Check = Callable[[str, Any], Array]
"""Reads a value that was given under a name, or raises an InputError."""

LARGEST_NUMBER = 1e30
"""Largest size of a number; also the inverse of the smallest weight and the smallest positive number."""


@dataclass(frozen=True)
class Number:
    """A number, or an array of them, that `set` may change: lower ≤ x ≤ upper, and finite.

    With `above` and `below` the bounds themselves are excluded; with `infinite`, infinite values are valid.
    Finite values are at most `LARGEST_NUMBER` in size, and those above 0, by `above` or with `weight`, at
    least its inverse: products of a few of them neither overflow nor underflow.
    """

    value: ArrayLike | None
    shape: Shape = ()
    lower: float = -np.inf
    above: bool = False
    upper: float = np.inf
    below: bool = False
    infinite: bool = False
    weight: bool = False

    def read(self, name: str, given: Any) -> Array:
        """A value as an array of this shape, one number for all elements.

        Raises:
            InputError: it is no real number, of another shape, or out of bounds.
        """
        values = real_array(name, given)
        if values.shape not in ((), self.shape):
            raise InputError(f"{name} is one number or has shape {self.shape}; got shape {values.shape}")
        if np.any(np.isnan(values)) or not (self.infinite or np.all(np.isfinite(values))):
            raise InputError(f"{name} must be finite; got {shown(given)}")
        low = values <= self.lower if self.above else values < self.lower
        high = values >= self.upper if self.below else values > self.upper
        if np.any(low | high):
            raise InputError(f"{name} must be {self._range()}; got {shown(given)}")
        size = np.abs(values)
        tiny = (size > 0) & (size < 1 / LARGEST_NUMBER) & (self.weight or (self.above and self.lower == 0))
        if np.any(tiny | (~np.isinf(size) & (size > LARGEST_NUMBER))):
            least = f" and, where it is not 0, at least {1 / LARGEST_NUMBER:g}" if np.any(tiny) else ""
            raise InputError(f"{name} must be at most {LARGEST_NUMBER:g} in size{least}; got {shown(given)}")
        return np.array(np.broadcast_to(values, self.shape))

    def _range(self) -> str:
        least = f"above {self.lower:g}" if self.above else f"{self.lower:g} or more"
        most = f"below {self.upper:g}" if self.below else f"at most {self.upper:g}"
        bounds = ((least, self.lower), (most, self.upper))
        return " and ".join(text for text, bound in bounds if np.isfinite(bound))


@dataclass(frozen=True)
class Entry:
    """Place of a number or an array in the vector, and the check of its values."""

    at: slice
    check: Check
    shape: Shape


class Numbers:
    """Named entries of one vector, whose initial values are `values`."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._parts: list[Array] = []
        self._also: dict[str, str] = {}
        self._former: dict[str, str] = {}
        self._values: Array | None = None

    def add(self, name: str, start: ArrayLike | None, check: Check, also: str = "", former: str = "") -> None:
        """Add an entry with its initial value, a second name, and one that it had in an earlier version."""
        first = check(name, start)
        used = sum(part.size for part in self._parts)
        self._entries[name] = Entry(slice(used, used + first.size), check, first.shape)
        self._parts.append(first.ravel())
        self._also[also or name] = name
        if former:
            self._former[former] = name

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
        """Names that `set` takes."""
        return tuple(self._entries)

    def symbols(self, p: Expression) -> Mapping[str, Expression]:
        """The parts of a symbol for `values`, by name."""
        return {name: p[entry.at] for name, entry in self._entries.items()}

    def entry(self, name: str) -> tuple[str, Entry]:
        """Name and entry for a name that a user gave.

        Raises:
            InputError: there is none of this name.
        """
        own = name if name in self._entries else self._also.get(name, "")
        if not own and name in self._former:
            own = self._former[name]
            warn_renamed(name, own, stacklevel=7)
        if not own:
            raise InputError(f"there is no number {name!r}; there are: {', '.join(self.names)}")
        return own, self._entries[own]

    def part(self, values: Array, name: str) -> Array:
        """One entry of a vector of values, in its shape."""
        entry = self._entries[name]
        return values[entry.at].reshape(entry.shape)

    def set(self, changes: Mapping[str, ArrayLike]) -> None:
        """Change entries of `values` in place: all that are given, or none if one is refused."""
        self.values[:] = self.changed(self.values, changes)

    def changed(self, values: Array, changes: Mapping[str, ArrayLike]) -> Array:
        """A copy of a vector of values with some of its entries changed.

        Raises:
            InputError: a name or a value is refused.
        """
        result = values.copy()
        for given, value in changes.items():
            name, entry = self.entry(given)
            result[entry.at] = entry.check(name, value).ravel()
        return result


def numbers_of(shape: Shape, low: float = -np.inf, high: float = np.inf, strict: bool = False) -> Check:
    """A check for finite or infinite numbers of a shape between low and high; one number serves for all."""
    return Number(None, shape, low, strict, high, infinite=True).read


def finite(shape: Shape, low: float = -np.inf) -> Check:
    """A check for finite numbers of a shape, not below `low`."""
    return Number(None, shape, low).read


def weights_of(shape: Shape) -> Check:
    """A check for weights of a shape: 0, or positive and neither absurdly small nor large."""
    return Number(None, shape, 0.0, weight=True).read
