"""Swing-ups from rest with torques as controls: no initial guess, few iterations, a cost like ipopt's."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.swing_ups import TASKS, swing_up

import helicoid as hc
from helicoid.mpc import Plan


def check(name: str) -> Plan:
    problem, task = swing_up(name), TASKS[name]
    rest = np.zeros(len(task.target))
    ours = problem.solve(rest, max_iterations=120)
    theirs = problem.solve(rest, solver="ipopt", max_iterations=1000)
    assert ours.success and ours.iterations <= 60
    assert ours.cost < 1.001 * theirs.cost
    assert ours.gap < 1e-5 and ours.violation < 1e-5
    assert ours.q is not None and ours.v is not None and ours.tau is not None
    np.testing.assert_allclose(ours.q[-1], task.target, atol=0.2)
    assert np.all(np.abs(ours.tau) < np.array(task.efforts) + 1e-4)
    return ours


@pytest.mark.slow
def test_pendulum() -> None:
    plan = check("pendulum")
    # Too weak to lift it at once: it swings back before it goes up.
    assert plan.q is not None and plan.q.min() < -0.1 and plan.q.max() > 3.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cart-pole", "double pendulum", "acrobot"])
def test_swing_up(name: str) -> None:
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("hessian", ["auto", "exact", "gauss_newton"])
@pytest.mark.parametrize("formulation", ["forward_dynamics", "inverse_dynamics"])
def test_formulations_and_hessians_agree(hessian: str, formulation: str) -> None:
    """All end at the same optimum, whatever they know of its curvature."""
    problem = swing_up("pendulum", hessian=hessian, formulation=formulation)
    plan = problem.solve([0.0], max_iterations=300)
    assert plan.success
    assert plan.cost == pytest.approx(swing_up("pendulum").solve([0.0]).cost, rel=1e-4)


def test_what_is_no_hessian_is_refused() -> None:
    with pytest.raises(hc.InputError, match="'auto', 'exact' or 'gauss_newton', got 'newton'"):
        swing_up("pendulum", hessian="newton")
