"""What a controller says of itself is so: `ok`, `status`, `details` and `statistics` of every step."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller
from helicoid.mpc.controller import TOLERANCE, Phase
from helicoid.mpc.solver.outcome import StepStatus
from mpc.problems import START, arm, reset


@pytest.fixture
def controller() -> Controller:
    problem = arm()
    reset(problem)
    return Controller(problem)


def test_ok_and_statistics_are_those_of_the_plan(controller: Controller) -> None:
    """Targets that jump, most of them out of reach, and pushes; the plan is evaluated apart."""
    robot = controller.problem.robot
    assert robot is not None
    rng = np.random.default_rng(3)
    q, v, seen = START, np.zeros(2), []
    for k in range(60):
        if k % 6 == 0:
            controller.set(position=rng.normal(size=3) * [1.5, 0.0, 1.5])
        if k % 15 == 14:
            v = v + rng.normal(size=2)
        tau = controller.step(q, v)
        said, plan = controller.statistics, controller.plan
        gap = max(plan.gap, np.abs(plan.x[0] - np.concatenate([q, v])).max())
        assert said["violation"] == pytest.approx(plan.violation, abs=1e-9)
        assert said["cost"] == pytest.approx(plan.cost, rel=1e-9)
        assert said["gap"] == pytest.approx(gap, abs=1e-6)
        moved = controller.status != "no progress"
        assert controller.ok == (moved and plan.violation <= TOLERANCE and gap <= TOLERANCE)
        assert controller.ok == (controller.status == "solved") == (controller.details == "")
        assert controller.status in get_args(StepStatus)
        assert moved == (0 < said["step_length"] <= 1) and said["iterations"] >= 1 and said["seconds"] > 0
        seen.append((controller.ok, said["stationarity"]))
        for _ in range(10):
            v = v + 0.1 * controller.period * robot.forward_dynamics(q, v, tau)
            q = q + 0.1 * controller.period * v
    assert len({stationarity for _, stationarity in seen}) > 50
    assert {ok for ok, _ in seen} == {True, False}


def test_stationarity_falls_as_steps_converge(controller: Controller) -> None:
    controller.step(START, [0.0, 0.0])
    values = []
    for _ in range(8):
        controller._phase = Phase.SHIFTED  # not moved by a period: the same problem again
        controller.step(START + 0.05, [0.1, 0.0])
        values.append(controller.statistics["stationarity"])
    assert 0 < values[-1] < 1e-3 * values[0]


def test_a_second_iteration_that_brings_nothing_is_no_failure(controller: Controller) -> None:
    several = Controller(controller.problem, iterations=6)
    several.start(START)
    for _ in range(5):
        several.step(START, [0.0, 0.0])
        assert several.ok and 1 <= several.statistics["iterations"] <= 6


def test_a_start_that_runs_out_of_iterations_says_so(controller: Controller) -> None:
    hasty = Controller(controller.problem, cold_iterations=1)
    hasty.set(position=[-1.0, 0.0, -0.5])
    hasty.step(START, [0.0, 0.0])
    assert hasty.status in ("unfinished", "infeasible")
    assert hasty.ok == (hasty.plan.violation <= TOLERANCE)
    assert hasty.statistics["iterations"] == 1
    assert repr(hasty).endswith(f"{hasty.status})")


def test_words_before_the_first_step(controller: Controller) -> None:
    assert controller.status == "not started" and not controller.ok and controller.details == ""
    assert all(np.isnan(value) for value in controller.statistics.values())
    with pytest.raises(hc.InputError):
        controller.step([np.nan, 0.0], [0.0, 0.0])
    assert controller.status == "not started"
