"""Counting, layout, common subexpressions, and definitions that are refused."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helicoid.compiler.function import Function
from helicoid.compiler.symbolic.expressions import build_function, count_operations, from_row_major, row_major
from helicoid.compiler.symbolic.signature import Input, Output, matrix_shape
from helicoid.errors import HelicoidError

UNARY = [ca.sin, ca.cos, lambda a: -a, lambda a: a**2]
BINARY = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (1 + b**2)]


@st.composite
def random_expressions(draw):
    """Three symbols and some expressions of them, in which the same subexpressions recur as copies."""
    x = ca.SX.sym("x", 3)
    terms = [x[0], x[1], x[2], ca.SX(2.5)]
    pick = st.integers(0, 10**6)
    for _ in range(draw(st.integers(5, 40))):
        a, b = terms[draw(pick) % len(terms)], terms[draw(pick) % len(terms)]
        kind = draw(pick)
        terms.append(UNARY[kind % 4](a) if kind % 2 else BINARY[kind // 2 % 4](a, b))
    return x, ca.vertcat(*terms[-4:])


@settings(deadline=None, max_examples=4 * settings.default.max_examples)
@given(random_expressions())
def test_common_subexpressions_never_add_operations_or_change_values(case):
    x, y = case
    plain = ca.Function("f", [x], [y])
    built = build_function("f", [Input("x", (3,))], [Output("y", (4,))], [x], [y])
    assert count_operations(built) <= count_operations(plain)
    point = [0.3, -0.7, 1.1]
    np.testing.assert_allclose(built(point), plain(point), rtol=1e-12)


def test_common_subexpressions_are_found_across_outputs():
    x = ca.SX.sym("x")
    first, second = ca.sin(x) * 2, ca.sin(x) * 2
    outputs = [Output("a", ()), Output("b", ())]
    built = build_function("f", [Input("x", ())], outputs, [x], [first, second + 1])
    assert count_operations(ca.Function("f", [x], [first, second + 1])) == 5
    assert count_operations(built) == 3


def test_count_leaves_out_loads_and_stores():
    x = ca.SX.sym("x", 5)
    copy = ca.Function("f", [x], [x, ca.DM.ones(3)])
    assert copy.n_instructions() > 0 and count_operations(copy) == 0
    assert count_operations(ca.Function("f", [x], [x * 2.5])) == 5


@given(st.lists(st.integers(1, 4), max_size=4).map(tuple))
def test_row_major_is_numpy_order(shape):
    """A tensor, its CasADi matrix and its column hold the same sequence."""
    tensor = np.arange(float(np.prod(shape, dtype=int))).reshape(shape)
    matrix = tensor.reshape(matrix_shape(shape))
    column = row_major(ca.DM(matrix))
    np.testing.assert_array_equal(np.array(column)[:, 0], tensor.ravel())
    np.testing.assert_array_equal(np.array(from_row_major(column, shape)), matrix)


def test_a_free_symbol_is_named():
    x, mass = ca.SX.sym("x"), ca.SX.sym("mass")
    with pytest.raises(HelicoidError, match="weight: the outputs depend on mass, which no input contains"):
        Function.from_expressions("weight", {"x": x}, {"y": mass * x})
    lazy = Function("weight", [Input("x", ())], [Output("y", ())], lambda: ([x], [mass * x]))
    with pytest.raises(HelicoidError, match="depend on mass"):
        lazy(1.0)


def test_wrong_definitions_are_refused():
    x, m = ca.SX.sym("x", 2), ca.MX.sym("m", 2)
    i, o = [Input("x", (2,))], [Output("y", (2,))]
    for name, inputs, outputs, definition, message in [
        ("f", i, o, ca.Function("f", [m], [m]), r"needs a casadi.Function made of SX"),
        ("f", i, o, ca.Function("f", [x], [x, x]), "1 inputs and 1 outputs are declared"),
        (
            "f",
            i,
            o,
            ca.Function("f", [x], [x.T]),
            r"output 'y' of shape \(2,\) must be 2x1 in CasADi; got 1x2",
        ),
        ("f", [Input("x", (3,))], o, ca.Function("f", [x], [x]), r"input 'x' of shape \(3,\) must be 3x1"),
        ("f", i * 2, o, ca.Function("f", [x], [x]), "two inputs are called 'x'"),
        ("f", i, o * 2, ca.Function("f", [x], [x]), "two outputs are called 'y'"),
        ("f g", i, o, ca.Function("f", [x], [x]), "needs an identifier as its name"),
        ("f", i, [], ca.Function("f", [x], []), "and an output"),
    ]:
        with pytest.raises(HelicoidError, match=message):
            Function(name, inputs, outputs, definition)
    for symbols, expressions, message in [
        ([x, x], [x], "1 inputs and 1 outputs are declared, 2 symbols and 1 expressions are given"),
        ([2 * x], [x], "input 'x' must be an SX symbol"),
        ([m], [x], "input 'x' must be an SX symbol"),
        ([x], [m], "output 'y' must be an SX expression"),
        ([x], [x[0]], r"output 'y' of shape \(2,\) must be 2x1 in CasADi; got 1x1"),
        ([ca.vertcat(x[0], x[0])], [x[0] * ca.SX.ones(2)], "CasADi cannot build this function"),
    ]:
        with pytest.raises(HelicoidError, match=message):
            _ = Function("f", i, o, lambda s=symbols, e=expressions: (s, e)).casadi
