"""From expressions to a CasADi function, and from that to one that reads and writes NumPy's memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import casadi as ca

from helicoid.compiler.symbolic.signature import Input, Output, Shape, matrix_shape
from helicoid.errors import HelicoidError

_NOT_ARITHMETIC = frozenset({ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST})


def count_operations(function: ca.Function) -> int:
    """Number of arithmetic instructions of an SX function: n_instructions less loads and stores.

    CasADi's `n_instructions` also counts one instruction for each input element that is read, each
    constant that is loaded and each output element that is written; those are left out here.

    >>> x = ca.SX.sym("x", 2)
    >>> f = ca.Function("f", [x], [ca.sin(x[0]) + 2.5 * x[1]])
    >>> count_operations(f), f.n_instructions()
    (3, 7)
    """
    return sum(function.instruction_id(k) not in _NOT_ARITHMETIC for k in range(function.n_instructions()))


def row_major(expression: ca.SX) -> ca.SX:
    """The elements of a matrix as a column, row after row (CasADi's own `vec` goes by columns)."""
    return ca.vec(expression.T)


def from_row_major(column: ca.SX, shape: Shape) -> ca.SX:
    """The matrix form of a tensor (see `Output`) from its elements in row-major order."""
    rows, columns = matrix_shape(shape)
    return ca.reshape(column, columns, rows).T


def symbols_for(inputs: Sequence[Input]) -> list[ca.SX]:
    """A fresh SX symbol in matrix form for each input."""
    return [ca.SX.sym(item.name, *matrix_shape(item.shape)) for item in inputs]


def build_function(
    name: str,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    symbols: Sequence[ca.SX],
    expressions: Sequence[ca.SX],
) -> ca.Function:
    """The CasADi function of these expressions, common subexpressions computed once.

    Raises:
        HelicoidError: an expression contains a symbol that is no input, an input is not a symbol, or
            the counts or sizes do not match.
    """
    if len(symbols) != len(inputs) or len(expressions) != len(outputs):
        raise HelicoidError(
            f"{name}: {len(inputs)} inputs and {len(outputs)} outputs are declared, "
            f"{len(symbols)} symbols and {len(expressions)} expressions are given"
        )
    for item, symbol in zip(inputs, symbols, strict=True):
        if not isinstance(symbol, ca.SX) or not symbol.is_valid_input():
            raise HelicoidError(f"{name}: input '{item.name}' must be an SX symbol; got {symbol!r}")
    results = [_as_sx(name, item, e) for item, e in zip(outputs, expressions, strict=True)]
    _refuse_free_symbols(name, symbols, results)
    in_names = [item.name for item in inputs]
    # CasADi wants all names of a function distinct; ours may share one (q -> q, a normalisation).
    out_names = [f"{item.name}_out" if item.name in in_names else item.name for item in outputs]
    try:
        return ca.Function(ca.Function.fix_name(name), symbols, ca.cse(results), in_names, out_names)
    except RuntimeError as error:
        raise HelicoidError(f"{name}: CasADi cannot build this function: {error}") from error


def check_function(
    name: str, inputs: Sequence[Input], outputs: Sequence[Output], function: ca.Function
) -> None:
    """Raise unless `function` is an SX function with these inputs and outputs."""
    if not isinstance(function, ca.Function) or not function.is_a("SXFunction"):
        raise HelicoidError(
            f"{name}: needs a casadi.Function made of SX (an MX one can be expanded with .expand()); "
            f"got {function!r}"
        )
    if (function.n_in(), function.n_out()) != (len(inputs), len(outputs)):
        raise HelicoidError(
            f"{name}: {len(inputs)} inputs and {len(outputs)} outputs are declared, {function} differs"
        )
    sizes: list[tuple[str, Input | Output, tuple[int, int]]]
    sizes = [("input", item, function.size_in(k)) for k, item in enumerate(inputs)]
    sizes += [("output", item, function.size_out(k)) for k, item in enumerate(outputs)]
    for kind, item, size in sizes:
        rows, columns = matrix_shape(item.shape)
        if size != (rows, columns):
            raise HelicoidError(
                f"{name}: {kind} '{item.name}' of shape {item.shape} must be {rows}x{columns} in CasADi; "
                f"got {size[0]}x{size[1]}"
            )


def flat_function(function: ca.Function, inputs: Sequence[Input], outputs: Sequence[Output]) -> ca.Function:
    """The same function on dense columns that hold each tensor in NumPy's (row-major) order.

    CasADi's memory is column-major and leaves structural zeros out. The permutation is done in the
    graph, where it costs nothing, and not on every call.
    """
    shapes = [item.shape for item in inputs] + [item.shape for item in outputs]
    columns_only = all(len(shape) < 2 for shape in shapes)
    if columns_only and all(function.sparsity_out(k).is_dense() for k in range(function.n_out())):
        return function
    flat = [ca.SX.sym(item.name, math.prod(item.shape)) for item in inputs]
    results = function.call([from_row_major(x, item.shape) for x, item in zip(flat, inputs, strict=True)])
    return ca.Function(function.name(), flat, [ca.densify(row_major(result)) for result in results])


def _as_sx(name: str, output: Output, expression: ca.SX) -> ca.SX:
    try:
        return ca.SX(expression)
    except NotImplementedError as error:  # CasADi's word for "no such conversion"
        raise HelicoidError(
            f"{name}: output '{output.name}' must be an SX expression; got {expression!r}"
        ) from error


def _refuse_free_symbols(name: str, symbols: Sequence[ca.SX], expressions: Sequence[ca.SX]) -> None:
    known = {s.element_hash() for symbol in symbols for s in ca.symvar(symbol)}
    used = ca.symvar(ca.vertcat(*(ca.vec(expression) for expression in expressions)))
    free = [s.name() for s in used if s.element_hash() not in known]
    if free:
        raise HelicoidError(
            f"{name}: the outputs depend on {', '.join(free)}, which no input contains; "
            "make every symbol an input or give it a value"
        )
