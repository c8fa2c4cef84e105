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
    if one_axis_in_front(inputs, shapes):
        return tuple(shapes[0][:1])
    leads = []
    for item, shape in zip(inputs, shapes, strict=True):
        split = len(shape) - len(item.shape)
        if split < 0 or shape[split:] != item.shape:
            raise InputError(
                f"{usage}: input '{item.name}' must have shape {item.shape}, with any axes of samples in "
                f"front; got {tuple(shape)}"
            )
        leads.append(tuple(shape[:split]))
    if leads.count(leads[0]) == len(leads):
        return leads[0]
    try:
        return np.broadcast_shapes(*leads)
    except ValueError:
        given = ", ".join(f"'{item.name}' {lead}" for item, lead in zip(inputs, leads, strict=True) if lead)
        raise InputError(f"{usage}: axes of samples do not fit together: {given}") from None


def one_axis_in_front(inputs: Sequence[Input], shapes: Sequence[Shape]) -> bool:
    """Whether all inputs have one and the same batch axis in front, as in training.

    >>> from helicoid.compiler import Input
    >>> one_axis_in_front([Input("x", (2,)), Input("k", ())], [(5, 2), (5,)])
    True
    """
    front = tuple(shapes[0][:1])
    return len(shapes[0]) > len(inputs[0].shape) and list(shapes) == [front + item.shape for item in inputs]


def evaluate(function: Function, arrays: Sequence[Array]) -> list[Array]:
    """Results of one call for arrays with axes in front, which broadcast; those results have them all.

    >>> import casadi as ca
    >>> from helicoid.compiler import Function
    >>> x, k = ca.SX.sym("x", 2), ca.SX.sym("k")
    >>> f = Function.from_expressions("f", {"x": x, "k": k}, {"y": k * x})
    >>> evaluate(f, [np.ones((3, 1, 2)), np.arange(4.0)])[0].shape
    (3, 4, 2)
    """
    inputs = function.inputs
    if one_axis_in_front(inputs, [x.shape for x in arrays]):
        return _listed(function, function(*arrays))
    lead = axes_in_front(function.name, inputs, [x.shape for x in arrays])
    values = [_rows(item, x, lead) for item, x in zip(inputs, arrays, strict=True)]
    results = _listed(function, function(*values))
    return [
        np.asarray(y).reshape(lead + item.shape) for item, y in zip(function.outputs, results, strict=True)
    ]


def _listed(function: Function, results: Any) -> list[Array]:
    return [results] if len(function.outputs) == 1 else list(results)


def _rows(item: Input, array: Array, lead: Shape) -> Array:
    """An input with one axis in front, or none where it is the same for all samples: it is not repeated."""
    if all(n == 1 for n in array.shape[: array.ndim - len(item.shape)]):
        return array.reshape(item.shape)
    return np.broadcast_to(array, lead + item.shape).reshape(math.prod(lead), *item.shape)
