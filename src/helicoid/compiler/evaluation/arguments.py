"""Conversion of a caller's arguments to the arrays of an evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.compiler.symbolic.signature import Input, Output, Shape, matrix_shape
from helicoid.errors import InputError


def bind(
    usage: str, inputs: Sequence[Input], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, ...]:
    """One value for each input, in order, from positional and keyword arguments.

    Here and below, `usage` is the signature of the function, with which every message begins.

    >>> bind("f(q[1], v[1])", [Input("q", (1,)), Input("v", (1,))], [1.0], {"v": 2.0})
    (1.0, 2.0)
    """
    if len(args) == len(inputs) and not kwargs:
        return tuple(args)
    if len(args) > len(inputs):
        raise InputError(f"{usage}: takes {len(inputs)} inputs; got {len(args)} by position")
    names = [item.name for item in inputs]
    for key in kwargs:
        if key not in names:
            raise InputError(f"{usage}: has no input '{key}'")
        if key in names[: len(args)]:
            raise InputError(f"{usage}: input '{key}' is given twice, by position and by name")
    missing = [key for key in names[len(args) :] if key not in kwargs]
    if missing:
        raise InputError(f"{usage}: missing {', '.join(repr(key) for key in missing)}")
    return (*args, *(kwargs[key] for key in names[len(args) :]))


def as_arrays(usage: str, inputs: Sequence[Input], values: Sequence[Any]) -> tuple[list[Array], int | None]:
    """Values as float64 arrays, and the number of samples if any of them is a batch (else None)."""
    arrays = [_as_array(usage, item, value) for item, value in zip(inputs, values, strict=True)]
    lengths = {
        item.name: len(array)
        for item, array in zip(inputs, arrays, strict=True)
        if array.ndim > len(item.shape)
    }
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"'{key}' has {length}" for key, length in lengths.items())
        raise InputError(f"{usage}: all batches must be of one length; {counts} samples")
    return arrays, next(iter(lengths.values()), None)


def as_matrix(usage: str, item: Input, value: Any) -> Any:
    """A value for a symbolic call: CasADi's own types as they are, numbers as DM."""
    rows, columns = matrix_shape(item.shape)
    if isinstance(value, (ca.SX, ca.MX, ca.DM)):
        if value.shape != (rows, columns):
            raise InputError(
                f"{usage}: input '{item.name}' must be {rows}x{columns} in CasADi; "
                f"got {value.shape[0]}x{value.shape[1]}"
            )
        return value
    array = _as_array(usage, item, value)
    if array.ndim > len(item.shape):
        raise InputError(
            f"{usage}: input '{item.name}' is a batch of shape {array.shape}; "
            "a call with CasADi arguments takes one sample"
        )
    return ca.DM(array.reshape(rows, columns)) if array.size else ca.DM(rows, columns)


def as_targets(usage: str, outputs: Sequence[Output], out: Any, n_samples: int | None) -> list[Array]:
    """The arrays of `out=`, checked; one for each output."""
    if len(outputs) == 1 and isinstance(out, np.ndarray):
        targets: list[Any] = [out]
    elif isinstance(out, (tuple, list)) and len(out) == len(outputs):
        targets = list(out)
    else:
        expected = "an array" if len(outputs) == 1 else f"a tuple of {len(outputs)} arrays"
        raise InputError(f"{usage}: out must be {expected}; got {_kind(out)}")
    for output, target in zip(outputs, targets, strict=True):
        shape = output.shape if n_samples is None else (n_samples, *output.shape)
        _check_target(f"{usage}: out for '{output.name}'", shape, target)
    for k, target in enumerate(targets):
        if any(np.may_share_memory(target, other) for other in targets[:k]):
            raise InputError(f"{usage}: the arrays of out overlap in memory")
    return [target.view(np.ndarray) for target in targets]  # the memory of a subclass


def _check_target(where: str, shape: Shape, target: Any) -> None:
    if not isinstance(target, np.ndarray) or target.dtype != np.float64 or not target.dtype.isnative:
        got = target.dtype if isinstance(target, np.ndarray) else _kind(target)
        raise InputError(f"{where} must be a float64 array; got {got}")
    if isinstance(target, np.ma.MaskedArray):
        raise InputError(f"{where} must be an array without a mask, such as numpy.ma.getdata gives")
    if target.shape != shape:
        raise InputError(f"{where} must have shape {shape}; got {target.shape}")
    if not (target.flags.c_contiguous and target.flags.aligned and target.flags.writeable):
        raise InputError(f"{where} must be C-contiguous, aligned and writeable, as numpy.empty makes it")


def _as_array(usage: str, item: Input, value: Any) -> Array:
    where = f"{usage}: input '{item.name}'"
    if np.ma.is_masked(value):
        raise InputError(f"{where} has masked values: fill or drop them first")
    try:
        array = np.asarray(value)
    except Exception as error:  # of `__array__` of a foreign type, too
        raise InputError(f"{where} must be an array of real numbers; got {_kind(value)}: {error}") from error
    if array.dtype.kind not in "iuf":
        hint = " (join CasADi scalars with casadi.vertcat)" if array.dtype.kind == "O" else ""
        raise InputError(f"{where} must be real numbers; got {_kind(value)} of {array.dtype}{hint}")
    if array.shape != item.shape and array.shape[1:] != item.shape:
        raise InputError(f"{where} must have shape {_shapes(item.shape)}; got {array.shape}")
    return np.require(array, np.float64, ["C_CONTIGUOUS", "ALIGNED"])


def _shapes(shape: Shape) -> str:
    sizes = ", ".join(str(n) for n in ("N", *shape))
    return f"{shape}, or ({sizes}{',' if not shape else ''}) for a batch"


def _kind(value: Any) -> str:
    return type(value).__name__
