"""Parameters of a problem, which change at run time by name, and checks of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array, Expression
from helicoid.errors import InputError

EVERY_NODE, ON_PATH, AT_END = slice(None), slice(None, -1), slice(-1, None)


@dataclass(frozen=True, eq=False)
class Parameter:
    """A vector with a value for each node of the grid: `initial` is (nodes, size).

    `settable` has its names in `Problem.set`, and the nodes of each name.
    `configuration` marks a target posture q (nq), which may lie on a manifold.
    """

    name: str
    symbol: Expression
    initial: Array
    settable: Mapping[str, slice]
    configuration: bool = False


def parameter(name: str, value: ArrayLike, nodes: int, size: int | None = None) -> Parameter:
    """A parameter of `size` (by default that of the value); the value may have a row for each node."""
    try:
        rows = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name!r} takes numbers, got {value!r}") from None
    size = max(1, rows.size) if size is None else size
    if rows.shape != (nodes, size):
        if rows.size != size:
            raise InputError(
                f"{name!r} takes {size} numbers, or ({nodes}, {size}) for each node; got shape {rows.shape}"
            )
        rows = np.tile(rows.reshape(1, size), (nodes, 1))
    if not np.isfinite(rows).all():
        raise InputError(f"{name!r} must be finite, got {rows[0]}")
    return Parameter(name, ca.SX.sym(name, size), rows, {name: EVERY_NODE})


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
