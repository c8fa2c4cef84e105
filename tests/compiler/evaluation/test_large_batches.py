"""Batches larger than the caches: the same numbers, at any alignment, and nothing else touched."""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.compiler.function import Function, Input, Output

pytestmark = pytest.mark.needs_compiler

SIZES = (1, 3, 8, 13)
N = 40_003  # 25 outputs of each sample: 8 MB, and some samples beyond whole vectors


@pytest.fixture(scope="module")
def powers() -> Iterator[Function]:
    """Outputs of several widths."""
    x = ca.SX.sym("x", 2)
    outputs = [(Output(f"y{n}", (n,)), x[0] * ca.DM(range(1, n + 1)) + x[1]) for n in SIZES]
    hc.set_compile(True)
    yield Function.from_expressions("powers", [(Input("x", (2,)), x)], outputs)
    hc.set_compile(False)


@pytest.mark.parametrize("shift", range(8))
def test_large_batches_give_every_element_at_any_alignment(powers: Function, shift: int) -> None:
    x = np.random.default_rng(shift).normal(size=(N, 2))
    memory = [np.full(N * n + 16, -7.0) for n in SIZES]
    targets = tuple(m[shift : shift + N * n].reshape(N, n) for m, n in zip(memory, SIZES, strict=True))
    powers(x, out=targets)
    for n, target, whole in zip(SIZES, targets, memory, strict=True):
        expected = x[:, :1] * np.arange(1, n + 1) + x[:, 1:]
        np.testing.assert_allclose(target, expected, rtol=1e-14, atol=1e-14)
        assert (whole[:shift] == -7.0).all() and (whole[shift + N * n :] == -7.0).all()


def test_large_batches_equal_small_ones(powers: Function) -> None:
    x = np.random.default_rng(9).normal(size=(N, 2))
    whole = powers(x)
    for start in (0, 17_000, N - 100):
        part = powers(x[start : start + 100])
        for one, other in zip(whole, part, strict=True):
            np.testing.assert_array_equal(one[start : start + 100], other)
