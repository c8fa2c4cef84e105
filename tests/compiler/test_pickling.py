"""Functions and their results go to other processes and into copies, before and after their first use."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
import pydoc
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.compiler import Function, Input, Output

X = np.array([3.0, 5.0])


def polynomial() -> Function:
    x, k = ca.SX.sym("x", 2), ca.SX.sym("k")
    tangent = ca.Function("N", [x], [ca.vertcat(x[1], x[0])])
    return Function.from_expressions(
        "polynomial",
        [(Input("x", (2,), tangent=tangent, rate="v"), x), (Input("k", ()), k)],
        [(Output("y", ()), k * x[0] ** 2 * x[1]), (Output("z", (2, 2)), x @ x.T)],
    )


def through_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, through_pickle])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("used", [False, True])
def test_a_function_comes_back_the_same(again: Any, compiled: bool, used: bool) -> None:
    hc.set_compile(compiled)
    for function in (polynomial(), polynomial().jacobian("x"), polynomial().time_derivative()):
        values = (X, 2.0, np.array([0.5])) if len(function.inputs) == 3 else (X, 2.0)
        if used:
            function(*values)
        other = again(function)
        assert other is not function and type(other).__name__ == "Function"
        assert repr(other).split(",")[0] == repr(function).split(",")[0]
        for one, wanted in zip(other(*values), function(*values), strict=True):
            np.testing.assert_array_equal(one, wanted)
        assert [item.rate for item in other.inputs] == [item.rate for item in function.inputs]
        np.testing.assert_array_equal(other.jacobian("x")(*values)[0], function.jacobian("x")(*values)[0])


def test_functions_and_results_travel_to_other_processes() -> None:
    hc.set_compile(True)
    function = polynomial()
    wanted = function(X, 2.0)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(function, X, 2.0).result()
    assert type(found) is type(wanted) and found._fields == ("y", "z")
    np.testing.assert_array_equal(found.z, wanted.z)
    assert found.y == wanted.y


def test_results_of_functions_can_be_copied() -> None:
    result = polynomial()(X, 2.0)
    for again in (copy.deepcopy, through_pickle):
        other = again(result)
        assert type(other) is type(result) and other.y == result.y


def test_a_function_says_how_it_is_called() -> None:
    function = polynomial()
    assert str(inspect.signature(function)) == "(x, k, *, out=None) -> 'y, z'"
    text = pydoc.plain(pydoc.render_doc(function))
    for part in (
        "polynomial(x[2], k) -> y, z[2, 2]",
        "`x` (2), on a manifold with 1 velocities",
        "`z` (2, 2)",
    ):
        assert part in text
    assert "definition" in inspect.signature(Function).parameters  # the class keeps its own
    hc.set_compile(True)
    function(X, 2.0)
    assert str(inspect.signature(function)) == "(x, k, *, out=None) -> 'y, z'"


def test_a_notebook_shows_a_table() -> None:
    page = polynomial()._repr_html_()
    assert "-&gt; y, z[2, 2]" in page and page.count("<tr>") == 5
    assert "<td>input</td><td>x</td><td>(2,)</td>" in page
