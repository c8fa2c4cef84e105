"""The parts of a problem: named numbers that may change at run time, costs and constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array, Expression
from helicoid.errors import InputError


@dataclass(frozen=True, eq=False)
class Parameter:
    """A number or vector that every node of the grid has its own value of: `initial` is (nodes, size).

    The weight of a `cost` is set apart for the path and for the last node, wherever the cost is.
    """

    name: str
    symbol: Expression
    initial: Array
    cost: Cost | None = None


@dataclass(frozen=True, eq=False)
class Cost:
    """½ Σ w r² of a residual r (`square`), or the expression itself times w; w is a parameter.

    On the path it is integrated: multiplied by the length of each interval. `on_path` and `at_end` say where.
    """

    name: str
    expression: Expression
    weight: Expression
    square: bool
    on_path: bool
    at_end: bool


@dataclass(frozen=True, eq=False)
class Constraint:
    """lower ≤ expression ≤ upper, row by row; infinite where there is none.

    `scale` makes rows comparable: a row is of order one when its bound matters. `price` and `price2` are the
    weights of the excess s of a soft constraint, price · s + ½ price2 · s² with s in units of the scaled row;
    price is None for a hard one.
    """

    name: str
    expression: Expression
    lower: Array
    upper: Array
    scale: Array
    on_path: bool
    at_end: bool
    price: float | None
    price2: float
    labels: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.scale)


def mask(value: ArrayLike, size: int, what: str) -> NDArray[np.bool_]:
    """Booleans of a size; one stands for all elements."""
    array = np.asarray(value, dtype=bool)
    if array.shape not in ((), (size,)):
        raise InputError(f"{what}: a mask needs {size} booleans, or one for all; got shape {array.shape}")
    return np.array(np.broadcast_to(array, (size,)))


def vector(value: ArrayLike, size: int, what: str, *, infinite: bool = False) -> Array:
    """A float64 vector of a size; one number stands for all elements."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(size, float(array))
    if array.shape != (size,):
        raise InputError(f"{what}: needs {size} numbers, got shape {array.shape}")
    if np.any(np.isnan(array)) or not (infinite or np.all(np.isfinite(array))):
        raise InputError(f"{what}: must be finite, got {array}")
    return array
