"""Calling a function: with vectors, batches and symbols, against NumPy formulas and plain CasADi calls."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helicoid.compiler.function import Function, Input, Output
from helicoid.errors import InputError


def make_affine(rows: int = 2, columns: int = 3) -> Function:
    """y = A x + s b, and the outer product of b and x; A is not symmetric, so the order of memory shows."""
    A, x = ca.SX.sym("A", rows, columns), ca.SX.sym("x", columns)
    s, b = ca.SX.sym("s"), ca.SX.sym("b", rows)
    return Function.from_expressions(
        "affine",
        [
            (Input("A", (rows, columns)), A),
            (Input("x", (columns,)), x),
            (Input("s", ()), s),
            (Input("b", (rows,)), b),
        ],
        [
            (Output("y", (rows,)), A @ x + s * b),
            (Output("outer", (rows, columns)), b @ x.T),
            (Output("size", ()), ca.sumsqr(x) + s),
        ],
    )


def affine_in_numpy(A, x, s, b):
    return A @ x + s * b, np.outer(b, x), x @ x + s


@pytest.fixture(scope="module")
def affine() -> Function:
    return make_affine()


@pytest.fixture
def sample():
    rng = np.random.default_rng(7)
    return rng.normal(size=(2, 3)), rng.normal(size=3), 0.7, rng.normal(size=2)


def test_vectors_give_arrays_of_the_declared_shapes(affine, sample):
    result = affine(*sample)
    for value, expected in zip(result, affine_in_numpy(*sample), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-14)
    assert result._fields == ("y", "outer", "size")
    assert result.y.shape == (2,) and result.outer.shape == (2, 3)
    assert type(result.size) is float


def test_results_of_two_calls_do_not_share_memory():
    x = ca.SX.sym("x", 3)
    double = Function.from_expressions("double", {"x": x}, {"y": 2 * x})
    first = double(np.ones(3))
    second = double(np.zeros(3))
    np.testing.assert_array_equal(first, [2, 2, 2])
    np.testing.assert_array_equal(second, [0, 0, 0])


def test_names_and_positions_may_be_mixed(affine, sample):
    A, x, s, b = sample
    expected = affine(A, x, s, b)
    for result in (affine(A, x, b=b, s=s), affine(b=b, s=s, x=x, A=A)):
        for value, reference in zip(result, expected, strict=True):
            np.testing.assert_array_equal(value, reference)


@pytest.mark.parametrize(
    "convert",
    [
        lambda a: np.asarray(a).tolist(),
        lambda a: np.array(a, order="F"),
        lambda a: np.repeat(np.asarray(a), 2, axis=-1)[..., ::2] if np.ndim(a) else np.float64(a),
        lambda a: np.asarray(a).astype(">f8"),
        lambda a: np.asarray(a).astype(np.longdouble),
        lambda a: _read_only(a),
        lambda a: _unaligned(a),
    ],
    ids=["lists", "fortran", "strided", "big endian", "long double", "read-only", "unaligned"],
)
def test_any_real_array_is_converted(affine, sample, convert):
    result = affine(*(convert(value) for value in sample))
    for value, expected in zip(result, affine(*sample), strict=True):
        np.testing.assert_array_equal(value, expected)


def _read_only(a):
    array = np.array(a)
    array.flags.writeable = False
    return array


def _unaligned(a):
    array = np.asarray(a, dtype=float)
    view = np.frombuffer(b"x" + array.tobytes(), dtype=np.uint8)[1:].view(float).reshape(array.shape)
    assert not view.flags.aligned
    return view


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint32])
def test_other_real_types_are_converted(dtype):
    x = ca.SX.sym("x", 3)
    third = Function.from_expressions("third", {"x": x}, {"y": x / 3})
    np.testing.assert_array_equal(third(np.array([1, 2, 4], dtype)), np.array([1.0, 2.0, 4.0]) / 3)


def test_nan_passes_through():
    x = ca.SX.sym("x", 2)
    double = Function.from_expressions("double", {"x": x}, {"y": 2 * x})
    np.testing.assert_array_equal(double([np.nan, np.inf]), [np.nan, np.inf])


def test_structural_zeros_are_written_over_what_out_holds():
    x = ca.SX.sym("x", 2)
    f = Function("f", [Input("x", (2,))], [Output("D", (2, 2))], ca.Function("f", [x], [ca.diag(x)]))
    out = np.full((2, 2), 99.0)
    np.testing.assert_array_equal(f([3, 4], out=out), [[3, 0], [0, 4]])
    assert f.casadi.nnz_out(0) == 2


def test_tensor_rule():
    """Element [i, j, k] of a tensor is at row i*b + j, column k of its CasADi matrix."""
    tensor = np.arange(24.0).reshape(2, 3, 4)
    x = ca.SX.sym("x")
    f = Function.from_expressions(
        "f", [(Input("x", ()), x)], [(Output("T", (2, 3, 4)), x * ca.DM(tensor.reshape(6, 4)))]
    )
    np.testing.assert_array_equal(f(2.0), 2 * tensor)
    np.testing.assert_array_equal(f([1.0, 3.0]), [tensor, 3 * tensor])


def test_functions_without_inputs_or_with_empty_ones():
    constant = Function.from_expressions("constant", {}, {"y": ca.SX([1, 2])})
    np.testing.assert_array_equal(constant(), [1, 2])
    e, s = ca.SX.sym("e", 0), ca.SX.sym("s")
    f = Function.from_expressions(
        "f", [(Input("e", (0,)), e), (Input("s", ()), s)], [(Output("n", (0,)), e), (Output("y", ()), s)]
    )
    n, y = f([], 2.0)
    assert n.shape == (0,) and y == 2.0
    n, y = f(np.zeros((3, 0)), [1.0, 2.0, 3.0])
    assert n.shape == (3, 0)
    np.testing.assert_array_equal(y, [1, 2, 3])
    assert f(ca.SX(0, 1), s).n.shape == (0, 1) and f([], s).n.shape == (0, 1)


# ---- out= -----------------------------------------------------------------------------------------


def test_out_is_filled_and_returned(affine, sample):
    out = (np.empty(2), np.empty((2, 3)), np.empty(()))
    assert affine(*sample, out=out) is out
    for value, expected in zip(out, affine(*sample), strict=True):
        np.testing.assert_array_equal(value, expected)
    x = ca.SX.sym("x", 2)
    double = Function.from_expressions("double", {"x": x}, {"y": 2 * x})
    target = np.empty((3, 2))
    assert double([[1, 2], [3, 4], [5, 6]], out=target) is target
    np.testing.assert_array_equal(target, [[2, 4], [6, 8], [10, 12]])


@pytest.mark.parametrize("n", [1, 5, 20, 300])
def test_out_may_overlap_an_input(n):
    x = ca.SX.sym("x", 3)
    reverse = Function.from_expressions("reverse", {"x": x}, {"y": x[::-1]})
    vector = np.array([1.0, 2.0, 3.0])
    assert reverse(vector, out=vector) is vector
    np.testing.assert_array_equal(vector, [3, 2, 1])
    # Shifted by one sample: written in place from the front, each sample would read its neighbour's result.
    memory = np.random.default_rng(n).normal(size=(n + 1, 3))
    expected = memory[:-1, ::-1].copy()
    np.testing.assert_array_equal(reverse(memory[:-1], out=memory[1:]), expected)


# ---- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 255, 256, 257, 530])
def test_batch_is_a_loop_over_its_samples(affine, n):
    rng = np.random.default_rng(n)
    A, x, s, b = rng.normal(size=(n, 2, 3)), rng.normal(size=(n, 3)), rng.normal(size=n), rng.normal(size=2)
    result = affine(A, x, s, b)
    assert [value.shape for value in result] == [(n, 2), (n, 2, 3), (n,)]
    for k in range(n):
        for value, expected in zip(result, affine(A[k], x[k], s[k], b), strict=True):
            np.testing.assert_array_equal(value[k], expected)


@st.composite
def batch_calls(draw):
    """A function of given sizes, and arguments of which some are batches, of several types and layouts."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    n = draw(st.integers(0, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values, batched = [], []
    for shape in ((rows, columns), (columns,), (), (rows,)):
        batched.append(draw(st.booleans()))
        full = (n, *shape) if batched[-1] else shape
        dtype = draw(st.sampled_from([np.float64, np.float32, np.int64]))
        value = np.asarray(rng.normal(scale=5, size=full)).astype(dtype)
        layout = draw(st.sampled_from(["c", "fortran", "strided", "list"]))
        if layout == "fortran":
            value = np.array(value, order="F")
        elif layout == "strided" and value.ndim:
            value = np.repeat(value, 2, axis=0)[::2]
        elif layout == "list" and value.size:
            value = value.tolist()
        values.append(value)
    return rows, columns, n, values, batched


@functools.lru_cache
def affine_of_size(rows: int, columns: int) -> Function:
    return make_affine(rows, columns)


@settings(deadline=None, max_examples=4 * settings.default.max_examples)
@given(batch_calls())
def test_batches_of_any_mix_equal_the_loop_and_the_formula(call):
    rows, columns, n, values, batched = call
    f = affine_of_size(rows, columns)
    result = f(*values)
    if not any(batched):
        arrays = [np.asarray(value, dtype=float) for value in values]
        for value, expected in zip(result, affine_in_numpy(*arrays), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)
        return
    assert [value.shape for value in result] == [(n, rows), (n, rows, columns), (n,)]
    for k in range(n):
        at_k = [value[k] if b else value for value, b in zip(values, batched, strict=True)]
        arrays = [np.asarray(value, dtype=float) for value in at_k]
        for value, single, expected in zip(result, f(*at_k), affine_in_numpy(*arrays), strict=True):
            np.testing.assert_array_equal(value[k], single)
            np.testing.assert_allclose(value[k], expected, rtol=1e-12, atol=1e-12)


# ---- symbols --------------------------------------------------------------------------------------


def test_symbols_give_expressions_that_agree_with_the_numbers(affine, sample):
    A, x, s, b = sample
    for kind in (ca.SX, ca.MX):
        x_symbol = kind.sym("x", 3)
        result = affine(A, x_symbol, s=s, b=list(b))
        assert all(isinstance(value, kind) for value in result)
        assert [value.shape for value in result] == [(2, 1), (2, 3), (1, 1)]
        numbers = ca.Function("check", [x_symbol], list(result))(x)
        for value, expected in zip(numbers, affine(*sample), strict=True):
            np.testing.assert_allclose(np.array(value).reshape(np.shape(expected)), expected, rtol=1e-14)


def test_dm_gives_dm_and_agrees_with_the_plain_casadi_call(affine, sample):
    A, x, s, b = sample
    result = affine(A, ca.DM(x), s, b)
    for value, expected in zip(result, affine.casadi(A, x, s, b), strict=True):
        assert isinstance(value, ca.DM)
        np.testing.assert_array_equal(value, expected)


def test_mx_holds_a_call_and_sx_is_expanded(affine, sample):
    A, _, s, b = sample
    x_mx, x_sx = ca.MX.sym("x", 3), ca.SX.sym("x", 3)
    assert "affine(" in str(affine(A, x_mx, s, b).y)
    assert "affine(" not in str(affine(A, x_sx, s, b).y)


def test_wrong_symbolic_calls_are_refused(affine, sample):
    A, _, s, b = sample
    with pytest.raises(InputError, match=r"SX and MX cannot be mixed in one call; got .*'x' SX.*'b' MX"):
        affine(A, ca.SX.sym("x", 3), s, ca.MX.sym("b", 2))
    with pytest.raises(InputError, match="input 'x' must be 3x1 in CasADi; got 1x3"):
        affine(A, ca.SX.sym("x", 1, 3), s, b)
    with pytest.raises(InputError, match="input 'x' must be 3x1 in CasADi; got 1x1"):
        affine(A, ca.DM(1.0), s, b)
    with pytest.raises(InputError, match=r"input 'x' is a batch of shape \(4, 3\); a call with CasADi"):
        affine(A, np.ones((4, 3)), ca.SX.sym("s"), b)
    with pytest.raises(InputError, match="out takes numbers, this call has CasADi arguments"):
        affine(A, ca.SX.sym("x", 3), s, b, out=np.empty(2))


# ---- construction ---------------------------------------------------------------------------------


def test_description(affine):
    q, v = ca.SX.sym("q", 6), ca.SX.sym("v", 6)
    momentum = Function.from_expressions("momentum", {"q": q, "v": v}, {"p": q * v + 1})
    assert repr(momentum) == "Function momentum(q[6], v[6]) -> p[6], 12 operations"
    assert repr(affine).startswith("Function affine(A[2, 3], x[3], s, b[2]) -> y[2], outer[2, 3], size, ")


def test_definition_is_built_once_and_only_when_needed():
    calls = []

    def build():
        calls.append(1)
        x = ca.SX.sym("x", 2)
        return [x], [ca.sin(x)]

    f = Function("f", [Input("x", (2,))], [Output("y", (2,))], build)
    assert repr(f) == "Function f(x[2]) -> y[2]"
    assert f.jacobian("x").outputs == (Output("dy_dx", (2, 2)),)
    assert f.time_derivative().inputs == f.inputs
    assert not calls
    np.testing.assert_allclose(f([1, 2]), np.sin([1, 2]), rtol=1e-15)
    assert f.n_operations == 2 and f.casadi.name() == "f"
    assert calls == [1]


def test_a_builder_may_return_a_casadi_function():
    x = ca.SX.sym("x")
    f = Function("f", [Input("x", ())], [Output("y", ())], lambda: ca.Function("g", [x], [x**2]))
    assert f(3) == 9.0


def test_input_and_output_may_share_a_name():
    q = ca.SX.sym("q", 2)
    unit = Function.from_expressions("unit", {"q": q}, {"q": q / ca.norm_2(q)})
    np.testing.assert_allclose(unit(q=[3, 4]), [0.6, 0.8], rtol=1e-15)


# ---- options of a subclass ------------------------------------------------------------------------


class Scaled(Function):
    """A function with the option `scale` (another function) and `offset` (a further input of another)."""

    def _variant(self, **options):
        x = ca.SX.sym("x", 2)
        if "scale" in options:
            return Function.from_expressions("scaled", {"x": x}, {"y": options["scale"] * x})
        if "offset" in options:
            offset = ca.SX.sym("offset", 2)
            shifted = Function.from_expressions("shifted", {"x": x, "offset": offset}, {"y": x + offset})
            return functools.partial(shifted, offset=options["offset"])
        return super()._variant(**options)


def test_a_subclass_adds_options():
    x = ca.SX.sym("x", 2)
    f = Scaled.from_expressions("f", {"x": x}, {"y": x})
    assert type(f) is Scaled
    np.testing.assert_array_equal(f([1, 2]), [1, 2])
    np.testing.assert_array_equal(f([1, 2], scale=3), [3, 6])
    np.testing.assert_array_equal(f(x=[1, 2], scale=3, out=np.empty(2)), [3, 6])
    np.testing.assert_array_equal(f([[1, 2], [3, 4]], offset=[10, 20]), [[11, 22], [13, 24]])
    with pytest.raises(InputError, match=r"f\(x\[2\]\): has no input 'speed'"):
        f([1, 2], speed=3)
