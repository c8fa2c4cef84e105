"""The one place that knows NumPy from CasADi.

A vector is a 1-D array of shape (n,) in NumPy and a column n×1 in CasADi; a scalar is a number or 1×1.
As soon as one input is a CasADi one (SX, MX or DM), all of them and the result are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from helicoid.errors import InputError

Array: TypeAlias = Any
"""A NumPy array, a plain sequence of numbers, or a CasADi SX, MX or DM."""

_CASADI_TYPES = (ca.MX, ca.SX, ca.DM)


def is_symbolic(*values: Array) -> bool:
    """Is any of the values a CasADi one?"""
    return any(isinstance(value, _CASADI_TYPES) for value in values)


def as_array(value: Array, shape: tuple[int, ...], name: str) -> Array:
    """`value` as a float ndarray or a dense CasADi matrix of the given shape, or an InputError."""
    if isinstance(value, list | tuple) and is_symbolic(*value):
        value = ca.vertcat(*value)
    if is_symbolic(value):
        expected = (*shape, 1, 1)[:2]
        if value.shape != expected:
            raise InputError(f"{name} has shape {value.shape}; CasADi shape {expected} is right")
        return ca.densify(value)
    try:
        array = np.asarray(value).astype(float, casting="same_kind", copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} holds something that is not a real number: {error}") from error
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; {shape} is right")
    return array if shape else array[()]


def promote(*values: Array) -> tuple[Array, ...]:
    """The values as they are if all are NumPy; else all of them in the widest CasADi type among them."""
    kinds = [kind for kind in _CASADI_TYPES if any(isinstance(value, kind) for value in values)]
    if not kinds:
        return values
    if ca.MX in kinds and ca.SX in kinds:
        raise InputError("the arguments mix CasADi SX and MX; use one of them throughout")
    return tuple(value if isinstance(value, kinds[0]) else kinds[0](ca.DM(value)) for value in values)


def where(condition: Any, a: Array, b: Array) -> Array:
    """`a` where the scalar condition holds, else `b`. Both must be finite, with finite derivatives."""
    if is_symbolic(condition, a, b):
        return ca.if_else(condition, a, b)
    return a if condition else b


def sqrt(x: Array) -> Array:
    return ca.sqrt(x) if is_symbolic(x) else np.sqrt(x)


def sin(x: Array) -> Array:
    return ca.sin(x) if is_symbolic(x) else np.sin(x)


def cos(x: Array) -> Array:
    return ca.cos(x) if is_symbolic(x) else np.cos(x)


def atan2(y: Array, x: Array) -> Array:
    return ca.atan2(y, x) if is_symbolic(y, x) else np.arctan2(y, x)


def dot(a: Array, b: Array) -> Array:
    return ca.dot(a, b) if is_symbolic(a, b) else a @ b


def cross(a: Array, b: Array) -> Array:
    return vector([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def vector(scalars: Sequence[Array]) -> Array:
    """The vector with these entries."""
    return ca.vertcat(*scalars) if is_symbolic(*scalars) else np.array(scalars, dtype=float)


def concatenate(*vectors: Array) -> Array:
    """One vector out of several."""
    return ca.vertcat(*promote(*vectors)) if is_symbolic(*vectors) else np.concatenate(vectors)


def column(x: Array) -> Array:
    """The vector as an n×1 block."""
    return x if is_symbolic(x) else x[:, np.newaxis]


def matrix(rows: Sequence[Sequence[Array]]) -> Array:
    """The matrix with these entries."""
    if is_symbolic(*(entry for row in rows for entry in row)):
        return ca.vertcat(*(ca.horzcat(*row) for row in rows))
    return np.array(rows, dtype=float)


def block(rows: Sequence[Sequence[Array]]) -> Array:
    """The matrix made of these blocks, each with two axes."""
    if not is_symbolic(*(entry for row in rows for entry in row)):
        return np.block([list(row) for row in rows])
    width = len(rows[0])
    flat = promote(*(entry for row in rows for entry in row))
    return ca.vertcat(*(ca.horzcat(*flat[i : i + width]) for i in range(0, len(flat), width)))
