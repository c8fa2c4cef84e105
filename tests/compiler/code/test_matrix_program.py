"""Steps of a matrix program compute what NumPy computes: one sample at a time, and many, for any lanes."""

from __future__ import annotations

import shutil
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from helicoid._typing import Array
from helicoid.compiler.build.binding import CtypesKernel
from helicoid.compiler.build.cache import KERNEL_HEADERS
from helicoid.compiler.build.toolchain import find_compiler
from helicoid.compiler.code.c_source import c_source
from helicoid.compiler.code.matrix_program import (
    AddDiagonal,
    Factor,
    MapColumns,
    MatrixProgram,
    Product,
    Solve,
    SumToParents,
    Zero,
)

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler"
)
# A tree: of each column the one it hangs on. Two of the columns are leaves, one branches.
PARENTS = (-1, 0, 1, 2, 3, 2, 5, 6, -1, 8, 9)
N = len(PARENTS)
AT = (3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 2)  # columns that a map reads: neighbours at first, scattered at the end


def ancestors(k: int) -> list[int]:
    return [] if PARENTS[k] < 0 else [*ancestors(PARENTS[k]), PARENTS[k]]


ABOVE = tuple(tuple(ancestors(k)) for k in range(N))
# Ranges within a vector, across several, and next to each other.
RANGES = tuple(((0, k + 1), (k + 2, N)) if k + 2 < N else ((k, k + 1),) for k in range(N))
LOWER = tuple(tuple((j, j + 1) for j in (*ABOVE[k], k)) for k in range(N))


def program() -> MatrixProgram:
    a, b, d = ca.SX.sym("a", 3 * N), ca.SX.sym("b", 2 * N), ca.SX.sym("d", N)
    head = {"A": ca.reshape(a, N, 3).T, "B": ca.reshape(b, N, 2).T, "d": d.T, "zero": ca.SX(1, N)}
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 2)
    mapped = MapColumns.from_expressions(
        [("A", x, None), ("B", y, AT)], {"C": ca.vertcat(x[:2] * y, ca.sin(x[2])), "E": x[0] - y[1]}
    )
    factors = Factor("M", ABOVE)
    steps = [
        mapped,
        SumToParents("C", PARENTS),
        Zero("P"),
        Product("P", "A", "C", RANGES),
        AddDiagonal("P", "d"),
        Zero("M"),
        Product("M", "C", "C", LOWER),
        AddDiagonal("M", "d"),
        Zero("X"),
        Product("X", "A", "A", RANGES),
        factors,
        Solve(("X",), "inverse", factors),
    ]
    others = {"C": (3, N), "E": (1, N), **{name: (N, N) for name in ("P", "M", "X", "inverse")}}
    return MatrixProgram.from_expressions([a, b, d], head, others, steps, ("P", "X", "inverse", "E", "d"))


def in_numpy(a: Array, b: Array, d: Array) -> list[Array]:
    A, B = a.reshape(3, N), b.reshape(2, N)
    y = B[:, AT]
    C, E = np.vstack([A[:2] * y, np.sin(A[2])]), A[0] - y[1]
    for j in reversed(range(N)):
        if PARENTS[j] >= 0:
            C[:, PARENTS[j]] += C[:, j]
    inside, related = np.zeros((N, N)), np.zeros((N, N))
    for i in range(N):
        for start, end in RANGES[i]:
            inside[i, start:end] = 1
        related[i, [*ABOVE[i], i]] = related[[*ABOVE[i], i], i] = 1
    M = related * (C.T @ C) + np.diag(d)
    X = inside * (A.T @ A)
    return [inside * (A.T @ C) + np.diag(d), np.linalg.solve(M, X), np.linalg.inv(M), E, d]


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_steps_are_those_of_numpy(tmp_path: Path, lanes: int) -> None:
    one = program()
    texts = c_source(one, lanes)
    units = [tmp_path / f"unit{k}.c" for k in range(len(texts))]
    for unit, text in zip(units, texts, strict=True):
        unit.write_text(text, encoding="utf-8")
    find_compiler().compile(units, tmp_path / "kernel.so", include=[KERNEL_HEADERS])
    kernel = CtypesKernel(
        [tmp_path / "kernel.so"], [(n,) for n in one.input_sizes], [(n,) for n in one.output_sizes]
    )
    rng = np.random.default_rng(5)
    samples = [rng.normal(size=(13, n)) for n in one.input_sizes]
    samples[2] = 50 + samples[2] ** 2  # the matrix is positive definite
    wanted = [in_numpy(*(values[k] for values in samples)) for k in range(13)]
    batch = [np.full((13, n), np.nan) for n in one.output_sizes]
    kernel.evaluate_batch(samples, batch, 13)
    for k in range(13):
        single = [np.full(n, np.nan) for n in one.output_sizes]
        kernel.evaluate([values[k] for values in samples], single)
        for found, together, exact in zip(single, batch, wanted[k], strict=True):
            np.testing.assert_allclose(found, exact.ravel(), rtol=0, atol=1e-12 * abs(exact).max())
            np.testing.assert_allclose(together[k], exact.ravel(), rtol=0, atol=1e-12 * abs(exact).max())


def test_operations_and_digest_follow_the_steps() -> None:
    one, same = program(), program()
    assert one.digest == same.digest and one.n_operations == same.n_operations
    fewer = MatrixProgram(one.head, one.matrices, one.steps[:-1], one.results)
    assert fewer.digest != one.digest
    # Of each column that is solved: two operations for each nonzero of L and sweep, and one for each 1 / D;
    # of the inverse, which is symmetric, half of the sweeps.
    pairs = sum(map(len, ABOVE))
    assert one.n_operations - fewer.n_operations == N * (4 * pairs + N) + N * (2 * pairs + N)
