"""Problems, plans and controllers that travel: pickled, copied, in processes of their own."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller, Plan, Problem
from mpc.problems import START, TARGET, arm, reset


def cost_of(problem: Problem) -> float:
    """In another process: CasADi's solver, so that nothing is compiled there."""
    return problem.solve(START, solver="ipopt").cost


def last_of(plan: Plan) -> list[float]:
    assert plan.q is not None and plan.robot is not None
    return plan.q[-1].tolist()


def test_a_problem_and_its_plan_go_to_another_process_and_back() -> None:
    problem = arm()
    reset(problem)
    plan = problem.solve(START, solver="ipopt")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(cost_of, problem).result() == pytest.approx(plan.cost, rel=1e-9)
        assert pool.submit(last_of, plan).result() == plan.q[-1].tolist()  # type: ignore[index]


@pytest.mark.parametrize("way", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_has_the_numbers_and_is_independent(way) -> None:  # type: ignore[no-untyped-def]
    problem = arm()
    reset(problem)
    problem.set(position=[0.5, 0.0, 0.8])
    before = problem.solve(START)
    other = way(problem)
    assert repr(other) == repr(problem) and other.names == problem.names
    np.testing.assert_allclose(other.solve(START).x, before.x, atol=1e-9)
    other.set(position=TARGET)
    other.add_control_cost(1.0)
    np.testing.assert_array_equal(problem.solve(START).x, before.x)
    reset(problem)


def test_a_problem_of_an_ode_with_parameters_of_its_own() -> None:
    x, u, k = ca.SX.sym("x", 2), ca.SX.sym("u"), ca.SX.sym("k")
    problem = Problem.from_ode(x, u, ca.vertcat(x[1], u - k * x[0]), theta=k, horizon=8, dt=0.1)
    goal = problem.parameter("goal", [1.0, 0.0])
    problem.add_cost("state", x - goal, 1.0, end_weight=10.0)
    problem.add_cost("effort", u, 0.1)
    problem.add_constraint("force", u, -0.5, 0.5)
    problem.set(goal=[0.5, 0.0], theta=[2.0])
    other = pickle.loads(pickle.dumps(problem))
    ours, theirs = (one.solve([0.0, 0.0], solver="ipopt") for one in (problem, other))
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-9)
    other.add_cost("own", other.x[0] * other.u, 0.01)  # with its own symbols
    with pytest.raises(hc.InputError, match="no symbols of this problem"):
        other.add_cost("foreign", x[0], 1.0)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_controller_travels_as_its_problem_its_settings_and_its_numbers(way) -> None:  # type: ignore[no-untyped-def]
    problem = arm()
    reset(problem)
    controller = Controller(problem, period=0.02, iterations=2, cold_iterations=50)
    controller.set(position=[0.5, 0.0, 0.8])
    first = controller.step(START, [0.0, 0.0])
    controller.step(START + 0.01, [0.1, 0.0])
    other = way(controller)
    assert other.status == "not started" and (other.period, other.iterations) == (0.02, 2)
    np.testing.assert_allclose(other.step(START, [0.0, 0.0]), first, atol=1e-9)


def test_a_controller_keeps_the_problem_that_it_was_made_for() -> None:
    """Terms that are added later are for other controllers."""
    problem = copy.deepcopy(arm())
    controller = Controller(problem)
    tau = controller.step(START, [0.0, 0.0])
    problem.add_constraint("floor", problem.q[0], 1.0, 2.0)
    again = Controller(arm())
    np.testing.assert_allclose(again.step(START, [0.0, 0.0]), tau, atol=1e-6)
    controller.step(START, [0.0, 0.0])
    assert controller.ok and controller.plan.success


def test_tables_for_notebooks() -> None:
    problem = arm()
    reset(problem)
    page = problem._repr_html_()
    for text in ("planar_2r", "position", "posture", "torque_limit", "hard"):
        assert text in page
    problem.set(velocity_limit_lower=5.0, velocity_limit_upper=6.0)
    plan = problem.solve(START)
    assert "velocity_limit" in plan._repr_html_() and "infeasible" in plan._repr_html_()
    assert len(repr(plan)) < 250 and len(repr(problem)) < 250
    reset(problem)
