"""Derivatives of a function: along its inputs, and in time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import casadi as ca

from helicoid.compiler.expressions import from_row_major, row_major, symbols_for
from helicoid.compiler.signature import Input, Output
from helicoid.errors import HelicoidError


def jacobian_outputs(outputs: Sequence[Output], directions: Sequence[Input]) -> list[Output]:
    """What `jacobian_expressions` computes: dy/dx of shape y.shape + x.rate_shape, by output, then input.

    >>> jacobian_outputs([Output("tau", (6,))], [Input("q", (6,))])
    [Output(name='dtau_dq', shape=(6, 6))]
    """
    return [Output(f"d{y.name}_d{x.name}", y.shape + x.rate_shape) for y in outputs for x in directions]


def jacobian_expressions(
    function: ca.Function, inputs: Sequence[Input], outputs: Sequence[Output], directions: Sequence[Input]
) -> tuple[list[ca.SX], list[ca.SX]]:
    """Fresh symbols for the inputs, and every output differentiated with respect to every direction.

    On a manifold (q_dot = N(q) v) the derivative is along v: dy/dv = dy/dq N(q).
    """
    symbols = symbols_for(inputs)
    results = function.call(symbols)
    derivatives = []
    for y, result in zip(outputs, results, strict=True):
        for x in directions:
            symbol = symbols[inputs.index(x)]
            J = ca.jacobian(row_major(result), row_major(symbol))
            if x.tangent is not None:
                J = J @ x.tangent(symbol)
            derivatives.append(from_row_major(row_major(J), y.shape + x.rate_shape))
    return symbols, derivatives


def with_rates(name: str, inputs: Sequence[Input]) -> list[Input]:
    """The inputs, and after them the rate of each input that varies in time and has none yet.

    >>> [x.name for x in with_rates("f", [Input("q", (2,), rate="v"), Input("m", ())])]
    ['q', 'm', 'v']
    """
    known = {item.name: item for item in inputs}
    for item in inputs:
        if item.rate is None:
            continue
        rate = known.setdefault(item.rate, Input(item.rate, item.rate_shape, rate=f"{item.rate}_dot"))
        if rate.shape != item.rate_shape:
            raise HelicoidError(
                f"{name}: input '{rate.name}' is the rate of '{item.name}' and must have shape "
                f"{item.rate_shape}; it has {rate.shape}"
            )
    return list(known.values())


def time_derivative_expressions(
    function: ca.Function, inputs: Sequence[Input], outputs: Sequence[Output], all_inputs: Sequence[Input]
) -> tuple[list[ca.SX], list[ca.SX]]:
    """Symbols for `all_inputs` (see `with_rates`), and d/dt of every output by forward differentiation.

    y_dot = sum over the inputs x that have a rate r of dy/dx N(x) r.
    """
    symbols = {item.name: symbol for item, symbol in zip(all_inputs, symbols_for(all_inputs), strict=True)}
    results = function.call([symbols[item.name] for item in inputs])
    x, x_dot = [], []
    for item in inputs:
        if item.rate is None:
            continue
        rate = symbols[item.rate]
        x.append(ca.vec(symbols[item.name]))
        x_dot.append(ca.vec(rate if item.tangent is None else item.tangent(symbols[item.name]) @ rate))
    # One sweep for all outputs together, so that what they share is differentiated once.
    y = ca.vertcat(*(row_major(result) for result in results))
    y_dot = ca.jtimes(y, ca.vertcat(*x), ca.vertcat(*x_dot)) if x else ca.SX(y.shape[0], 1)
    ends = [0]
    for output in outputs:
        ends.append(ends[-1] + math.prod(output.shape))
    parts = ca.vertsplit(y_dot, ends)
    derivatives = [from_row_major(part, item.shape) for part, item in zip(parts, outputs, strict=True)]
    return list(symbols.values()), derivatives
