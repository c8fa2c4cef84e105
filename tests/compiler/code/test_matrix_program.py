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
    Articulate,
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
# Of each column those that it hangs on, itself, and those that hang on it.
RELATED = tuple(
    tuple((j, j + 1) for j in range(N) if j == k or j in ABOVE[k] or k in ABOVE[j]) for k in range(N)
)
BODIES = (3, -1, 0, 1, 2, -1, 5, 6, 7, 8, 9)  # of each row of M the row of inertias


def program() -> MatrixProgram:
    a, b, d, s = (ca.SX.sym(name, rows * N) for name, rows in (("a", 3), ("b", 2), ("d", 1), ("s", 6)))
    subspaces = ca.reshape(s, 6, N)
    head = {"A": ca.reshape(a, N, 3).T, "B": ca.reshape(b, N, 2).T, "d": d.T, "zero": ca.SX(1, N)}
    head |= {"S": subspaces, "S_rows": subspaces.T}
    x, y, z = ca.SX.sym("x", 3), ca.SX.sym("y", 2), ca.SX.sym("z", 6)
    mapped = MapColumns.from_expressions(
        [("A", x, None), ("B", y, AT)], {"C": ca.vertcat(x[:2] * y, ca.sin(x[2])), "E": x[0] - y[1]}
    )
    K = ca.SX.eye(6) + z @ z.T
    inertias = MapColumns.from_expressions([("S", z, None)], {"K": ca.vec(K)}, transposed=("K",))
    factors = Articulate("factors", "K", "S_rows", "d", BODIES, PARENTS)
    steps = [
        mapped,
        SumToParents("C", PARENTS),
        Zero("P"),
        Product("P", "A", "C", RANGES),
        AddDiagonal("P", "d"),
        Zero("X"),
        Product("X", "A", "A", RELATED),
        inertias,
        factors,
        Solve(("X",), "inverse", factors),
    ]
    others = {"C": (3, N), "E": (1, N), "K": (N, 36), "factors": factors.shape}
    others |= {name: (N, N) for name in ("P", "X", "inverse")}
    return MatrixProgram.from_expressions([a, b, d, s], head, others, steps, ("P", "X", "inverse", "E", "d"))


def in_numpy(a: Array, b: Array, d: Array, s: Array) -> list[Array]:
    A, B, S = a.reshape(3, N), b.reshape(2, N), s.reshape(N, 6)
    y = B[:, AT]
    C, E = np.vstack([A[:2] * y, np.sin(A[2])]), A[0] - y[1]
    own = [np.zeros((6, 6)) if k < 0 else np.eye(6) + np.outer(S[k], S[k]) for k in BODIES]
    for j in reversed(range(N)):
        if PARENTS[j] >= 0:
            C[:, PARENTS[j]] += C[:, j]
            own[PARENTS[j]] = own[PARENTS[j]] + own[j]
    inside, related, M = np.zeros((3, N, N))
    for i in range(N):
        for start, end in RANGES[i]:
            inside[i, start:end] = 1
        for start, end in RELATED[i]:
            related[i, start:end] = 1
        for j in (*ABOVE[i], i):
            M[i, j] = M[j, i] = S[i] @ own[i] @ S[j] + (d[i] if i == j else 0)
    X = related * (A.T @ A)
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
    samples[2] = 1 + samples[2] ** 2  # the matrix is positive definite
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
    # Of each column that is solved, 49 operations for each row; of the inverse, which is symmetric, half.
    assert one.n_operations - fewer.n_operations == 49 * N * N + 49 * N * (N + 1) // 2
