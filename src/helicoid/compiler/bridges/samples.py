"""Arrays with any number of axes in front of a function's own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helicoid._typing import Array
from helicoid.compiler.symbolic.signature import Shape
from helicoid.errors import InputError

if TYPE_CHECKING:
    from helicoid.compiler.function import Function
    from helicoid.compiler.symbolic.signature import Input


def axes_in_front(usage: str, inputs: Sequence[Input], shapes: Sequence[Shape]) -> Shape:
    """The axes in front of the inputs' own, broadcast as NumPy does it.

    >>> from helicoid.compiler import Input
    >>> axes_in_front("f(x[2], k)", [Input("x", (2,)), Input("k", ())], [(5, 1, 2), (3,)])
    (5, 3)
    """
    leads = []
    for item, shape in zip(inputs, shapes, strict=True):
        split = len(shape) - len(item.shape)
        if split < 0 or shape[split:] != item.shape:
            raise InputError(
                f"{usage}: input '{item.name}' must have shape {item.shape}, with any axes of samples in "
                f"front; got {tuple(shape)}"
            )
        leads.append(tuple(shape[:split]))
    try:
        return np.broadcast_shapes(*leads)
    except ValueError:
        given = ", ".join(f"'{item.name}' {lead}" for item, lead in zip(inputs, leads, strict=True) if lead)
        raise InputError(f"{usage}: axes of samples do not fit together: {given}") from None


def evaluate(function: Function, arrays: Sequence[Array]) -> list[Array]:
    """Results of one call for arrays with axes in front, which broadcast; those results have them all.

    >>> import casadi as ca
    >>> from helicoid.compiler import Function
    >>> x, k = ca.SX.sym("x", 2), ca.SX.sym("k")
    >>> f = Function.from_expressions("f", {"x": x, "k": k}, {"y": k * x})
    >>> evaluate(f, [np.ones((3, 1, 2)), np.arange(4.0)])[0].shape
    (3, 4, 2)
    """
    lead = axes_in_front(function.name, function.inputs, [array.shape for array in arrays])
    values = []
    for item, array in zip(function.inputs, arrays, strict=True):
        # What is the same for all samples is not repeated.
        shared = all(n == 1 for n in array.shape[: array.ndim - len(item.shape)])
        wanted = item.shape if shared else (math.prod(lead), *item.shape)
        values.append((array if shared else np.broadcast_to(array, lead + item.shape)).reshape(wanted))
    results: Any = function(*values)
    if len(function.outputs) == 1:
        results = [results]
    return [
        np.asarray(y).reshape(lead + item.shape) for item, y in zip(function.outputs, results, strict=True)
    ]
