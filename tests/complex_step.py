"""Complex-step derivatives to machine precision: f(x + iε d) = f(x) + iε f'(x) d."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from helicoid.compiler.function import Function

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
STEP = 1e-30

OPERATIONS: dict[int, Callable[..., np.complex128]] = {
    ca.OP_ASSIGN: np.positive,
    ca.OP_ADD: np.add,
    ca.OP_SUB: np.subtract,
    ca.OP_MUL: np.multiply,
    ca.OP_DIV: np.divide,
    ca.OP_NEG: np.negative,
    ca.OP_SIN: np.sin,
    ca.OP_COS: np.cos,
    ca.OP_SQ: np.square,
    ca.OP_TWICE: lambda x: 2 * x,
    ca.OP_INV: np.reciprocal,
}


def evaluated(function: Function, *values: ComplexArray) -> list[ComplexArray]:
    """A function of complex numbers: its instructions, one after the other."""
    f = function.casadi
    work = np.zeros(f.sz_w(), dtype=complex)
    results = [np.zeros(f.numel_out(k), dtype=complex) for k in range(f.n_out())]
    places = [f.sparsity_out(k).find() for k in range(f.n_out())]  # of the nonzeros, by columns
    for k in range(f.n_instructions()):
        operation, sources, targets = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
        if operation == ca.OP_CONST:
            work[targets[0]] = f.instruction_constant(k)
        elif operation == ca.OP_INPUT:
            work[targets[0]] = values[sources[0]][sources[1]]
        elif operation == ca.OP_OUTPUT:
            results[targets[0]][places[targets[0]][targets[1]]] = work[sources[0]]
        else:
            work[targets[0]] = OPERATIONS[operation](*(work[s] for s in sources))
    shaped = zip(results, (f.size_out(k) for k in range(f.n_out())), function.outputs, strict=True)
    return [x.reshape(size, order="F").reshape(output.shape) for x, size, output in shaped]


def step(function: Function, *arguments: tuple[Array, Array]) -> list[Array]:
    """The derivative of every output, for a value and a direction of each input."""
    return [y.imag / STEP for y in evaluated(function, *(x + 1j * STEP * d for x, d in arguments))]
