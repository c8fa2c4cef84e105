"""A program means what the CasADi function means, and holds every value once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from scipy import special

from helicoid._typing import Array
from helicoid.compiler.code.program import CONSTANT, INPUT, OPERATIONS, Program, UnsupportedOperation, Value
from random_graphs import (
    by_virtual_machine,
    every_operation,
    every_operation_at_special_points,
    graphs,
    points,
    relative_error,
    special_points,
)


def remainder(x: float, y: float) -> float:
    try:
        return math.remainder(x, y)
    except ValueError:
        return math.nan


MEANING: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "pow": np.power,
    "lt": lambda x, y: 1.0 * (x < y),
    "le": lambda x, y: 1.0 * (x <= y),
    "eq": lambda x, y: 1.0 * (x == y),
    "ne": lambda x, y: 1.0 * (x != y),
    "not": lambda x: 1.0 * (x == 0),
    "and": lambda x, y: 1.0 * ((x != 0) & (y != 0)),
    "or": lambda x, y: 1.0 * ((x != 0) | (y != 0)),
    "if_else_zero": lambda x, y: np.where(x != 0, y, 0.0),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "erf": special.erf,
    "erfinv": special.erfinv,
    "remainder": np.vectorize(remainder, otypes=[float]),
    **{
        name: getattr(np, name)
        for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")
    },
    **{name: getattr(np, name) for name in ("floor", "ceil", "fabs", "sign", "copysign", "log1p", "expm1")},
    **{name: getattr(np, name) for name in ("fmin", "fmax", "fmod", "hypot")},
}


def interpret(program: Program, rows: list[Array]) -> list[Array]:
    """The outputs for rows of inputs, each value computed from those before it."""
    values: list[Any] = []
    with np.errstate(all="ignore"):
        for value in program.values:
            if value.operation == INPUT:
                values.append(rows[value.place[0]][:, value.place[1]])
            elif value.operation == CONSTANT:
                values.append(np.full(len(rows[0]), value.constant))
            else:
                values.append(MEANING[value.operation](*(values[k] for k in value.arguments)))
    return [np.stack([values[k] for k in output], axis=1) for output in program.outputs]


@given(graphs())
def test_means_what_the_casadi_function_means(function: ca.Function) -> None:
    program = Program.from_casadi(function)
    rows = points(np.random.default_rng(1), 16, [3, 1])
    for found, wanted in zip(interpret(program, rows), by_virtual_machine(function, rows), strict=True):
        assert relative_error(found, wanted, scale=1.0) < 1e-12


def test_every_operation_means_the_same_even_of_nan_and_infinities() -> None:
    function = every_operation()
    occurring = {function.instruction_id(k) for k in range(function.n_instructions())}
    assert occurring >= set(OPERATIONS)  # or this test has not seen them all
    (found,) = interpret(Program.from_casadi(function), special_points())
    assert relative_error(found, every_operation_at_special_points()) < 1e-12


@given(graphs())
def test_every_value_comes_once_after_its_arguments_and_is_needed(function: ca.Function) -> None:
    program = Program.from_casadi(function)
    needed = {number for output in program.outputs for number in output}
    for number, value in enumerate(program.values):
        assert all(argument < number for argument in value.arguments)
        needed.update(value.arguments)
    assert needed == set(range(len(program.values)))
    keys = [(v.operation, v.arguments, v.constant.hex(), v.place) for v in program.values]
    assert len(set(keys)) == len(keys)


def test_equal_values_are_computed_once() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    results = [ca.sin(x) * y, y * ca.sin(x), x + x, 2 * x]
    program = Program.from_casadi(ca.Function("f", [x, y], [ca.vertcat(*results)]))
    first, second, *_ = program.outputs[0]
    assert first == second
    assert [v.operation for v in program.values].count("sin") == 1


def test_structural_zeros_of_inputs_and_outputs_are_left_out() -> None:
    x = ca.SX.sym("x", ca.Sparsity.diag(2))
    program = Program.from_casadi(ca.Function("f", [x], [3 * x]))
    assert (program.input_sizes, program.output_sizes) == ((2,), (2,))


def test_digest_differs_with_anything() -> None:
    one = Program((1,), (Value(INPUT), Value("sin", (0,))), ((1,),))
    others = [
        Program((2,), one.values, one.outputs),
        Program((1,), (Value(INPUT, place=(0, 1)), one.values[1]), one.outputs),
        Program((1,), (Value(CONSTANT, constant=1.0), one.values[1]), one.outputs),
        Program((1,), (Value(CONSTANT, constant=1.0 + 2**-52), one.values[1]), one.outputs),
        Program((1,), (one.values[0], Value("cos", (0,))), one.outputs),
        Program((1,), one.values, ((0,),)),
        Program((1,), one.values, ((1, 1),)),
    ]
    digests = {program.digest for program in (one, *others)}
    assert len(digests) == 1 + len(others)
    assert one.digest == Program((1,), (Value(INPUT), Value("sin", (0,))), ((1,),)).digest


def test_instruction_that_c_cannot_do_is_refused() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    called = ca.Function("called", [x], [x**2], {"never_inline": True})
    cases = (x.printme(y), "operation OP_PRINTME"), (called(x), "calls another function as a whole.*with SX")
    for result, told in cases:
        with pytest.raises(UnsupportedOperation, match=f"talkative: .*{told}.*set_compile"):
            Program.from_casadi(ca.Function("talkative", [x, y], [result + 1]))
