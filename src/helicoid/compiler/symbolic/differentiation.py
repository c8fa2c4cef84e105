"""Derivatives of a function: along its inputs, once and twice, times a vector, and in time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, combinations_with_replacement
from typing import NamedTuple

import casadi as ca

from helicoid.compiler.symbolic.definition import Definition, Expressions
from helicoid.compiler.symbolic.expressions import from_row_major, row_major, symbols_for
from helicoid.compiler.symbolic.signature import Input, Output, Shape, describe, matrix_shape
from helicoid.errors import HelicoidError, InputError


class Derived(NamedTuple):
    """A derived function: inputs, outputs, and a callable that builds its expressions when first needed."""

    inputs: Sequence[Input]
    outputs: Sequence[Output]
    given: Callable[[], Expressions]


def jacobian(of: Definition, along: Sequence[Input]) -> Derived:
    """dy/dx of every output along every input named; see `Function.jacobian`."""
    outputs = jacobian_outputs(of.outputs, along)
    return Derived(of.inputs, outputs, lambda: jacobian_expressions(of.casadi, of.inputs, of.outputs, along))


def jacobian_outputs(outputs: Sequence[Output], directions: Sequence[Input]) -> list[Output]:
    """Outputs of `jacobian_expressions`: dy/dx of shape y.shape + x.rate_shape, by output, then input.

    >>> jacobian_outputs([Output("tau", (6,))], [Input("q", (6,))])
    [Output(name='dtau_dq', shape=(6, 6))]
    """
    return [Output(f"d{y.name}_d{x.name}", y.shape + x.rate_shape) for y in outputs for x in directions]


def jacobian_expressions(
    function: ca.Function, inputs: Sequence[Input], outputs: Sequence[Output], directions: Sequence[Input]
) -> Expressions:
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


def hessian(of: Definition, along: Sequence[Input]) -> Derived:
    """d²y/dx dz of every output along pairs of the inputs named; see `Function.hessian`."""
    outputs = hessian_outputs(of.outputs, along)
    return Derived(of.inputs, outputs, lambda: hessian_expressions(of.casadi, of.inputs, of.outputs, along))


def hessian_outputs(outputs: Sequence[Output], directions: Sequence[Input]) -> list[Output]:
    """Outputs of `hessian_expressions`: by output, then by pairs of directions, each pair once.

    >>> [y.name for y in hessian_outputs([Output("E", ())], [Input("q", (6,)), Input("v", (6,))])]
    ['d2E_dq_dq', 'd2E_dq_dv', 'd2E_dv_dv']
    """
    return [
        Output(f"d2{y.name}_d{one.name}_d{other.name}", y.shape + one.rate_shape + other.rate_shape)
        for y in outputs
        for one, other in combinations_with_replacement(directions, 2)
    ]


def hessian_expressions(
    function: ca.Function, inputs: Sequence[Input], outputs: Sequence[Output], directions: Sequence[Input]
) -> Expressions:
    """Fresh symbols for the inputs, and the second derivatives of every output along pairs of directions.

    Along constant velocities u and w on a manifold it is ½ (∂u ∂w y + ∂w ∂u y), which is the second
    derivative along the motion x_dot = N(x) u where u = w, and symmetric.
    """
    symbols = symbols_for(inputs)
    results = function.call(symbols)
    ends = _ends([item.rate_shape for item in directions])
    second = []
    for y, result in zip(outputs, results, strict=True):
        elements = ca.vertsplit(row_major(result))
        whole = [_hessian(element, inputs, symbols, directions) for element in elements]
        for i, j in combinations_with_replacement(range(len(directions)), 2):
            blocks = [H[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] for H in whole]
            shape = y.shape + directions[i].rate_shape + directions[j].rate_shape
            second.append(from_row_major(ca.vertcat(ca.SX(0, 1), *map(row_major, blocks)), shape))
    return symbols, second


def _hessian(
    y: ca.SX, inputs: Sequence[Input], symbols: Sequence[ca.SX], directions: Sequence[Input]
) -> ca.SX:
    """Hessian of one number, along all directions together."""
    chosen = [symbols[inputs.index(item)] for item in directions]
    x = ca.vertcat(*map(row_major, chosen))
    if all(item.tangent is None for item in directions):
        return ca.hessian(y, x)[0]
    N = ca.diagcat(*(_tangent(item, symbol) for item, symbol in zip(directions, chosen, strict=True)))
    H = ca.jacobian((ca.jacobian(y, x) @ N).T, x) @ N
    return ca.tril2symm(ca.tril((H + H.T) / 2))


def _tangent(item: Input, symbol: ca.SX) -> ca.SX:
    return ca.SX.eye(symbol.numel()) if item.tangent is None else item.tangent(symbol)


def seeds(prefix: str, suffix: str, items: Sequence[Input | Output], taken: Sequence[str]) -> list[Input]:
    """An input for a vector along each item: the item's name between a prefix and a suffix, none taken.

    >>> [x.name for x in seeds("d", "", [Input("v", (2,)), Input("a", ())], ["dv"])]
    ['dv_', 'da']
    """
    result: list[Input] = []
    for item in items:
        name = f"{prefix}{item.name}{suffix}"
        while name in taken or name in [seed.name for seed in result]:
            name += "_"
        result.append(Input(name, item.rate_shape if isinstance(item, Input) else item.shape))
    return result


def jvp(of: Definition, along: Sequence[Input]) -> Derived:
    """dy = Σ dy/dx dx, with a vector dx for each input named; see `Function.jvp`."""
    vectors = seeds("d", "", along, [item.name for item in of.inputs])
    outputs = [Output(f"d{item.name}", item.shape) for item in of.outputs]
    return Derived(
        [*of.inputs, *vectors],
        outputs,
        lambda: jvp_expressions(of.casadi, of.inputs, of.outputs, along, vectors),
    )


def jvp_expressions(
    function: ca.Function,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    directions: Sequence[Input],
    vectors: Sequence[Input],
) -> Expressions:
    """Symbols for inputs and vectors, and Σ dy/dx N(x) dx of every output, by forward differentiation."""
    symbols, along = symbols_for(inputs), symbols_for(vectors)
    chosen = [symbols[inputs.index(item)] for item in directions]
    x_dot = [ca.vec(_moved(*given)) for given in zip(directions, chosen, along, strict=True)]
    x = ca.vertcat(*map(ca.vec, chosen))
    return symbols + along, _pushed(function.call(symbols), outputs, x, ca.vertcat(*x_dot))


def vjp(of: Definition, along: Sequence[Input]) -> Derived:
    """x̄ = Σ (dy/dx)ᵀ ȳ, with a vector ȳ for each output; see `Function.vjp`."""
    if any(len(item.shape) > 2 for item in of.outputs):
        raise InputError(f"{of.usage}: vjp needs outputs of up to two axes: {describe(of.outputs)}")
    vectors = seeds("", "_bar", of.outputs, [item.name for item in of.inputs])
    outputs = [Output(f"{item.name}_bar", item.rate_shape) for item in along]
    return Derived(
        [*of.inputs, *vectors],
        outputs,
        lambda: vjp_expressions(of.casadi, of.inputs, of.outputs, along, vectors),
    )


def vjp_expressions(
    function: ca.Function,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    directions: Sequence[Input],
    vectors: Sequence[Input],
) -> Expressions:
    """Symbols for inputs and vectors, and N(x)ᵀ Σ (dy/dx)ᵀ ȳ of all directions, in reverse."""
    symbols, along = symbols_for(inputs), symbols_for([Input(v.name, matrix_shape(v.shape)) for v in vectors])
    chosen = [symbols[inputs.index(item)] for item in directions]
    y, y_bar = (ca.vertcat(*map(ca.vec, items)) for items in (function.call(symbols), along))
    x_bar = ca.jtimes(y, ca.vertcat(*map(ca.vec, chosen)), y_bar, True)
    parts = ca.vertsplit(x_bar, _ends([item.shape for item in directions]))
    pulled = []
    for item, symbol, part in zip(directions, chosen, parts, strict=True):
        shaped = ca.reshape(part, *symbol.shape)
        pulled.append(shaped if item.tangent is None else item.tangent(symbol).T @ shaped)
    return symbols + along, pulled


def _moved(item: Input, symbol: ca.SX, velocity: ca.SX) -> ca.SX:
    """x_dot of an input that moves with a velocity."""
    return velocity if item.tangent is None else item.tangent(symbol) @ velocity


def _pushed(results: Sequence[ca.SX], outputs: Sequence[Output], x: ca.SX, x_dot: ca.SX) -> list[ca.SX]:
    """d/dt of results along x_dot: one sweep for all, so that common parts are differentiated once."""
    y = ca.vertcat(*(row_major(result) for result in results))
    y_dot = ca.jtimes(y, x, x_dot) if x.numel() else ca.SX(y.shape[0], 1)
    parts = ca.vertsplit(y_dot, _ends([item.shape for item in outputs]))
    return [from_row_major(part, item.shape) for part, item in zip(parts, outputs, strict=True)]


def _ends(shapes: Sequence[Shape]) -> list[int]:
    """Start of each tensor in a column of all of them, and the column's length."""
    return [0, *accumulate(map(math.prod, shapes))]


def time_derivative(of: Definition) -> Derived:
    """dy/dt of every output; see `Function.time_derivative`."""
    inputs = with_rates(of.name, of.inputs)
    return Derived(
        inputs,
        [Output(f"{item.name}_dot", item.shape) for item in of.outputs],
        lambda: time_derivative_expressions(of.casadi, of.inputs, of.outputs, inputs),
    )


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
) -> Expressions:
    """Symbols for `all_inputs` (see `with_rates`), and d/dt of every output by forward differentiation.

    y_dot = sum over the inputs x that have a rate r of dy/dx N(x) r.
    """
    symbols = {item.name: symbol for item, symbol in zip(all_inputs, symbols_for(all_inputs), strict=True)}
    results = function.call([symbols[item.name] for item in inputs])
    moving = [(item, symbols[item.name], symbols[item.rate]) for item in inputs if item.rate is not None]
    x = ca.vertcat(ca.SX(0, 1), *(ca.vec(symbol) for _, symbol, _ in moving))
    x_dot = ca.vertcat(ca.SX(0, 1), *(ca.vec(_moved(*given)) for given in moving))
    return list(symbols.values()), _pushed(results, outputs, x, x_dot)


RULES: dict[str, Callable[[Definition, Sequence[Input]], Derived]] = {
    "jacobian": jacobian,
    "hessian": hessian,
    "jvp": jvp,
    "vjp": vjp,
}
