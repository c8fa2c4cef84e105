"""A robot at a local optimum leaves it, at rest or creeping, where a better plan is within its horizon."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.mpc_trust import loop
from benchmarks.trust_systems import cases

import helicoid as hc
from helicoid.mpc import Controller, Problem

PATIENCE, SEARCHED_COST = 1, 11  # of runtime/layout.h


def rest(
    robot: hc.Robot,
    uses_restarts: bool,
    start: list[float],
    target: np.ndarray,
    steps: int,
    searched: float | None = None,
) -> tuple[float, float]:
    """How far from its target the tip ends, and how long it waits before it searches (periods).

    It is as if it had searched in vain for long, when its cost was `searched` times as large.
    """
    problem = Problem(robot, horizon=20, dt=0.03)
    problem.add_position_cost("tip", target, weight=50.0, end_weight=500.0)
    problem.add_velocity_cost(0.2, end_weight=5.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits()
    controller, h = Controller(problem), 0.03 / 5
    controller._loop.set(uses_restarts=uses_restarts)
    q, v = np.array(start), np.zeros(2)
    for k in range(steps):
        tau = controller.step(q, v)
        assert controller.ok
        if k == 1 and searched is not None:
            state, cost = controller._engine["restart"], controller.statistics["cost"]
            state[PATIENCE], state[SEARCHED_COST] = 1000.0, searched * cost
        for _ in range(5):
            a = robot.forward_dynamics(q, v, tau)
            q, v = q + h * v + h**2 / 2 * a, v + h * a
    patience = controller._engine["restart"][PATIENCE]
    return float(np.linalg.norm(robot.pose("tip")(q)[:3, 3] - target)), float(patience)


@pytest.fixture(scope="module")
def robot() -> hc.Robot:
    return hc.load("planar_2r").with_joints(lower=[-0.5, -2.5], upper=[2.5, 2.5])


def test_leaves_a_corner_of_its_limits(robot: hc.Robot) -> None:
    """Both joints press against their limits; with the elbow on the other side the target is in reach."""
    corner, target = [-0.5, 2.5], robot.pose("tip")([0.459, -2.319])[:3, 3]
    assert rest(robot, False, corner, target, 40)[0] > 0.5
    assert rest(robot, True, corner, target, 75)[0] < 2e-3


@pytest.mark.parametrize("begins_anew", [False, True])
@pytest.mark.parametrize("at", [14, 15, 18])
def test_a_search_for_another_target_leads_nowhere(robot: hc.Robot, at: int, begins_anew: bool) -> None:
    """In the middle of a search the target becomes where the tip is: what was looked for is worse now."""
    tip, h = robot.pose("tip"), 0.03 / 5
    problem = Problem(robot, horizon=20, dt=0.03)
    problem.add_position_cost("tip", tip([0.459, -2.319])[:3, 3], weight=50.0, end_weight=500.0)
    problem.add_velocity_cost(0.2, end_weight=5.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits()
    controller, q, v = Controller(problem), np.array([-0.5, 2.5]), np.zeros(2)
    for k in range(50):
        if k == at:
            here = tip(q)[:3, 3]
            controller.set(position=here)
            if begins_anew:
                controller.start(q, v)
        tau = controller.step(q, v)
        assert k < at or np.abs(tip(q)[:3, 3] - here).max() < 1e-3
        for _ in range(5):
            a = robot.forward_dynamics(q, v, tau)
            q, v = q + h * v + h**2 / 2 * a, v + h * a


def test_stays_at_rest_where_there_is_nothing_better(robot: hc.Robot) -> None:
    """Stretched towards a target out of reach: it searches in vain, and then less and less often."""
    target = 2.5 * np.array([np.cos(1.0), 0.0, np.sin(1.0)])
    stays, _ = rest(robot, False, [0.8, 0.3], target, 120)
    searched, patience = rest(robot, True, [0.8, 0.3], target, 120)
    assert searched == pytest.approx(stays, abs=1e-6)
    assert patience >= 20


def test_searches_in_vain_do_not_count_for_another_target(robot: hc.Robot) -> None:
    """Long after it gave up a target out of reach, one that comes into reach is not left waiting as long."""
    corner, target = [-0.5, 2.5], robot.pose("tip")([0.459, -2.319])[:3, 3]
    assert rest(robot, True, corner, target, 75, searched=1.1)[0] > 0.5
    assert rest(robot, True, corner, target, 75, searched=3.0)[0] < 2e-3


@pytest.mark.slow
@pytest.mark.parametrize("number", [44, 77, 188])
def test_leaves_while_it_creeps(number: int) -> None:
    """Pandas whose target left their reach and came back; where they are stuck, they creep for two seconds.

    They came to rest 8.8 to 9.3 s after the start, when they left only once they stood still.
    """
    case = next(make for make in cases(quick=False) if make.__name__ == "panda")()
    told = loop(case, np.random.default_rng([1, number]), number % 2 == 1, noisy=False, moving=True)
    assert told["rms"] < 0.02 and told["back"] < 1e-3 and told["false_ok"] == 0
