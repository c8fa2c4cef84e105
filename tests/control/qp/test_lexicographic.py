"""Levels of least squares: the recursion by null spaces, and one after another where limits hold."""

from __future__ import annotations

import daqp
import numpy as np
import pytest

from helicoid.control.qp import LexicographicProgram
from helicoid.errors import HelicoidError, InputError

pytestmark = pytest.mark.needs_compiler
N, LEVELS, M = 7, (3, 2, 7), 2


def random_levels(rng, rank=None):
    pairs = [(rng.normal(size=(rows, N)), rng.normal(size=rows)) for rows in LEVELS]
    if rank is not None:
        pairs[0] = (rng.normal(size=(3, rank)) @ rng.normal(size=(rank, N)), pairs[0][1])
    return pairs


def by_projection(levels):
    """x = Σ N̄ (J N̄)⁺ (w - J x) with N̄ the projection onto what all levels before leave free."""
    x, free = np.zeros(N), np.eye(N)
    for J, w in levels:
        inverse = np.linalg.pinv(J @ free, rcond=1e-9)
        x = x + free @ inverse @ (w - J @ x)
        free = free @ (np.eye(N) - inverse @ (J @ free))
    return x


@pytest.mark.parametrize("rank", [None, 1, 2])
def test_without_limits_it_is_the_recursion_by_null_spaces(rank, rng):
    program = LexicographicProgram(N, LEVELS, M, regularisation=1e-12)
    for _ in range(5):
        levels = random_levels(rng, rank)
        s = program.solve(levels, np.zeros((M, N)))
        assert s.success
        assert np.allclose(s.x, by_projection(levels), atol=1e-6)


def test_no_level_takes_from_one_before_it_and_limits_are_kept(rng):
    program = LexicographicProgram(N, LEVELS, M, regularisation=1e-9)
    for _ in range(15):
        levels, A, limit = random_levels(rng), rng.normal(size=(M, N)), rng.uniform(0.05, 1, N)
        s = program.solve(levels, A, -0.1, 0.2, -limit, limit)
        assert s.success
        assert np.all(np.abs(s.x) <= limit)
        assert np.all(A @ s.x <= 0.2 + 1e-9) and np.all(A @ s.x >= -0.1 - 1e-9)
        # The same by another solver, level after level, with what was reached as equations.
        rows, high, low = A, np.append(limit, [0.2] * M), np.append(-limit, [-0.1] * M)
        for J, w in levels:
            sense = np.where(high == low, 5, 0).astype(np.int32)
            H = J.T @ J + 1e-9 * np.eye(N)
            x, _, flag, _ = daqp.solve(H, -J.T @ w, rows, high, low, sense, primal_tol=1e-10)
            if flag != 1:
                break
            reached = np.linalg.norm(J @ x - w)
            mine = np.linalg.norm(J @ s.x - w)
            assert mine == pytest.approx(reached, abs=1e-4)
            rows = np.vstack([rows, J])
            high, low = np.append(high, J @ s.x), np.append(low, J @ s.x)


def test_rows_that_contradict_each_other_are_left_alike_by_all_levels(rng):
    program = LexicographicProgram(N, LEVELS, M)
    A = np.tile(rng.normal(size=N), (2, 1))
    s = program.solve(random_levels(rng), A, [1.0, -np.inf], [np.inf, 0.0], -2.0, 2.0)
    assert s.status == "infeasible"
    assert -1e-9 <= A[0] @ s.x <= 1 + 1e-9


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("level", [0, 2])
def test_non_finite_data_is_reported_and_x_keeps_its_bounds(value, level, rng):
    program = LexicographicProgram(N, LEVELS, M)
    levels = random_levels(rng)
    levels[level][0][0, 0] = value
    s = program.solve(levels, np.zeros((M, N)), lower=-0.1, upper=0.2)
    assert s.status == "not finite" and np.all((s.x >= -0.1) & (s.x <= 0.2))


def test_wrong_sizes_are_refused():
    program = LexicographicProgram(N, LEVELS, M)
    with pytest.raises(InputError, match="3 levels"):
        program.solve([(np.eye(3, N), np.zeros(3))])
    with pytest.raises(InputError, match="E of level 1"):
        program.solve([(np.eye(4), np.zeros(3))] * 3, np.zeros((M, N)))
    with pytest.raises(HelicoidError, match="levels of rows"):
        LexicographicProgram(3, [])
    with pytest.raises(HelicoidError, match="regularisation"):
        LexicographicProgram(3, [1], regularisation=0)
