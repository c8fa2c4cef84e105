"""Initial guesses from every description of a motion, at the nodes of a plan."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import InputError
from helicoid.mpc.solver.guess import first_guess
from helicoid.mpc.system.initial import initial_state
from mpc.problems import START, arm

NODES = np.arange(13) * 0.05


def guess(problem: hc.mpc.Problem, given: Any, q0: Any = START) -> tuple[np.ndarray, np.ndarray]:
    structure = problem._structure
    return first_guess(structure, initial_state(structure, q0, None), np.zeros(0), given)


def parabola(t: np.ndarray) -> tuple[np.ndarray, ...]:
    """A motion of constant acceleration from START on."""
    a = np.array([2.0, -1.0])
    return START + 0.5 * a * t[:, None] ** 2, a * t[:, None], np.tile(a, (len(t), 1))


def test_a_trajectory_is_read_at_the_nodes() -> None:
    t = np.linspace(5.0, 5.8, 81)  # it goes on after the horizon, and began at another time
    q, v, a = parabola(t - 5.0)
    robot = arm().robot
    assert robot is not None
    x, u = guess(arm(), hc.simulation.Trajectory(t, q, v, 0 * v, robot))
    exact = parabola(NODES)
    np.testing.assert_allclose(x, np.hstack(exact[:2]), atol=1e-12)
    np.testing.assert_allclose(u, a[:12], atol=1e-12)


def test_a_motion_that_ends_early_stays_where_it_ends() -> None:
    t = np.linspace(0, 0.3, 7)
    x, _ = guess(arm(), {"t": t, "q": parabola(t)[0]})
    np.testing.assert_allclose(x[7:, :2], np.tile(parabola(t)[0][-1], (6, 1)))
    np.testing.assert_allclose(x[8:, 2:], 0.0, atol=1e-12)


def test_an_array_of_q_is_spread_over_the_horizon() -> None:
    exact = parabola(NODES)
    x, u = guess(arm(), exact[0])
    np.testing.assert_allclose(x[:, :2], exact[0], atol=1e-14)
    np.testing.assert_allclose(x[1:-1, 2:], exact[1][1:-1], atol=1e-12)
    np.testing.assert_allclose(u[1:-1], exact[2][1:11], atol=1e-10)
    line, _ = guess(arm(), [1.3, -0.2])
    np.testing.assert_allclose(line[:, :2], START + np.linspace(0, 1, 13)[:, None] * [1.0, -1.0], atol=1e-12)
    corner, _ = guess(arm(), [START, [1.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(corner[[0, 6, 12], :2], [START, [1.0, 1.0], [1.0, 0.0]], atol=1e-12)


def test_torques_follow_where_they_are_the_controls() -> None:
    robot = hc.load("planar_2r")
    problem = hc.mpc.Problem(robot, horizon=12, dt=0.05, formulation="forward_dynamics")
    q, v, a = parabola(NODES)
    _, u = guess(problem, {"q": q, "v": v})
    np.testing.assert_allclose(u, robot.inverse_dynamics(q[:-1], v[:-1], a[:-1]), atol=1e-9)
    _, u = guess(problem, {"q": q, "v": v, "tau": np.arange(24.0).reshape(12, 2)})
    np.testing.assert_array_equal(u, np.arange(24.0).reshape(12, 2))


def test_on_a_manifold_and_with_a_free_duration(rng: np.random.Generator) -> None:
    robot = hc.load("quadruped", base="floating")
    problem = hc.mpc.Problem(robot, horizon=8, dt=0.05, duration=(0.2, 2.0))
    ends = robot.random(rng, size=2)
    x, _ = guess(problem, {"q": ends, "duration": 1.2}, q0=ends[0])
    q, v = x[:, : robot.nq], x[:, robot.nq : robot.nq + robot.nv]
    np.testing.assert_allclose(np.linalg.norm(q[:, 3:7], axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(q[[0, -1]], ends, atol=1e-12)
    np.testing.assert_allclose(v[1:-1], np.tile(robot.difference(*ends) / 1.2, (7, 1)), atol=1e-8)
    assert np.all(x[:, -1] == 1.2)
    assert np.all(guess(problem, {"t": [0.0, 30.0], "q": ends}, q0=ends[0])[0][:, -1] == 2.0)


def test_of_an_ode() -> None:
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    problem = hc.mpc.Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=4, dt=0.1)
    for given in ([[1.0, 0.0], [3.0, 4.0]], {"x": [[1.0, 0.0], [3.0, 4.0]], "u": [[7.0]]}):
        states, controls = guess(problem, given, q0=[1.0, 0.0])
        np.testing.assert_allclose(states[:, 0], np.linspace(1, 3, 5))
        assert np.all(controls == (7.0 if isinstance(given, dict) else 0.0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            np.zeros((4, 3)),
            r"finite numbers of shape \(any number of rows, 2\); got shape \(4, 3\)",
        ),
        (np.full((4, 2), np.nan), "not all finite"),
        (np.zeros((0, 2)), "any number of rows"),
        ("fast", "a guess is a Plan, a Trajectory, an array of q or a dict"),
        ({"speed": [0.0, 0.0]}, "a guess has no 'speed'; it takes some of q, v, a, tau, u, t"),
        ({"q": np.zeros((3, 2)), "t": [0.0, 0.1]}, "2 times and 3 rows of q"),
        ({"q": np.zeros((3, 2)), "t": [0.0, 0.1, 0.1]}, "ascending"),
        ({"q": np.zeros((3, 2)), "duration": 3.0}, "duration is not free"),
        ({"q": np.zeros((2, 3, 2))}, "got shape"),
    ],
)
def test_what_does_not_fit_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        guess(arm(), given)


@pytest.mark.needs_compiler
def test_all_of_them_lead_to_the_plan() -> None:
    problem = arm()
    plan = problem.solve(START)
    assert plan.q is not None and plan.v is not None
    coarse = hc.simulate(problem.robot, START, duration=0.6, dt=0.1, controller=np.zeros(2))
    for given in (plan, coarse, plan.q, plan.q[-1], {"q": plan.q, "v": plan.v, "a": plan.a}):
        found = problem.solve(START, guess=given)
        assert found.success
        np.testing.assert_allclose(found.cost, plan.cost, rtol=1e-6)
    assert problem.solve(START, guess={"q": plan.q, "v": plan.v, "a": plan.a}).iterations < plan.iterations
    finer = hc.mpc.Problem(problem.robot, horizon=24, dt=0.025)
    x, u = guess(finer, plan)
    np.testing.assert_allclose(x[::2, :2], plan.q, atol=1e-12)
    np.testing.assert_allclose(u[::2], plan.a, atol=1e-8)
