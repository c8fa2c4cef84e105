from __future__ import annotations

import numpy as np
import pytest
from synthetic_logs import arm, motion

from helicoid import InputError
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import Stack


@pytest.fixture(scope="module")
def dense() -> tuple[Regression, tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    regression = Regression(arm())
    _, q, v, a = motion(regression.robot, 1, seconds=3.0)
    y = np.random.default_rng(0).normal(size=v.shape)
    return regression, (q, v, a), y, regression.regressor(q, v, a)


def stacked(
    regression: Regression,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    block: int = 256,
) -> Stack:
    stack = Stack.empty(regression)
    for start in range(0, len(q), block):
        part = slice(start, start + block)
        rows = regression.rows(q[part], v[part], a[part])
        stack = stack.added(rows, y[part], None if weights is None else weights[part])
    return stack


@pytest.mark.parametrize("block", [7, 64, 4096])
def test_sums_of_squares_are_those_of_all_samples(dense, block: int) -> None:
    regression, states, y, Y = dense
    stack = stacked(regression, *states, y, block=block)
    x = np.random.default_rng(1).normal(size=Y.shape[2])
    squares = np.sum((Y @ x - y) ** 2, axis=0)
    np.testing.assert_allclose(stack.squares(x), squares, rtol=1e-12)
    np.testing.assert_allclose(stack.combined().squares(x), squares.sum(), rtol=1e-12)
    weights = np.array([1.0, 4.0, 0.25])
    np.testing.assert_allclose(stack.combined(weights).squares(x), weights @ squares, rtol=1e-12)


def test_the_factor_is_that_of_the_weighted_gram_matrix(dense) -> None:
    regression, states, y, Y = dense
    w = np.random.default_rng(2).integers(0, 3, y.shape).astype(float)
    factor = stacked(regression, *states, y, weights=w).combined()
    gram = np.einsum("nkp,nk,nkr->pr", Y, w, Y)
    np.testing.assert_allclose(factor.R.T @ factor.R, gram, atol=1e-10 * np.abs(gram).max())


def test_two_halves_are_the_whole(dense) -> None:
    regression, (q, v, a), y, _ = dense
    halves = [stacked(regression, q[s], v[s], a[s], y[s]) for s in (slice(0, 100), slice(100, None))]
    x = np.ones(len(regression.parameters))
    whole = stacked(regression, q, v, a, y)
    np.testing.assert_allclose((halves[0] + halves[1]).squares(x), whole.squares(x), rtol=1e-12)
    assert (halves[0] + halves[1]).counts == whole.counts


def test_weights_that_are_none_are_refused(dense) -> None:
    regression, states, y, _ = dense
    with pytest.raises(InputError, match="expected 3 numbers >= 0"):
        stacked(regression, *states, y).combined(np.array([1.0, -1.0, 1.0]))
