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
    Invert,
    MapColumns,
    MatrixProgram,
    Mirror,
    Multiply,
    MultiplyRow,
    Product,
    Solve,
    SumFromParents,
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
# A chain of six, and branches of it that branch again or not.
HUMANOID = (-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 11, 12, 13, 5, 15, 16, 17, 18, 16, 20, 21, 16)
MIRRORED = tuple(((k, N),) if k % 3 == 0 else () for k in range(N))  # copied below the diagonal
OWN, ELEMENTS = (0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7), (-1, 0, 1, 1, -1, 0, 5, 4)  # columns of a tree of sums
RESULTS = ("P", "X", "inverse", "E", "d", "product", "sums")
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
        Mirror("P", MIRRORED),
        AddDiagonal("P", "d"),
        Zero("X"),
        Product("X", "A", "A", RELATED),
        inertias,
        factors,
        Solve(("X",), "inverse", factors),
        MultiplyRow("product", "d", "X"),
        SumFromParents("sums", "A", OWN, ELEMENTS),
    ]
    others = {"C": (3, N), "E": (1, N), "K": (N, 36), "factors": factors.shape}
    others |= {"product": (1, N), "sums": (3, len(ELEMENTS) + 1)}
    others |= {name: (N, N) for name in ("P", "X", "inverse")}
    return MatrixProgram.from_expressions([a, b, d, s], head, others, steps, RESULTS)


def inverse_by_factors(parents: tuple[int, ...]) -> MatrixProgram:
    """The inverse of a tree's matrix by factors, and its product with a matrix of the same zeros."""
    n = len(parents)
    f, s, d, x = (ca.SX.sym(name, rows * n) for name, rows in (("f", 6), ("s", 6), ("d", 1), ("x", 6)))
    head = {name: ca.reshape(value, n, -1).T for name, value in zip("FSdx", (f, s, d, x), strict=True)}
    related = relations(parents)
    ranges = tuple(tuple((j, j + 1) for j in range(n) if related[i, j]) for i in range(n))
    steps = [
        Invert("inverse", "F", "S", "d", parents),
        Zero("X"),
        Product("X", "x", "S", ranges),
        Multiply("Y", "inverse", "X", parents),
    ]
    others = {name: (n, n) for name in ("inverse", "X", "Y")}
    return MatrixProgram.from_expressions([f, s, d, x], head, others, steps, ("inverse", "Y"))


def relations(parents: tuple[int, ...]) -> Array:
    """Whether rows are the same, or one descends from the other."""
    related = np.eye(len(parents), dtype=bool)
    for i, above in enumerate(parents):
        while above >= 0:
            related[i, above] = related[above, i] = True
            above = parents[above]
    return related


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
    sums = np.zeros((3, len(ELEMENTS) + 1))
    for k, parent in enumerate(ELEMENTS):
        sums[:, k] = sums[:, parent] + A[:, np.array(OWN) == k].sum(axis=1)
    X = np.linalg.solve(M, X)
    P = inside * (A.T @ C)
    for i in range(0, N, 3):
        P[i:, i] = P[i, i:]
    return [P + np.diag(d), X, np.linalg.inv(M), E, d, d @ X, sums]


def check(
    program: MatrixProgram, folder: Path, lanes: int, samples: list[Array], wanted: list[list[Array]]
) -> None:
    """Compiled code of one sample, and of all together, gives what is wanted of each sample."""
    texts, n = c_source(program, lanes), len(wanted)
    units = [folder / f"unit{k}.c" for k in range(len(texts))]
    for unit, text in zip(units, texts, strict=True):
        unit.write_text(text, encoding="utf-8")
    find_compiler().compile(units, folder / "kernel.so", include=[KERNEL_HEADERS])
    shapes = [(size,) for size in program.input_sizes], [(size,) for size in program.output_sizes]
    kernel = CtypesKernel([folder / "kernel.so"], *shapes)
    batch = [np.full((n, size), np.nan) for size in program.output_sizes]
    kernel.evaluate_batch(samples, batch, n)
    for k in range(n):
        single = [np.full(size, np.nan) for size in program.output_sizes]
        kernel.evaluate([values[k] for values in samples], single)
        for found, together, exact in zip(single, batch, wanted[k], strict=True):
            np.testing.assert_allclose(found, exact.ravel(), rtol=0, atol=1e-12 * abs(exact).max())
            np.testing.assert_allclose(together[k], exact.ravel(), rtol=0, atol=1e-12 * abs(exact).max())


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_steps_are_those_of_numpy(tmp_path: Path, lanes: int) -> None:
    one, rng = program(), np.random.default_rng(5)
    samples = [rng.normal(size=(13, n)) for n in one.input_sizes]
    samples[2] = 1 + samples[2] ** 2  # the matrix is positive definite
    wanted = [in_numpy(*(values[k] for values in samples)) for k in range(13)]
    check(one, tmp_path, lanes, samples, wanted)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("parents", [PARENTS, HUMANOID, tuple(range(-1, 20)), (-1,) * 9])
def test_inverse_by_factors(tmp_path: Path, lanes: int, parents: tuple[int, ...]) -> None:
    """Of trees, of a chain, and of rows that have nothing to do with each other."""
    one, rng, n = inverse_by_factors(parents), np.random.default_rng(6), len(parents)
    samples = [rng.normal(size=(5, size)) for size in one.input_sizes]
    samples[2] = 50 + samples[2] ** 2
    related, wanted = relations(parents), []
    for f, s, d, x in zip(*samples, strict=True):
        F, S = f.reshape(6, n).T, s.reshape(6, n).T
        lower = np.tril(related * (F @ S.T))
        inverse = np.linalg.inv(lower + np.tril(lower, -1).T + np.diag(d))
        wanted.append([inverse, inverse @ (related * (x.reshape(6, n).T @ S.T))])
    check(one, tmp_path, lanes, samples, wanted)


def test_operations_and_digest_follow_the_steps() -> None:
    one, same = program(), program()
    assert one.digest == same.digest and one.n_operations == same.n_operations
    solution = next(k for k, step in enumerate(one.steps) if isinstance(step, Solve))
    fewer = MatrixProgram(
        one.head, one.matrices, one.steps[:solution] + one.steps[solution + 1 :], one.results
    )
    assert fewer.digest != one.digest
    # Of each column that is solved, 49 operations for each row; of the inverse, which is symmetric, half.
    assert one.n_operations - fewer.n_operations == 49 * N * N + 49 * N * (N + 1) // 2
