"""Reordering of operations: the same values, with fewer of them alive."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid.compiler.code.ordering import lives, shortened
from helicoid.compiler.code.program import Program
from helicoid.compiler.symbolic.expressions import flat_function
from random_graphs import deep_graph, graphs


def formulas(program: Program) -> list[str]:
    """Every output element as a formula of the inputs' names, which no order can change."""
    known: list[str] = []
    for value in program.values:
        arguments = [known[argument] for argument in value.arguments]
        text = f"{value.operation}{value.place}{value.constant!r}({','.join(arguments)})"
        known.append(str(hash(text)))
    return [known[number] for output in program.outputs for number in output]


@given(graphs())
def test_it_computes_the_same(function: ca.Function) -> None:
    program = Program.from_casadi(function)
    other = shortened(program)
    assert len(other.values) == len(program.values)
    assert other.input_sizes == program.input_sizes
    assert formulas(other) == formulas(program)
    for number, value in enumerate(other.values):
        assert all(argument < number for argument in value.arguments)


def test_it_computes_the_same_in_deep_graphs() -> None:
    program = Program.from_casadi(deep_graph(np.random.default_rng(3), 2000))
    assert formulas(shortened(program)) == formulas(program)


def test_lives_are_counted_from_a_value_to_its_last_use() -> None:
    x = ca.SX.sym("x")
    a = ca.exp(x)
    b = ca.sqrt(a)
    program = Program.from_casadi(ca.Function("f", [x], [b + a]))
    # exp waits over sqrt and the sum, sqrt over the sum: three of them in three operations.
    assert lives(program) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur5", "panda", "quadruped"])
@pytest.mark.parametrize("derivative", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
def test_derivatives_keep_fewer_values_waiting(name: str, derivative: str) -> None:
    function = getattr(hc.load(name), derivative)
    program = Program.from_casadi(flat_function(function.casadi, function.inputs, function.outputs))
    assert lives(shortened(program)) < 0.95 * lives(program)
