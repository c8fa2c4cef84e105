"""The controller in a loop: tracking, failures, changes at run time, interruptions, memory."""

from __future__ import annotations

import resource
import signal
import time

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller, Problem
from helicoid.mpc.solver.receding_horizon.loop import Due
from mpc.problems import START, TARGET, arm, reset


def simulate(
    controller: Controller, q: np.ndarray, v: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """A loop with the robot's own model, ten small steps in each control period."""
    robot = controller.problem.robot
    assert robot is not None
    for _ in range(steps):
        tau = controller.step(q, v)
        assert np.isfinite(tau).all()
        for _ in range(10):
            v = v + 0.1 * controller.period * robot.forward_dynamics(q, v, tau)
            q = q + 0.1 * controller.period * v
    return q, v


@pytest.fixture
def controller() -> Controller:
    problem = arm()
    reset(problem)
    return Controller(problem)


def test_reaches_targets_and_follows_changes(controller: Controller) -> None:
    robot = controller.problem.robot
    assert robot is not None
    q, v = simulate(controller, START, np.zeros(2), 40)
    tip = robot.pose("tip")
    assert np.linalg.norm(tip(q)[:3, 3] - TARGET) < 0.03
    controller.set(position=[0.9, 0.0, 0.5])
    q, v = simulate(controller, q, v, 60)
    assert controller.ok and controller.status == "ok"
    assert np.linalg.norm(tip(q)[:3, 3] - [0.9, 0.0, 0.5]) < 0.03


def test_steps_converge_to_the_solution_of_the_problem(controller: Controller) -> None:
    """For a state that stays, repeated steps without shift are iterations of the same problem."""
    controller.step(START, [0.0, 0.0])
    for _ in range(4):
        controller._loop.due = Due.SHIFTED
        controller.step(START + 0.05, [0.1, 0.0])
        assert controller.ok  # also where there is nothing left to improve
    plan, found = controller.problem.solve(START + 0.05, [0.1, 0.0]), controller.plan
    assert plan.tau is not None and found.tau is not None
    np.testing.assert_allclose(found.tau, plan.tau, atol=1e-3)
    np.testing.assert_allclose(controller.plan.x, plan.x, atol=1e-4)


def test_phases_apart_are_a_step(controller: Controller) -> None:
    other = Controller(controller.problem)
    for one in (controller, other):
        one.step(START, [0.0, 0.0])
    controller.prepare()
    np.testing.assert_array_equal(
        controller.feedback(START + 0.01, [0.1, 0.0]), other.step(START + 0.01, [0.1, 0.0])
    )


def test_interior_iterations_are_those_of_all_programs_of_a_step() -> None:
    problem = arm()
    reset(problem)
    controller = Controller(problem, iterations=8)
    controller.start(START)
    for _ in range(3):
        controller.step(START, [0.0, 0.0])
        assert controller.statistics["iterations"] == 8
        assert controller.statistics["qp_iterations"] >= 8


@pytest.mark.parametrize(
    "formulation", ["inverse_dynamics", pytest.param("forward_dynamics", marks=pytest.mark.slow)]
)
def test_gains_are_the_derivative_of_the_answer(formulation: str) -> None:
    """Of all rows and columns, with the first planned torque at its limit."""
    problem = arm(formulation)
    reset(problem)
    problem.set(velocity_limit_lower=-50, velocity_limit_upper=50)
    problem.set(torque_limit_lower=[-40, -900], torque_limit_upper=[40, 900])

    def answer(shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        controller = Controller(problem)
        controller.start(START)
        controller.prepare()
        return controller.feedback(START + shift[:2], shift[2:]), controller.gains

    tau, gains = answer(np.zeros(4))
    assert gains.shape == (2, 4) and 35 < abs(tau[0]) < 40.01 and abs(tau[1]) < 90
    steps = 1e-5 * np.eye(4)
    slopes = np.stack([(answer(step)[0] - answer(-step)[0]) / 2e-5 for step in steps], axis=1)
    np.testing.assert_allclose(slopes, gains, rtol=1e-3, atol=2e-2)
    assert np.abs(gains[1]).max() > 10
    if formulation == "forward_dynamics":  # the torque is the control, and stays at its limit
        assert np.abs(gains[0]).max() < 2e-2


def test_start_without_velocity_is_at_rest(controller: Controller) -> None:
    controller.start(START)
    assert controller.ok and controller.status == "ok"
    other = Controller(controller.problem)
    other.start(START, [0.0, 0.0])
    np.testing.assert_array_equal(controller.plan.x, other.plan.x)


def test_phases_of_a_loop(controller: Controller) -> None:
    """New, planned, shifted, prepared, planned again; numbers undo a linearisation; lost, and found again."""
    assert controller._loop.due is Due.NEW
    controller.prepare()  # nothing to prepare yet
    assert controller._loop.due is Due.NEW
    with pytest.raises(hc.InputError):
        controller.step([np.nan, 0.0], [0.0, 0.0])
    assert controller._loop.due is Due.NEW and controller.status == "not started"
    controller.start(START)
    assert controller._loop.due is Due.SHIFTED
    controller.prepare()
    assert controller._loop.due is Due.PREPARED
    controller.set(position=TARGET)
    assert controller._loop.due is Due.SHIFTED
    controller.step(START, [0.0, 0.0])
    assert controller._loop.due is Due.PLANNED
    before = controller._engine["x"][1].copy()
    controller.prepare()
    np.testing.assert_array_equal(controller._engine["x"][0], before)
    controller.prepare()  # not shifted twice
    np.testing.assert_array_equal(controller._engine["x"][0], before)
    for _ in range(25):
        controller.step([np.nan, 0.0], [0.0, 0.0])
    assert controller._loop.due is Due.LOST and "braking" in controller.message
    controller.step(START, [0.0, 0.0])
    assert controller._loop.due is Due.PLANNED and controller.ok


def test_a_conflict_in_the_middle_is_named_and_passes(controller: Controller) -> None:
    q, v = simulate(controller, START, np.zeros(2), 3)
    controller.set(velocity_limit_upper=6.0)
    controller.set(velocity_limit_lower=5.0)  # no motor can do that in time
    for _ in range(20):
        tau = controller.step(q, v)
        assert np.isfinite(tau).all() and np.abs(tau).max() <= 40
        assert not controller.ok and controller.status == "infeasible"
        assert "velocity_limit (joint_" in controller.message and "is missed by" in controller.message
    controller.set(velocity_limit_lower=-2.0, velocity_limit_upper=2.0)
    simulate(controller, q, v, 3)
    assert controller.ok and controller.status == "ok"


@pytest.mark.parametrize("bad", [[np.nan, 0.0], [np.inf, 0.0], [1.0], "nothing", None])
def test_measurements_of_no_use_never_raise_nor_give_nan(controller: Controller, bad: object) -> None:
    controller.step(START, [0.0, 0.0])
    for _ in range(25):
        tau = controller.step(bad, [0.0, 0.0])  # type: ignore[arg-type]
        assert tau.shape == (2,) and np.isfinite(tau).all()
        assert not controller.ok and controller.status == "bad measurement"
        assert "measured state" in controller.message
        assert controller.statistics["iterations"] == 0 and np.isnan(controller.statistics["violation"])
    assert "braking under gravity compensation" in controller.message
    controller.step(START, [0.0, 0.0])
    assert controller.ok and controller.message == ""


def test_the_first_step_says_what_is_wrong_with_the_state() -> None:
    with pytest.raises(hc.InputError, match=r"q0 \(2\)"):
        Controller(arm()).step([0.0], [0.0])


@pytest.mark.parametrize(
    "wrong", [([0.3, 0.8, 0.0], [0.0]), ([0.3, 0.8, 0.0, 0.0], None), ([0.3, 0.8], None), ([0.3], [0.0, 0.0])]
)
def test_measurements_of_the_wrong_shape_are_not_cut_to_fit(controller: Controller, wrong: tuple) -> None:
    with pytest.raises(hc.InputError, match=r"q0 \(2\)|velocity"):
        controller.step(*wrong)
    controller.step(START, [0.0, 0.0])
    for _ in range(25):  # into braking, where it starts anew
        tau = controller.step(*wrong)
        assert np.isfinite(tau).all() and not controller.ok


def test_states_that_no_robot_can_be_in_give_numbers(controller: Controller) -> None:
    controller.step(START, [0.0, 0.0])
    for size in (1e8, 1e200, 1e308):
        assert np.isfinite(controller.step([size, -size], [size, size])).all()
    simulate(controller, START, np.zeros(2), 3)
    assert controller.ok


@pytest.mark.slow
def test_torque_limits_without_labels_and_named_conflicts() -> None:
    """A soft wish that is far off is not what cannot be met."""
    problem = Problem(hc.serial_chain(1), horizon=4, dt=0.05)
    problem.add_posture_cost([0.0], 1.0, 1.0)
    problem.add_control_cost(1e-3)
    problem.add_constraint("wish", problem.q, 3.0, 4.0, soft=1e-3, scale=100.0)
    problem.add_constraint("speed", problem.v, 50.0, 60.0)
    problem.add_constraint("torque_limit", problem.tau, -2.0, 2.0, scale=1 / 2)
    plan = problem.solve([0.3])
    assert not plan.success and "wish" not in plan.message
    assert plan.violations[-1].constraint == "wish" and str(plan.violations[0]) in plan.message
    controller = Controller(problem)
    controller.step([0.3], [0.0])
    assert controller.status == "infeasible" and not controller.ok
    assert "speed (row 0) is missed by" in controller.message and "wish" not in controller.message
    controller.set(speed_lower=-60.0)
    controller.step([0.3], [0.0])
    assert controller.ok
    controller.set(speed_lower=50.0, torque_limit_lower=-0.5, torque_limit_upper=0.5)
    for _ in range(4):
        tau = controller.step([1.3], [-20.0])
        assert tau[0] == pytest.approx(0.5)  # all that the motor has, towards what is missed


def test_torque_is_clipped(controller: Controller) -> None:
    controller.step(START, [0.0, 0.0])
    tau = controller.step(START + 1.5, [3.0, -3.0])
    assert np.abs(tau).max() <= 40


@pytest.mark.slow
def test_theta_changes_without_compiling() -> None:
    plain = hc.load("planar_2r")
    robot = plain.parametric("payload", payload_link="tip")
    problem = Problem(robot, horizon=5, dt=0.05)
    problem.add_posture_cost([0.2, 0.4], 1.0, 10.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_torque_cost(1e-3)
    controller = Controller(problem)
    loaded = plain.with_payload("tip", 2.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))
    q, v = np.array([0.2, 0.4]), np.zeros(2)
    np.testing.assert_allclose(controller.step(q, v), plain.gravity(q), atol=1e-3)
    controller.set(theta=[2.0] + 9 * [0.0])
    np.testing.assert_allclose(controller.step(q, v), loaded.gravity(q), atol=1e-3)


def test_a_period_shorter_than_the_grid() -> None:
    problem = arm()
    reset(problem)
    controller = Controller(problem, period=0.01)
    robot = problem.robot
    assert robot is not None
    q, _ = simulate(controller, START, np.zeros(2), 150)
    assert np.linalg.norm(robot.pose("tip")(q)[:3, 3] - TARGET) < 0.03


def test_a_budget_of_time_stops_a_step() -> None:
    problem = arm()
    reset(problem)
    controller = Controller(problem, budget=1e-9)
    for _ in range(30):
        tau = controller.step(START, [0.0, 0.0])
        assert np.isfinite(tau).all() and not controller.ok
    assert controller.status == "time limit" and "allowed time" in controller.message


@pytest.mark.slow
def test_an_ode() -> None:
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    problem = Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=20, dt=0.1)
    problem.add_cost("state", x, 1.0, end_weight=10.0)
    problem.add_cost("effort", u, 0.1)
    problem.add_constraint("force", u, -0.5, 0.5)
    controller, state = Controller(problem), np.array([1.0, 0.0])
    for _ in range(60):
        force = controller.step(state)
        assert np.abs(force).max() <= 0.5 + 1e-6
        state = state + 0.1 * np.array([state[1] + 0.05 * force[0], force[0]])
    np.testing.assert_allclose(state, 0.0, atol=0.02)


def test_as_many_iterations_as_the_budget_has_time_for() -> None:
    problem = arm()
    reset(problem)
    counts = []
    for budget in (0.0, 10.0, 1e-9):
        controller = Controller(problem, iterations=4)
        controller.start(START)
        controller._loop.set(
            loop_budget=budget
        )  # from here on: a cold start may take longer than the smallest
        controller._engine.set(budget=budget)
        controller.step(START, [0.0, 0.0])
        counts.append(controller.statistics["iterations"])
        assert controller._engine._settings[3] == budget
    assert counts == [4, 4, 0]


@pytest.mark.slow
def test_a_free_duration_shrinks_as_the_robot_gets_there() -> None:
    """The plan is shifted by the period (s), not by that part of its grid: the rest takes that much less."""
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    problem = Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=20, dt=0.1, duration=(0.1, 20.0))
    problem.add_constraint("force", u, -1, 1)
    problem.set_end(x=[1.0, 0.0])
    problem.add_cost("time", problem.duration, 0.0, end_weight=1.0, square=False)
    with pytest.raises(hc.InputError, match="period"):
        Controller(problem)
    controller, state = Controller(problem, period=0.05, iterations=2), np.zeros(2)
    durations = []
    for _ in range(12):
        force = controller.step(state)
        assert controller.ok, controller.message
        durations.append(controller.plan.duration)
        state = state + 0.05 * np.array([state[1] + 0.025 * force[0], force[0]])
    np.testing.assert_allclose(durations, 2 - 0.05 * np.arange(12), atol=5e-3)
    assert controller.gains.shape == (1, 2)
    plan = controller.plan
    controller.prepare()
    later = [np.interp(plan.t + 0.05, plan.t, column) for column in plan.x.T]
    np.testing.assert_allclose(controller._engine["x"], np.transpose(later), atol=1e-9)


@pytest.mark.slow
def test_controls_do_not_jump_between_steps_when_jerk_costs() -> None:
    jumps = []
    for weight in (1e-6, 1e-1):
        problem = Problem(hc.load("planar_2r"), horizon=10, dt=0.05)
        problem.add_posture_cost([0.0, 0.5], 10.0, 100.0)
        problem.add_velocity_cost(0.1, 1.0)
        problem.add_control_cost(1e-4)
        problem.add_control_rate_cost(weight)
        controller = Controller(problem)
        simulate(controller, START, np.zeros(2), 5)
        before = controller.plan.u[0]
        controller.set(posture=[0.5, 1.5])
        controller.step(controller.plan.q[1], controller.plan.v[1])  # type: ignore[index]
        assert controller.ok
        jumps.append(np.abs(controller.plan.u[0] - before).max())
    assert jumps[1] < 0.1 * jumps[0]


def test_a_signal_leaves_it_usable(controller: Controller) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    controller.step(START, [0.0, 0.0])
    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for _ in range(20):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.003)
                end = time.monotonic() + 300
                while time.monotonic() < end:
                    controller.step(START, [0.0, 0.0])
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted == 20
    simulate(controller, START, np.zeros(2), 5)
    assert controller.ok


def test_memory_does_not_grow(controller: Controller) -> None:
    def megabytes() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    for _ in range(500):
        controller.step(START, [0.0, 0.0])
    before = megabytes()
    for _ in range(5000):
        controller.set(position=TARGET)
        controller.step(START, [0.0, 0.0])
    assert megabytes() - before < 4


@pytest.mark.slow
def test_an_hour_of_control(controller: Controller) -> None:
    """72,000 periods between targets that change every second."""
    robot = controller.problem.robot
    assert robot is not None
    rng = np.random.default_rng(0)
    q, v, failures = START, np.zeros(2), 0
    simulate(controller, q, v, 100)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for step in range(72_000):
        if step % 20 == 0:
            controller.set(position=[0.6 + 0.4 * rng.random(), 0.0, 0.5 + 0.4 * rng.random()])
        tau = controller.step(q, v)
        assert np.isfinite(tau).all()
        failures += not controller.ok
        v = v + controller.period * robot.forward_dynamics(q, v, tau)
        q = q + controller.period * v
    assert failures < 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096


def test_damping_of_a_step_that_failed_is_not_left_to_all_that_follow() -> None:
    """A search that found nothing left 1e20 of it: no step after it was any use, until it braked."""
    problem = arm()
    reset(problem)
    controller, free = Controller(problem), Controller(problem)
    for one in (controller, free):
        one.step(START, [0.0, 0.0])
    controller._engine.set(regularisation=1e20)
    measured = START + 0.02, [0.1, 0.0]
    np.testing.assert_array_equal(controller.step(*measured), free.step(*measured))
    assert controller.ok
