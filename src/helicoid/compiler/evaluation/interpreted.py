"""Calls of functions without compilation, for what is computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helicoid.compiler.function import Function


def interpreted(function: Function, *values: Any) -> Any:
    """The outputs for numbers or batches, by CasADi's virtual machine: nothing is compiled.

    For what is computed once, where a compiler would take longer than it saves. It differs from compiled
    code by rounding.

    >>> import casadi as ca
    >>> import helicoid as hc
    >>> x = ca.SX.sym("x", 3)
    >>> interpreted(hc.Function.from_expressions("norm2", {"x": x}, {"y": ca.dot(x, x)}), [1, 2, 2])
    9.0
    """
    return function._numeric.interpreted(values)
