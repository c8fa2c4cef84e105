"""Arguments that cannot be used are refused, and the message says which and why."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.compiler.function import Function
from helicoid.errors import InputError


@pytest.fixture(scope="module")
def inverse_dynamics() -> Function:
    q, v, a = (ca.SX.sym(name, 6) for name in "qva")
    return Function.from_expressions("inverse_dynamics", {"q": q, "v": v, "a": a}, {"tau": q + v * a})


USAGE = r"inverse_dynamics\(q\[6\], v\[6\], a\[6\]\): "


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing 'q', 'v', 'a'"),
        ((1, 1), {}, "missing 'a'"),
        ((1,), {"a": 1}, "missing 'v'"),
        ((1, 1, 1, 1), {}, "takes 3 inputs; got 4 by position"),
        ((1, 1, 1), {"w": 1}, "has no input 'w'"),
        ((1, 1), {"a": 1, "gravity": 1}, "has no input 'gravity'"),
        ((1, 1), {"v": 1, "a": 1}, "input 'v' is given twice, by position and by name"),
    ],
)
def test_wrong_names_are_refused_with_the_signature(inverse_dynamics, args, kwargs, message):
    z = np.zeros(6)
    with pytest.raises(InputError, match=USAGE + message):
        inverse_dynamics(*(z for _ in args), **dict.fromkeys(kwargs, z))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(6, complex), "must be real numbers; got ndarray of complex128"),
        (np.zeros(6, bool), "must be real numbers; got ndarray of bool"),
        ([True] * 6, "must be real numbers; got list of bool"),
        (np.zeros(6, object), "must be real numbers; got ndarray of object"),
        ("abcdef", "must be real numbers; got str of <U6"),
        (["a"] * 6, "must be real numbers; got list of <U1"),
        (None, "must be real numbers; got NoneType of object"),
        (np.zeros(6, "datetime64[s]"), "must be real numbers; got ndarray of datetime64"),
        ([[1, 2], [3]], "must be an array of real numbers; got list"),
        (
            [ca.SX.sym("x")] * 6,
            "must be real numbers; got list of object .join CasADi scalars with casadi.vertcat",
        ),
        (1.0, r"must have shape \(6,\), or \(N, 6\) for a batch; got \(\)"),
        (np.zeros(5), r"must have shape \(6,\), or \(N, 6\) for a batch; got \(5,\)"),
        (np.zeros((6, 1)), r".* got \(6, 1\)"),
        (np.zeros((2, 2, 6)), r".* got \(2, 2, 6\)"),
        ([], r".* got \(0,\)"),
    ],
)
def test_wrong_values_are_refused_with_the_name_of_the_input(inverse_dynamics, value, message):
    z = np.zeros(6)
    with pytest.raises(InputError, match=USAGE + "input 'v' " + message):
        inverse_dynamics(z, value, z)


def test_a_scalar_input_says_what_shapes_it_takes():
    s = ca.SX.sym("s")
    f = Function.from_expressions("f", {"s": s}, {"y": s})
    with pytest.raises(
        InputError, match=r"input 's' must have shape \(\), or \(N,\) for a batch; got \(2, 1\)"
    ):
        f([[1], [2]])


def test_batches_of_different_lengths_are_named(inverse_dynamics):
    with pytest.raises(InputError, match=USAGE + "all batches must be of one length; 'q' has 2, 'a' has 3"):
        inverse_dynamics(np.zeros((2, 6)), np.zeros(6), np.zeros((3, 6)))


def test_out_that_cannot_be_filled_is_refused():
    x = ca.SX.sym("x", 4)
    f = Function.from_expressions("f", {"x": x}, {"y": 2 * x})
    pair = Function.from_expressions("pair", {"x": x}, {"y": x, "z": 2 * x})
    read_only = np.empty(4)
    read_only.flags.writeable = False
    for out, message in [
        (np.empty(3), r"f\(x\[4\]\): out for 'y' must have shape \(4,\); got \(3,\)"),
        (np.empty((1, 4)), r"must have shape \(4,\); got \(1, 4\)"),
        (np.empty(4, np.float32), "must be a float64 array; got float32"),
        (np.empty(4, ">f8"), "must be a float64 array; got >f8"),
        (np.empty(8)[::2], "must be C-contiguous, aligned and writeable"),
        (read_only, "must be C-contiguous, aligned and writeable"),
        ([1, 2, 3, 4], "out must be an array; got list"),
        ([[1, 2, 3, 4]], "must be a float64 array; got list"),
        ("text", "out must be an array; got str"),
    ]:
        with pytest.raises(InputError, match=message):
            f(np.ones(4), out=out)
    with pytest.raises(InputError, match=r"shape \(2, 4\); got \(4,\)"):
        f(np.ones((2, 4)), out=np.empty(4))
    with pytest.raises(InputError, match="out must be a tuple of 2 arrays; got ndarray"):
        pair(np.ones(4), out=np.empty(4))


def test_out_arrays_that_overlap_each_other_are_refused():
    x = ca.SX.sym("x", 2)
    f = Function.from_expressions("f", {"x": x}, {"y": x, "z": 2 * x})
    memory = np.empty(3)
    with pytest.raises(InputError, match="the arrays of out overlap in memory"):
        f([1, 2], out=(memory[:2], memory[1:]))


class Own(np.ndarray):
    """A subclass, such as numpy.memmap is."""


@pytest.mark.parametrize("compiled", [False, True])
def test_out_may_be_of_a_subclass(compiled: bool) -> None:
    hc.set_compile(compiled)
    x = ca.SX.sym("x", 2)
    double = Function.from_expressions("double", {"x": x}, {"y": 2 * x})
    out = np.zeros(2).view(Own)
    for _ in range(2):  # by Python first, then by compiled code
        assert double(np.array([1.0, 2.0]), out=out) is out and np.array_equal(out, [2.0, 4.0])
    batch = np.zeros((3, 2)).view(Own)
    double(np.ones((3, 2)), out=batch)
    assert np.all(batch == 2.0)


def test_masks_are_not_ignored() -> None:
    x = ca.SX.sym("x", 2)
    double = Function.from_expressions("double", {"x": x}, {"y": 2 * x})
    with pytest.raises(InputError, match=r"'x' has masked values"):
        double(np.ma.masked_array([1.0, 2.0], [False, True]))
    assert np.array_equal(double(np.ma.masked_array([1.0, 2.0])), [2.0, 4.0])  # nothing is masked
    with pytest.raises(InputError, match="without a mask"):
        double([1.0, 2.0], out=np.ma.masked_array([0.0, 0.0], [False, True]))
