"""The C of a program computes what CasADi computes: one sample at a time, and many."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from helicoid._typing import Array
from helicoid.compiler.build.binding import CtypesKernel
from helicoid.compiler.build.cache import KERNEL_HEADERS
from helicoid.compiler.build.toolchain import find_compiler, native_lanes
from helicoid.compiler.code import c_source as c_source_module
from helicoid.compiler.code.c_source import c_source
from helicoid.compiler.code.program import Program
from helicoid.compiler.code.writer import SCALAR, Flavour
from random_graphs import (
    by_virtual_machine,
    deep_graph,
    every_operation,
    every_operation_at_special_points,
    graphs,
    points,
    relative_error,
    special_points,
)

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler"
)

Compile = Callable[..., CtypesKernel]


@pytest.fixture
def compile_kernel(tmp_path: Path) -> Compile:
    def compile_kernel(function: ca.Function, lanes: int = 0, **kinds: bool) -> CtypesKernel:
        texts = c_source(Program.from_casadi(function), lanes or native_lanes(), **kinds)
        units = [tmp_path / f"unit{k}.c" for k in range(len(texts))]
        for unit, text in zip(units, texts, strict=True):
            unit.write_text(text, encoding="utf-8")
        library = tmp_path / f"kernel{len(list(tmp_path.glob('*.so')))}.so"
        find_compiler().compile(units, library, include=[KERNEL_HEADERS])
        sizes_in = [(function.nnz_in(k),) for k in range(function.n_in())]
        sizes_out = [(function.nnz_out(k),) for k in range(function.n_out())]
        return CtypesKernel([library], sizes_in, sizes_out)

    return compile_kernel


def one_by_one(kernel: CtypesKernel, rows: list[Array], sizes: list[int]) -> list[Array]:
    n_samples = len(rows[0])
    results = [np.full((n_samples, size), 9.0) for size in sizes]
    for k in range(n_samples):
        kernel.evaluate([values[k] for values in rows], [result[k] for result in results])
    return results


def all_at_once(kernel: CtypesKernel, rows: list[Array], sizes: list[int], n_samples: int) -> list[Array]:
    results = [np.full((n_samples, size), 9.0) for size in sizes]
    kernel.evaluate_batch(rows, results, n_samples)
    return results


def output_sizes(function: ca.Function) -> list[int]:
    return [function.nnz_out(k) for k in range(function.n_out())]


# A compilation takes a second: few examples of many graphs, not cut down when they fail.
@settings(
    max_examples=max(2, settings.default.max_examples // 20),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(drawn=st.lists(graphs(20, 60), min_size=10, max_size=10))
def test_kernels_agree_with_the_virtual_machine(compile_kernel: Compile, drawn: list[ca.Function]) -> None:
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y")
    results = [ca.vertcat(*graph.call([x, y])) for graph in drawn]
    function = ca.Function("graphs", [x, y], results)
    kernel = compile_kernel(function)
    rows, sizes = points(np.random.default_rng(2), 37, [3, 1]), output_sizes(function)
    wanted = by_virtual_machine(function, rows)
    for found in (one_by_one(kernel, rows, sizes), all_at_once(kernel, rows, sizes, 37)):
        for k in range(len(sizes)):
            assert relative_error(found[k], wanted[k], scale=1.0) < 1e-12


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_every_operation_even_of_nan_and_infinities(compile_kernel: Compile, lanes: int) -> None:
    function = every_operation()
    kernel = compile_kernel(function, lanes)
    rows, sizes, wanted = special_points(), output_sizes(function), every_operation_at_special_points()
    for (found,) in (one_by_one(kernel, rows, sizes), all_at_once(kernel, rows, sizes, len(rows[0]))):
        assert relative_error(found, wanted) < 1e-12


@pytest.mark.slow
def test_many_pieces_in_several_units(compile_kernel: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_source_module, "UNIT_OPERATIONS", (1200, 1200))
    function = deep_graph(np.random.default_rng(3), 1500)
    assert len(c_source(Program.from_casadi(function), native_lanes())) > 3
    kernel = compile_kernel(function)
    rows, sizes = points(np.random.default_rng(4), 21, [4]), output_sizes(function)
    wanted = by_virtual_machine(function, rows)
    for found in (one_by_one(kernel, rows, sizes), all_at_once(kernel, rows, sizes, 21)):
        for k in range(len(sizes)):
            assert relative_error(found[k], wanted[k], scale=1.0) < 1e-12


@pytest.mark.parametrize("spread", [1, 40])
def test_constant_elements_however_they_lie(compile_kernel: Compile, spread: int) -> None:
    """Runs and single ones, few that are written one by one and many that come from a table."""
    x = ca.SX.sym("x")
    pattern = [x, 0, 0, 0, 2.5, np.nan, -np.inf, x + 1, 7]
    function = ca.Function("f", [x], [ca.vertcat(*(pattern * spread)), ca.densify(ca.SX(0, 1)), ca.SX(3)])
    kernel, rows, sizes = compile_kernel(function), [np.array([[0.5], [2.0], [3.0]])], output_sizes(function)
    wanted = np.array([[x, 0, 0, 0, 2.5, np.nan, -np.inf, x + 1, 7] * spread for x in rows[0][:, 0]])
    for found in (one_by_one(kernel, rows, sizes), all_at_once(kernel, rows, sizes, 3)):
        np.testing.assert_array_equal(found[0], wanted)
        np.testing.assert_array_equal(found[2], np.full((3, 1), 3.0))


def test_a_sample_gives_the_same_bits_in_every_batch(compile_kernel: Compile) -> None:
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y")
    result = ca.vertcat(ca.sin(x * y), ca.exp(x) / 3 - y * x**2, 1.5, ca.atan2(x[0], y), x[1], 0)
    function = ca.Function("f", [x, y], [result, y])
    kernel, sizes = compile_kernel(function), output_sizes(function)
    n = 3 * native_lanes() + 1
    rng = np.random.default_rng(5)
    rows = [rng.uniform(-9, 9, (n, 3)), rng.uniform(-9, 9, (n, 1))]
    together = all_at_once(kernel, rows, sizes, n)
    for count in range(n):
        for found, all_of_them in zip(
            all_at_once(kernel, [v[n - count :] for v in rows], sizes, count), together, strict=True
        ):
            np.testing.assert_array_equal(found, all_of_them[n - count :])
    shared = all_at_once(kernel, [rows[0], rows[1][4]], sizes, n)  # one y for all samples
    repeated = all_at_once(kernel, [rows[0], np.tile(rows[1][4], (n, 1))], sizes, n)
    for found, wanted in zip(shared, repeated, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", ["scalar", "batch"])
def test_a_library_may_hold_one_kernel_only(compile_kernel: Compile, kind: str) -> None:
    x = ca.SX.sym("x", 2)
    kernel = compile_kernel(ca.Function("f", [x], [3 * x]), **{"scalar": False, "batch": False, kind: True})
    assert (kernel.has_scalar, kernel.has_batch) == (kind == "scalar", kind == "batch")


def test_constants_are_written_to_the_last_bit() -> None:
    single = Flavour("f", "float", "", "", vector=False, portable=True)
    numbers = [0.1, -1 / 3, 1e300, -2.5e-310, 7.0, 0.0, -0.0, 123456789.123456789]
    for number in numbers:
        text = SCALAR.literal(number).strip("()")
        assert float(text).hex() == number.hex()
        with np.errstate(over="ignore"):
            rounded = np.float32(number)
        if np.isfinite(rounded):
            short = single.literal(number).strip("()")
            assert short.endswith("f") and np.float32(short[:-1]) == rounded
    assert [SCALAR.literal(x) for x in (np.nan, np.inf, -np.inf)] == ["NAN", "INFINITY", "(-INFINITY)"]
    assert single.literal(-1e300) == "(-INFINITY)"
