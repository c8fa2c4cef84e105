"""Truth of `ok`, `status`, `message` and `statistics` of a controller at every step."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.compiler.evaluation import numeric
from helicoid.compiler.evaluation.compiled import CompiledEvaluator
from helicoid.mpc import Controller
from helicoid.mpc.solver.receding_horizon.loop import TOLERANCE, Due
from mpc.nodes import TREE
from mpc.problems import FORMULATIONS, START, arm, reset


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
        assert controller.ok == (controller.status == "ok") == (controller.message == "")
        assert isinstance(controller.status, hc.Status)
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
        controller._loop.due = Due.SHIFTED  # not moved by a period: the same problem again
        controller.step(START + 0.05, [0.1, 0.0])
        values.append(controller.statistics["stationarity"])
    assert 0 < values[-1] < 1e-3 * values[0]


def test_a_second_iteration_without_progress_is_no_failure(controller: Controller) -> None:
    several = Controller(controller.problem, iterations=6)
    several.start(START)
    for _ in range(5):
        several.step(START, [0.0, 0.0])
        assert several.ok and 1 <= several.statistics["iterations"] <= 6


def test_iterations_change_between_steps(controller: Controller) -> None:
    changing = Controller(controller.problem)
    changing.set(position=[-0.5, 0.0, -0.5])
    changing.start([1.2, -0.8])
    taken = []
    for iterations in (1, 6, 1):
        changing.iterations = iterations
        changing.step([1.2, -0.8], [0.0, 0.0])
        taken.append(changing.statistics["iterations"])
        assert changing.iterations == iterations
    assert taken[0] <= 3 and taken[2] <= 3 < taken[1]  # up to two beyond the number, where a plan is not ok
    with pytest.raises(hc.InputError, match="at least 1"):
        changing.iterations = 0
    assert changing.iterations == 1


def test_a_start_that_runs_out_of_iterations_says_so(controller: Controller) -> None:
    hasty = Controller(controller.problem, cold_iterations=1)
    hasty.set(position=[-1.0, 0.0, -0.5])
    hasty.step(START, [0.0, 0.0])
    assert hasty.status in ("iteration limit", "infeasible")
    assert hasty.ok == (hasty.plan.violation <= TOLERANCE)
    assert hasty.statistics["iterations"] == 1
    assert repr(hasty).endswith(f"{hasty.status})")


def test_a_start_at_the_goal_is_one_iteration_with_statistics() -> None:
    """Its first step promises nothing more: that is a plan, of which something can be said."""
    problem = hc.mpc.Problem(hc.load("planar_2r"), horizon=4, dt=0.05)
    problem.add_posture_cost(START, 1.0, 1.0)
    problem.add_velocity_cost(1.0, 1.0)
    problem.add_control_cost(1e-3)
    controller = Controller(problem)
    controller.step(START, [0.0, 0.0])
    said = controller.statistics
    assert controller.ok and said["iterations"] == 1
    assert said["cost"] == pytest.approx(0.0, abs=1e-9) and said["violation"] == 0 and said["gap"] < 1e-9


def test_words_before_the_first_step(controller: Controller) -> None:
    assert controller.status == "not started" and not controller.ok and controller.message == ""
    assert all(np.isnan(value) for value in controller.statistics.values())
    with pytest.raises(hc.InputError):
        controller.step([np.nan, 0.0], [0.0, 0.0])
    assert controller.status == "not started"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"torque_limit_upper": [-np.inf, 1.0]}, "torque_limit_upper is -inf"),
        ({"velocity_limit_lower": np.inf}, "velocity_limit_lower is inf"),
        ({"torque_limit_lower": 50.0}, "torque_limit_lower would be 50 and torque_limit_upper 40"),
        ({"torque_limit_lower": 3.0, "torque_limit_upper": [4.0, 2.0]}, "torque_limit_lower would be 3 and"),
        ({"velocity_limit_upper": np.nan}, "velocity_limit_upper takes 2 numbers"),
        ({"position_weight": -1.0}, "position_weight must not be negative"),
        ({"velocity_end_weight": [-1e-9]}, "velocity_end_weight must not be negative"),
        ({"position": [np.nan, 0.0, 0.0]}, "position must be finite"),
        ({"position": 10**400}, "position must be numbers"),
        ({"velocity_limit_upper": [10**400, 1]}, "velocity_limit_upper must be numbers"),
        ({"position": object()}, "position must be numbers"),
        ({"posture": [0.5, 0.5], "position_weight": -1.0}, "position_weight"),
    ],
)
def test_numbers_of_no_use_are_refused_by_name(
    controller: Controller, values: dict[str, Any], message: str
) -> None:
    """And nothing changes, in a controller as in a problem."""
    before = {name: array.copy() for name, array in controller._memory.numbers().items()}
    controller.step(START, [0.0, 0.0])
    for one in (controller, controller.problem):
        with pytest.raises(hc.InputError, match=re.escape(message)):
            one.set(**values)
    for name, array in controller._memory.numbers().items():
        if name != "penalty":
            np.testing.assert_array_equal(array, before[name])
    controller.step(START, [0.0, 0.0])
    assert controller.ok


def test_bounds_move_together(controller: Controller) -> None:
    """In one call both may leave where they were, whichever is named first."""
    controller.set(velocity_limit_lower=3.0, velocity_limit_upper=4.0)
    controller.set(velocity_limit_upper=-3.0, velocity_limit_lower=-np.inf)
    assert np.isneginf(controller._memory.lower[1:]).any()


@pytest.mark.parametrize("useless", [10**400, [10**400, 0], "x", object(), [[1.0], [1.0, 2.0]], 1j, {}])
def test_no_measurement_raises(controller: Controller, useless: Any) -> None:
    with pytest.raises(hc.InputError):
        controller.step(useless, [0.0, 0.0])
    controller.step(START, [0.0, 0.0])
    for arguments in ((useless, [0.0, 0.0]), (START, useless)):
        tau = controller.step(*arguments)
        assert controller.status == "bad measurement" and np.isfinite(tau).all()


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_torque_stays_within_the_motors_whatever_is_set(formulation: str) -> None:
    """Bounds far above the motors', costs that ask for more, pushes, fallbacks; a motor without effort."""
    robot = hc.load("planar_2r").with_joints(effort=[20.0, 0.0])
    problem = hc.mpc.Problem(robot, horizon=4, dt=0.05, formulation=formulation)  # type: ignore[arg-type]
    problem.add_posture_cost([2.0, -2.0], 100.0, 1000.0)
    problem.add_control_cost(1e-6)
    problem.add_constraint("torque_limit", problem.tau, -1000.0, 1000.0, scale=1e-3)
    controller = Controller(problem)
    rng = np.random.default_rng(0)
    for k in range(24):
        if k == 8:
            controller.set(torque_limit_lower=500.0)
        if k == 16:
            controller.set(torque_limit_upper=np.inf, torque_limit_lower=-np.inf)
        state = rng.normal(size=2), 5 * rng.normal(size=2)
        tau = controller.step(*(state if k % 3 or k == 0 else (np.array([np.nan, 0.0]), state[1])))
        assert abs(tau[0]) <= 20.0 and tau[1] == 0.0
    for _ in range(4):
        tau = controller.step([0.0, 0.0], [np.inf, 0.0])
        assert abs(tau[0]) <= 20.0 and tau[1] == 0.0
    assert "braking" in controller.message


@pytest.mark.parametrize("kind", ["arm", pytest.param("tree", marks=pytest.mark.slow)])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_nothing_is_compiled_after_the_constructor(
    kind: str, formulation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in steps, nor in those that shift by a part of an interval, nor when it brakes."""
    robot = hc.load(TREE, base="floating") if kind == "tree" else hc.load("planar_2r").parametric("payload")
    problem = hc.mpc.Problem(robot, horizon=4, dt=0.05, formulation=formulation)  # type: ignore[arg-type]
    problem.add_posture_cost(robot.neutral(), 1.0, 1.0)
    problem.add_control_cost(1e-2)
    controller = Controller(problem, period=0.02)
    made: list[str] = []
    evaluator, compiled = numeric.best_evaluator, CompiledEvaluator._load

    def counted(flat: Any, *rest: Any) -> Any:
        made.append(flat.name)
        return evaluator(flat, *rest)

    def loaded(self: CompiledEvaluator, *rest: Any) -> None:
        made.append(self._flat.name)
        compiled(self, *rest)

    monkeypatch.setattr(numeric, "best_evaluator", counted)
    monkeypatch.setattr(CompiledEvaluator, "_load", loaded)
    q, v = robot.neutral(), np.zeros(robot.nv)
    for k in range(20):
        controller.step(q if k < 3 or k > 17 else np.nan * q, v)
    assert made == []
    hc.load("double_pendulum").center_of_mass([0.1, 0.2])
    assert made == ["center_of_mass"]  # what would have been seen


def test_braking_holds_up_and_takes_velocity(controller: Controller) -> None:
    """g(q) - M(q) v / T, by other functions of the robot."""
    robot = controller.problem.robot
    assert robot is not None
    q, v = np.array([0.3, 0.4]), np.array([0.2, -0.1])
    controller.step(q, v)
    controller._engine["outcome"][:] = 0.0  # as one that has no plan
    controller._loop.due = Due.LOST
    tau = controller.step([np.nan, 0.0], v)
    assert "braking" in controller.message
    np.testing.assert_allclose(tau, robot.gravity(q) - robot.mass_matrix(q) @ v / 0.1, atol=1e-12)
