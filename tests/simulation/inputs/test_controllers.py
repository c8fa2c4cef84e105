"""Equal motions by every kind of controller."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import InputError

K, D, GOAL = 8.0, 2.0, np.array([0.3, -0.4])
DURATION, DT = 0.1, 0.01


@pytest.fixture(scope="module")
def robot() -> hc.Robot:
    return hc.load("planar_2r")


def law(t: float, q: Any, v: Any) -> Any:
    return K * (GOAL - q) - D * v + t


def run(robot: hc.Robot, controller: Any, **options: Any) -> hc.Trajectory:
    return hc.simulate(robot, [0.1, 0.2], duration=DURATION, dt=DT, controller=controller, **options)


@pytest.fixture(scope="module")
def expected(robot: hc.Robot) -> hc.Trajectory:
    return run(robot, law)


def symbols() -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    return t, q, v, law(t, q, v)


def casadi_function(names: bool) -> ca.Function:
    t, q, v, tau = symbols()
    return (
        ca.Function("law", [v, t, q], [tau], ["v", "t", "q"], ["tau"])
        if names
        else ca.Function("law", [t, q, v], [tau])
    )


def two_outputs(name: str) -> hc.Function:
    t, q, v, tau = symbols()
    return hc.Function.from_expressions("law", {"q": q, "t": t, "v": v}, {"other": q + v, name: tau})


@dataclass
class Stepping:
    """A controller object, which knows no time but counts its steps."""

    period: float = DT
    steps: int = 0
    seen: list[Any] = field(default_factory=list)

    def step(self, q: Any, v: Any, again: bool = False) -> Any:
        self.steps += 1
        return law((self.steps - 1) * self.period, q, v)


@dataclass
class Measuring(Stepping):
    """One that also wants the torque that acted until now."""

    def step(self, q: Any, v: Any, tau_measured: Any) -> Any:  # type: ignore[override]
        self.seen.append(np.array(tau_measured))
        return super().step(q, v)


@pytest.mark.parametrize(
    "controller",
    [
        pytest.param(lambda: lambda t, q, v: law(t, q, v)[:, None], id="columns"),
        pytest.param(lambda: lambda t, q, v: ca.DM(law(t, q, v)), id="DM"),
        pytest.param(lambda: lambda t, q, v: list(law(t, q, v)), id="list"),
        pytest.param(lambda: casadi_function(names=True), id="CasADi, named"),
        pytest.param(lambda: casadi_function(names=False), id="CasADi, in order"),
        pytest.param(lambda: two_outputs("tau"), id="Function with another output"),
        pytest.param(Stepping, id="object"),
        pytest.param(Measuring, id="object that measures torque"),
    ],
)
def test_all_ways_to_state_a_law_agree(robot: hc.Robot, expected: hc.Trajectory, controller: Any) -> None:
    found = run(robot, controller())
    np.testing.assert_allclose(found.tau, expected.tau, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=1e-13)


def test_an_object_is_given_the_torque_that_acted(robot: hc.Robot, expected: hc.Trajectory) -> None:
    controller = Measuring()
    run(robot, controller)
    np.testing.assert_allclose(controller.seen, np.vstack([np.zeros(2), expected.tau[:-2]]), atol=1e-12)


def test_functions_steer_a_batch(robot: hc.Robot) -> None:
    q0 = np.array([[0.1, 0.2], [0.5, -0.3], [0.0, 1.0]])
    t, q, v, tau = symbols()
    ours = hc.Function.from_expressions("law", {"q": q, "t": t, "v": v}, {"tau": tau})
    first, *others = (
        hc.simulate(robot, q0, duration=DURATION, dt=DT, controller=one)
        for one in (law, casadi_function(names=True), ours)
    )
    for other in others:
        np.testing.assert_allclose(other.q, first.q, rtol=0, atol=1e-13)


def test_a_function_of_the_robot_is_a_controller(robot: hc.Robot) -> None:
    held = hc.simulate(robot, [0.7, 0.4], duration=0.1, dt=0.01, controller=robot.gravity)
    np.testing.assert_allclose(held.q[-1], [0.7, 0.4], atol=1e-12)


def test_an_object_with_a_period_is_asked_once_in_it(robot: hc.Robot) -> None:
    controller = Stepping(period=0.02)
    motion = run(robot, controller)
    assert controller.steps == 5
    np.testing.assert_array_equal(motion.tau[:-1:2], motion.tau[1::2])


def test_torques_over_time_are_played_again(robot: hc.Robot, expected: hc.Trajectory) -> None:
    again = run(robot, expected)
    np.testing.assert_allclose(again.q, expected.q, rtol=0, atol=1e-13)
    finer = hc.simulate(robot, [0.1, 0.2], duration=DURATION, dt=DT / 4, controller=expected)
    np.testing.assert_allclose(finer.q[-1], expected.q[-1], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(finer.tau[:-1], np.repeat(expected.tau[:-1], 4, axis=0))


def test_controllers_and_plans_of_mpc(robot: hc.Robot) -> None:
    problem = hc.mpc.Problem(robot, horizon=10, dt=DT)
    problem.add_posture_cost(GOAL, 10.0, end_weight=10.0)
    problem.add_velocity_cost(0.1)
    problem.add_control_cost(1e-3)
    closed = run(robot, hc.mpc.Controller(problem), friction=False)
    assert np.linalg.norm(closed.q[-1] - GOAL) < np.linalg.norm(closed.q[0] - GOAL)
    plan = problem.solve([0.1, 0.2])
    opened = run(robot, plan, friction=False)
    np.testing.assert_allclose(opened.tau[:-1], plan.tau, rtol=0, atol=1e-12)
    with pytest.raises(InputError, match=r"the simulation from 0 to 0\.2 s: take duration=0\.1"):
        hc.simulate(robot, [0.1, 0.2], duration=0.2, dt=DT, controller=plan)


def q_only(size: int) -> ca.Function:
    q = ca.SX.sym("q", size)
    return ca.Function("law", [q], [q], ["q"], ["tau"])


@dataclass
class NeedsReference:
    def step(self, q: Any, v: Any, q_ref: Any) -> Any:
        return q_ref


@dataclass
class NoTorques:
    t: Any = None
    tau: Any = None


@pytest.mark.parametrize(
    ("controller", "message"),
    [
        (lambda: q_only(3), "input q has 3 numbers, where robot 'planar_2r' has 2"),
        (lambda: two_outputs("b"), "outputs other, b, and none called tau"),
        (
            lambda: hc.load("planar_2r").parametric("payload", payload_link="tip").gravity,
            "inputs q, theta; .* not theta",
        ),
        (lambda: Stepping(period=0.015), "no multiple of dt = 0.01 s: take dt=0.015"),
        (lambda: Stepping(period=0.001), "no multiple of dt"),
        (NeedsReference, "cannot be called with q and v alone"),
        (NoTorques, "has no torques tau"),
        (lambda: lambda t, q, v: ca.SX.sym("x", 2), "must return"),
        (lambda: "fast", "the torque must be numbers or a callable"),
    ],
)
def test_what_does_not_fit_is_refused(robot: hc.Robot, controller: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(robot, controller())


def test_an_object_controls_one_robot(robot: hc.Robot) -> None:
    with pytest.raises(InputError, match="controls one robot"):
        hc.simulate(robot, np.zeros((2, 2)), duration=DT, dt=DT, controller=Stepping())
