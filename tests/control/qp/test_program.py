"""The solver of small quadratic programs: optimality on awkward programs, daqp, and what is no program."""

from __future__ import annotations

import pickle

import daqp
import numpy as np
import pytest

from control.qp import problems
from helicoid.control.qp import QuadraticProgram
from helicoid.errors import HelicoidError, InputError

pytestmark = pytest.mark.needs_compiler
SIZE = (4, 9)


def check(p: problems.Program, program: QuadraticProgram) -> str:
    """Solve and judge; the status."""
    s = program.solve(**p.__dict__)
    assert s.status in ("ok", "infeasible")
    assert problems.residual(p, s) < 1e-8
    assert np.all((p.lower <= s.x) & (s.x <= p.upper))
    if np.isfinite(p.price).any():
        return s.status
    if s.status == "infeasible":
        least = problems.least_violation(p)
        assert abs(problems.violation(p, s.x) - least) < 1e-6 * (1 + least)
        assert s.violated and set(s.violated) <= set(s.conflict)
        return s.status
    assert problems.violation(p, s.x) < 1e-8 * (1 + np.abs(s.x).max()) and s.violated == s.conflict == ()
    sense = np.where(np.append(p.lower == p.upper, p.row_lower == p.row_upper), 5, 0).astype(np.int32)
    high, low = np.append(p.upper, p.row_upper), np.append(p.lower, p.row_lower)
    high, low = np.minimum(high, 1e30), np.maximum(low, -1e30)
    x, _, flag, _ = daqp.solve(p.H, p.f, p.A, high, low, sense, primal_tol=1e-9)
    if flag == 1:  # it gives up some degenerate ones
        cost, other = (0.5 * z @ p.H @ z + p.f @ z for z in (s.x, x))
        assert cost <= other + 1e-6 * (1 + abs(other) + np.abs(s.multipliers).sum())
    return s.status


@pytest.mark.parametrize("kind", problems.KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_program_is_solved_as_the_conditions_of_optimality_say(kind, rng):
    program = QuadraticProgram(*SIZE)
    statuses = set()
    for k in range(15):
        if k % 2:
            program.forget()
        statuses.add(check(kind(rng, *SIZE), program))
    if kind is problems.infeasible:
        assert statuses == {"infeasible"}
    elif kind is not problems.empty_rows:
        assert statuses == {"ok"}


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1, 1), (3, 7), (7, 0), (8, 20), (20, 12)])
def test_ten_thousand_programs(size, rng):
    program = QuadraticProgram(*size)
    for k in range(2000):
        if k % 3:
            program.forget()
        check(problems.KINDS[k % len(problems.KINDS)](rng, *size), program)


def test_the_solution_is_that_of_daqp(rng):
    program = QuadraticProgram(*SIZE)
    for _ in range(20):
        p = problems.plain(rng, *SIZE)
        s = program.solve(**p.__dict__)
        high, low = np.append(p.upper, p.row_upper), np.append(p.lower, p.row_lower)
        x, _, flag, info = daqp.solve(p.H, p.f, p.A, np.minimum(high, 1e30), np.maximum(low, -1e30))
        assert flag == 1
        assert np.allclose(s.x, x, atol=1e-5 * (1 + np.abs(x).max()))
        assert np.allclose(np.append(s.bound_multipliers, s.multipliers), info["lam"], rtol=1e-4, atol=1e-3)


def test_the_next_solution_begins_with_what_was_active(rng):
    program = QuadraticProgram(*SIZE)
    for _ in range(10):
        p = problems.plain(rng, *SIZE)
        program.forget()
        first = program.solve(**p.__dict__)
        again = program.solve(**p.__dict__)
        assert again.iterations == 0
        assert np.allclose(again.x, first.x, rtol=0, atol=1e-11 * (1 + np.abs(first.x).max()))


def test_a_soft_row_is_kept_as_long_as_that_costs_less_than_its_price():
    program = QuadraticProgram(*SIZE)
    A, sides = np.zeros((9, 4)), np.full(9, np.inf)
    A[0, 0], sides[0] = 1, 1.0  # x0 <= 1 while the cost asks for 3: its multiplier is 2
    for price, x0, violated in ((2.5, 1.0, ()), (1.5, 1.5, (0,)), (0.0, 3.0, (0,))):
        s = program.solve(np.eye(4), [-3, 0, 0, 0], A, row_upper=sides, price=price)
        assert s.status == "ok" and s.violated == violated
        assert s.x[0] == pytest.approx(x0)
        assert s.multipliers[0] == pytest.approx(min(price, 2.0))


def test_rows_that_contradict_each_other_are_named():
    program = QuadraticProgram(*SIZE)
    A, low, high = np.zeros((9, 4)), np.full(9, -np.inf), np.full(9, np.inf)
    A[2, 0] = A[5, 0] = 1
    A[7, 1] = 1
    low[2], high[5], high[7] = 2.0, 1.0, -1.0
    s = program.solve(np.eye(4), np.zeros(4), A, low, high)
    assert s.status == "infeasible" and not s.success
    assert s.conflict == (2, 5) and len(s.violated) == 1 and s.violated[0] in (2, 5)
    assert 1 - 1e-9 <= s.x[0] <= 2 + 1e-9 and s.x[1] == pytest.approx(-1)


@pytest.mark.parametrize("where", ["H", "f", "A", "row_lower", "row_upper", "lower", "upper", "price"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -1e308])
def test_whatever_the_numbers_are_x_is_finite_and_within_its_bounds(where, value, rng):
    program = QuadraticProgram(*SIZE)
    p = problems.plain(rng, *SIZE)
    p.lower[:], p.upper[:] = -1, 2
    array = getattr(p, where)
    array.flat[rng.integers(array.size)] = value
    s = program.solve(**p.__dict__)
    assert np.isfinite(s.x).all() and np.isfinite(s.multipliers).all()
    assert np.all(s.x >= np.fmin(p.lower, 0) - 1e-12)
    if np.isnan(value):
        assert s.status == "not finite" and not s.success
    assert check(problems.plain(rng, *SIZE), program) == "ok"  # nothing is left of it


def test_bounds_that_cross_are_no_program():
    program = QuadraticProgram(*SIZE)
    rows = np.ones((9, 4))
    assert program.solve(np.eye(4), np.ones(4), rows, lower=1.0, upper=0.0).status == "not finite"
    assert program.solve(np.eye(4), np.ones(4), rows, row_lower=1.0, row_upper=0.0).status == "not finite"


def test_a_singular_cost_is_shifted_and_an_indefinite_one_refused():
    program = QuadraticProgram(*SIZE)
    singular = np.diag([1.0, 1, 0, 0])
    s = program.solve(singular, [1, 1, 1, -1], np.zeros((9, 4)), lower=-2.0, upper=3.0)
    assert s.success and s.shift > 0
    assert np.allclose(s.x, [-1, -1, -2, 3])
    s = program.solve(np.diag([1.0, 1, 1, -1]), np.ones(4), np.zeros((9, 4)), lower=-2.0, upper=3.0)
    assert s.status == "not convex" and np.all((s.x >= -2) & (s.x <= 3))


def test_steps_are_limited(rng):
    short = QuadraticProgram(*SIZE, max_iterations=2)
    p = problems.boxed(rng, *SIZE)
    p.f = 1000 * np.ones(4)
    s = short.solve(**p.__dict__)
    assert s.status == "iteration limit" and s.iterations <= 3
    assert np.all((p.lower <= s.x) & (s.x <= p.upper))


def test_a_copy_solves_the_same(rng):
    program = QuadraticProgram(*SIZE)
    p = problems.plain(rng, *SIZE)
    copied = pickle.loads(pickle.dumps(program))
    assert np.array_equal(program.solve(**p.__dict__).x, copied.solve(**p.__dict__).x)


def test_wrong_shapes_and_sizes_are_refused():
    program = QuadraticProgram(*SIZE)
    with pytest.raises(InputError, match=r"H must be numbers of shape \(4, 4\); got shape \(3, 3\)"):
        program.solve(np.eye(3), np.zeros(4), np.zeros((9, 4)))
    with pytest.raises(InputError, match="A of shape"):
        program.solve(np.eye(4), np.zeros(4))
    with pytest.raises(InputError, match="got 'x'"):
        program.solve(np.eye(4), "x", np.zeros((9, 4)))
    with pytest.raises(HelicoidError, match="n ≥ 1"):
        QuadraticProgram(0)
