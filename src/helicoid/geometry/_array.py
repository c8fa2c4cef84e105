"""Arrays of NumPy or CasADi behind one interface, single or in batches.

A vector is a 1-D array of shape (n,) in NumPy and a column n×1 in CasADi; a scalar is a number or 1×1.
As soon as one input is a CasADi one (SX, MX or DM), all of them and the result are.

Formulas that are called often are written on the `components` of their arguments and put together by
`assemble`. Components are Python floats for one array, NumPy arrays for a batch of them, and CasADi scalars:
the same lines are then as fast as each of the three allows.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from helicoid.errors import InputError

Array: TypeAlias = Any
"""A NumPy array, a plain sequence of numbers, or a CasADi SX, MX or DM."""

_CASADI_TYPES = (ca.MX, ca.SX, ca.DM)
_FLOAT64 = np.dtype(np.float64)
# The quickest way from a small array to Python floats and back.
_SHAPES: tuple[tuple[int, ...], ...] = ((3,), (4,), (6,), (3, 3), (4, 4), (6, 6), (6, 10))
_UNPACK = {shape: struct.Struct(f"{math.prod(shape)}d").unpack for shape in _SHAPES}
_PACK_INTO = {shape: struct.Struct(f"{math.prod(shape)}d").pack_into for shape in _SHAPES}
_ndarray, _empty = np.ndarray, np.empty


def is_symbolic(*values: Array) -> bool:
    """Whether any of the values is a CasADi expression."""
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
    array = _numbers(value, name)
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; {shape} is right")
    return array if shape else array[()]


def as_arrays(value: Array, shape: tuple[int, ...], name: str) -> Array:
    """Like `as_array`, and a NumPy batch (N, *shape), with any number of axes in front, passes too."""
    if is_symbolic(value) or (isinstance(value, list | tuple) and is_symbolic(*value)):
        return as_array(value, shape, name)
    array = _numbers(value, name)
    if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
        batch = ", ".join(map(str, shape))
        raise InputError(f"{name} has shape {array.shape}; {shape} is right, or (N, {batch}) for a batch")
    return array


def _numbers(value: Array, name: str) -> Array:
    try:
        return np.asarray(value).astype(float, casting="same_kind", copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} holds something that is not a real number: {error}") from error


def components(value: Array, shape: tuple[int, ...], name: str) -> Sequence[Any]:
    """The entries of an array of this shape row by row: floats, arrays (N,) of a batch, or CasADi scalars."""
    if type(value) is _ndarray and value.shape == shape and value.dtype is _FLOAT64:
        try:
            return _UNPACK[shape](value)  # type: ignore[arg-type]
        except ValueError:  # not contiguous
            return value.ravel().tolist()
    array = as_arrays(value, shape, name)
    if is_symbolic(array):
        rows = range(array.shape[0])
        return [array[i, j] for i in rows for j in range(array.shape[1])]
    if array.ndim == len(shape):
        return array.ravel().tolist()
    flat = array.reshape(*array.shape[: array.ndim - len(shape)], math.prod(shape))
    return [flat[..., k] for k in range(flat.shape[-1])]


def assemble(entries: Sequence[Any], shape: tuple[int, ...], like: Any) -> Array:
    """The array with these entries row by row; `like` is a component, or a sum of one of each argument."""
    if type(like) is float:
        result = _empty(shape)
        _PACK_INTO[shape](result, 0, *entries)  # type: ignore[arg-type]
        return result
    if is_symbolic(like):
        width = (*shape, 1, 1)[1]
        rows = [ca.horzcat(*entries[i : i + width]) for i in range(0, len(entries), width)]
        return ca.vertcat(*rows)
    batch = np.empty((*like.shape, len(entries)))
    for k, entry in enumerate(entries):
        batch[..., k] = entry
    return batch.reshape(*like.shape, *shape)


def promote(*values: Array) -> tuple[Array, ...]:
    """The values as they are if all are NumPy; else all of them in the widest CasADi type among them."""
    kinds = [kind for kind in _CASADI_TYPES if any(isinstance(value, kind) for value in values)]
    if not kinds:
        return values
    if ca.MX in kinds and ca.SX in kinds:
        raise InputError("the arguments mix CasADi SX and MX; use one of them throughout")
    return tuple(value if isinstance(value, kinds[0]) else kinds[0](ca.DM(value)) for value in values)


def blend(a: Any, b: Any) -> Any:
    """A scalar of the kind that a result of both has: `like` of `assemble`."""
    try:
        return a + b
    except NotImplementedError:
        raise InputError("the arguments mix CasADi SX and MX; use one of them throughout") from None


def where(condition: Any, a: Array, b: Array) -> Array:
    """`a` where the scalar condition holds, else `b`. Both must be finite, with finite derivatives."""
    if type(condition) is bool:
        return a if condition else b
    if is_symbolic(condition, a, b):
        return ca.if_else(condition, a, b)
    if type(condition) is np.ndarray:
        return np.where(condition, a, b)
    return a if condition else b


def sqrt(x: Array) -> Array:
    if type(x) is float:
        return math.sqrt(x) if x >= 0.0 else math.nan
    return ca.sqrt(x) if is_symbolic(x) else np.sqrt(x)


def sin(x: Array) -> Array:
    if type(x) is float:
        return math.sin(x) if math.isfinite(x) else math.nan
    return ca.sin(x) if is_symbolic(x) else np.sin(x)


def cos(x: Array) -> Array:
    if type(x) is float:
        return math.cos(x) if math.isfinite(x) else math.nan
    return ca.cos(x) if is_symbolic(x) else np.cos(x)


def atan2(y: Array, x: Array) -> Array:
    if type(y) is float and type(x) is float:
        return math.atan2(y, x)
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
