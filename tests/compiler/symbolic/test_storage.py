"""Saving and loading, and files that are not what they should be."""

from __future__ import annotations

import gzip
import json

import casadi as ca
import numpy as np
import pytest

from helicoid.compiler.function import Function, Input, Output
from helicoid.compiler.symbolic import storage
from helicoid.errors import HelicoidError


@pytest.fixture
def function() -> Function:
    q, m = ca.SX.sym("q", 2), ca.SX.sym("m")
    circle = ca.Function("N", [q], [ca.vertcat(-q[1], q[0])])
    return Function.from_expressions(
        "f",
        [(Input("q", (2,), tangent=circle, rate="w"), q), (Input("m", ()), m)],
        [(Output("y", (1, 2)), m * q.T), (Output("z", ()), q[0] ** 2)],
    )


@pytest.fixture
def path(tmp_path, function):
    function.save(tmp_path / "f.helicoid")
    return tmp_path / "f.helicoid"


def rewrite(path, **changes):
    """Change entries of the file and keep it well formed otherwise."""
    content = json.loads(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(json.dumps(content | changes).encode()))


def test_what_is_loaded_equals_what_was_saved(function, path):
    loaded = Function.load(str(path))
    assert repr(loaded) == repr(function)
    assert [(x.name, x.shape, x.rate) for x in loaded.inputs] == [("q", (2,), "w"), ("m", (), None)]
    assert loaded.outputs == function.outputs
    q = [0.6, 0.8]
    for mine, original in [
        (loaded, function),
        (loaded.jacobian(), function.jacobian()),
        (loaded.time_derivative(), function.time_derivative()),
    ]:
        arguments = [q, 3.0, [2.0]][: len(mine.inputs)]
        for value, expected in zip(mine(*arguments), original(*arguments), strict=True):
            np.testing.assert_array_equal(value, expected)
    assert loaded.jacobian("q")(q, 3.0).dy_dq.shape == (1, 2, 1)


def test_saving_again_replaces_the_file_and_leaves_no_other(function, path):
    before = path.read_bytes()
    function.save(path)
    assert path.read_bytes() == before
    function.jacobian("q").save(path)
    assert Function.load(path).name == "f_jacobian"
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_failed_save_leaves_the_old_file(function, path, monkeypatch):
    before = path.read_bytes()

    def fail(source, target):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        function.jacobian("q").save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_every_truncated_file_is_refused(path):
    data = path.read_bytes()
    for length in [*range(0, len(data), 37), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(HelicoidError, match=r"f\.helicoid: "):
            Function.load(path)


def test_a_flipped_bit_is_noticed(path):
    data = path.read_bytes()
    for position in range(10, len(data), 41):
        path.write_bytes(data[:position] + bytes([data[position] ^ 16]) + data[position + 1 :])
        with pytest.raises(HelicoidError, match=r"f\.helicoid: "):
            Function.load(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"text",
        b"\x80\x04]\x94.",
        gzip.compress(b"[1, 2]"),
        gzip.compress(b"\xff"),
        gzip.compress(b"[" * 10**5),
    ],
    ids=["empty", "text", "pickle", "list", "no unicode", "deep"],
)
def test_other_files_are_refused(tmp_path, data):
    (tmp_path / "other").write_bytes(data)
    with pytest.raises(HelicoidError, match=r"other: .*Function.save wrote"):
        Function.load(tmp_path / "other")


def test_a_missing_file_or_a_folder_is_refused(tmp_path):
    with pytest.raises(HelicoidError, match=r"absent: .*No such file"):
        Function.load(tmp_path / "absent")
    with pytest.raises(HelicoidError, match=str(tmp_path)):
        Function.load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "something else"}, "is no file that Function.save wrote"),
        ({"version": 99}, "has format version 99, this Helicoid reads 1"),
        ({"function": "not a function"}, "cannot be restored"),
        ({"function": None}, "cannot be restored"),
        ({"inputs": 3}, "cannot be restored"),
        ({"inputs": [{"name": "q"}]}, "cannot be restored"),
        ({"inputs": []}, "0 inputs and 2 outputs are declared"),
        ({"outputs": [{"name": "y", "shape": [2]}, {"name": "z", "shape": []}]}, "output 'y'"),
        ({"name": 5}, "needs an identifier as its name"),
    ],
)
def test_wrong_content_is_refused(path, changes, message):
    rewrite(path, **changes)
    with pytest.raises(HelicoidError, match=rf"f\.helicoid: .*{message}"):
        Function.load(path)


def test_a_file_that_expands_without_end_is_refused(path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", 1000)
    with gzip.open(path, "wb") as file:
        file.write(b" " * 1001)
    with pytest.raises(HelicoidError, match="expands to more than"):
        Function.load(path)


def test_whatever_casadi_makes_of_a_file_is_reported(function, path, monkeypatch):
    function.save(path)
    for error in (OverflowError("too large"), MemoryError(), IndexError("out of range"), SystemError("bad")):

        def fail(text, error=error):
            raise error

        monkeypatch.setattr(storage.ca.Function, "deserialize", staticmethod(fail))
        with pytest.raises(HelicoidError, match="cannot be restored"):
            Function.load(path)
