"""Time budgets, by a clock that counts its readings: no test here depends on the machine."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller, Problem
from helicoid.mpc.solver import kernels

TICK = 1e-6
CLOCK = f"""#define SEEN __attribute__((visibility("default")))
SEEN double looks, interrupted_at, interruption;  /* one of so many seconds, at that look */
SEEN double pace = {TICK};  /* of every look */
static double ticks;
double counted(void) {{
  if (++looks == interrupted_at) ticks += interruption;
  return ticks += pace;
}}
#define HELICOID_NOW counted
"""
START, LIMIT = np.array([0.3, 0.8]), 40.0


@pytest.fixture(scope="module")
def counting() -> Iterator[Problem]:
    """Two joints that run into all of their limits, solved by a solver with that clock."""
    text = kernels._text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "_text", lambda stages: CLOCK + text(stages))
        problem = Problem(hc.load("planar_2r"), horizon=12, dt=0.05)
        problem.add_position_cost("tip", np.zeros(3), weight=50.0, end_weight=500.0)
        problem.add_velocity_cost(0.2, end_weight=5.0)
        problem.add_torque_cost(1e-3)
        problem.add_limits(velocity=0.3, torque=LIMIT / 100)
        Controller(problem)
        yield problem


def steps(problem: Problem, budget: float | None) -> tuple[list[str], list[float], list[float]]:
    """Status, seconds and interior iterations of steps towards targets that jump."""
    robot, controller = hc.load("planar_2r"), Controller(problem, budget=budget)
    q, v, h = START.copy(), np.zeros(2), 0.05 / 5
    said, seconds, iterations = [], [], []
    for k in range(40):
        if k % 10 == 0:
            controller.set(position=3.0 * np.array([np.cos(2.0 * k), 0.0, np.sin(2.0 * k)]))
        tau = controller.step(q, v)
        assert np.isfinite(tau).all() and np.all(np.abs(tau) <= LIMIT * (1 + 1e-9))
        assert not controller.ok or controller.plan.violation <= 0.01
        said.append(controller.status)
        seconds.append(controller.statistics["seconds"])
        iterations.append(controller.statistics["qp_iterations"])
        for _ in range(5):
            a = robot.forward_dynamics(q, v, tau)
            q, v = q + h * v + h**2 / 2 * a, v + h * a
    return said, seconds, iterations


def test_no_step_takes_longer_than_its_budget_and_a_few_looks_at_the_clock(counting: Problem) -> None:
    _, free, most = steps(counting, None)
    for share in (0.1, 0.6):
        budget = share * max(free[1:])
        said, seconds, iterations = steps(counting, budget)
        assert max(seconds[1:]) <= budget + 12 * TICK  # the first step may take twenty
        assert set(said) <= {"ok", "infeasible", "time limit", "no progress"}
        assert np.nanmax([0, *iterations[1:]]) < max(most[1:])


def test_a_program_that_was_not_finished_still_makes_a_step(counting: Problem) -> None:
    """With two thirds of what steps take at most, most of them are none the worse."""
    _, free, _ = steps(counting, None)
    said, _, _ = steps(counting, 0.66 * max(free[1:]))
    assert said.count("time limit") <= 4 and said.count("ok") >= 20


@pytest.mark.parametrize("slower", [10, 1000])
@pytest.mark.parametrize("spell", [3, 8, 20])
def test_after_missed_deadlines_it_soon_recovers(counting: Problem, slower: int, spell: int) -> None:
    """The plan before ends during a long one: it brakes, and starts anew once there is time again."""

    def begun(budget: float | None) -> Controller:
        controller = Controller(counting, budget=budget)
        controller.set(position=[1.2, 0.0, 0.9])
        for _ in range(10):
            controller.step(START, [0.0, 0.0])
        return controller

    controller = begun(3 * begun(None).statistics["seconds"])
    pace = ctypes.c_double.in_dll(controller._engine._library, "pace")
    try:
        pace.value = slower * TICK
        for _ in range(spell):
            controller.step(START, [0.0, 0.0])
        assert controller.status == "time limit"
    finally:
        pace.value = TICK
    said = []
    for _ in range(40):
        controller.step(START, [0.0, 0.0])
        said.append(controller.status)
    assert set(said[15:]) == {"ok"}


def test_what_a_step_without_time_applies_is_the_plan_before(counting: Problem) -> None:
    controller = Controller(counting)
    controller.set(position=[1.2, 0.0, 0.9])
    controller.step(START, [0.0, 0.0])
    planned = controller.plan
    controller._loop.set(loop_budget=TICK / 10)
    controller._engine.set(budget=TICK / 10)
    tau = controller.step(planned.q[1], planned.v[1])
    assert controller.status == "time limit" and not controller.ok
    assert "applying the plan of 1 steps ago" in controller.message
    free = Controller(counting)
    free.set(position=[1.2, 0.0, 0.9])
    free.step(START, [0.0, 0.0])
    np.testing.assert_allclose(tau, free.step(planned.q[1], planned.v[1]), rtol=0.05, atol=0.5)


def test_a_step_is_what_preparing_and_feedback_are(counting: Problem) -> None:
    one, two = Controller(counting), Controller(counting)
    for k in range(4):
        q = START + 0.01 * k
        first = one.step(q, [0.0, 0.0])
        two.prepare()
        np.testing.assert_array_equal(first, two.feedback(q, [0.0, 0.0]))


class Interruptions:
    """Interrupts the steps of a controller, by the clock of its solver."""

    def __init__(self, controller: Controller) -> None:
        library = controller._engine._library
        self.looks, self._at, self._length = (
            ctypes.c_double.in_dll(library, name) for name in ("looks", "interrupted_at", "interruption")
        )

    def come(self, look: int, length: float) -> None:
        """After so many more looks at the clock, for so long (s)."""
        self._at.value, self._length.value = self.looks.value + look, length


def started(problem: Problem, budget: float | None) -> tuple[Controller, Interruptions]:
    """A controller that has made some steps, none of them interrupted."""
    controller = Controller(problem, budget=budget)
    controller.set(position=[1.2, 0.0, 0.9])
    for _ in range(5):
        controller.step(START, [0.0, 0.0])
    return controller, Interruptions(controller)


def test_what_leads_nowhere_is_not_begun(counting: Problem) -> None:
    """Neither a linearisation nor a program, where there is no time for both and what follows."""
    free, clock = started(counting, None)
    looks = clock.looks.value
    free.step(START, [0.0, 0.0])
    whole = clock.looks.value - looks
    controller, clock = started(counting, 4 * TICK)
    for apart in (False, True):
        looks = clock.looks.value
        if apart:
            controller.prepare()  # has all the time it needs
            prepared = clock.looks.value - looks
        controller.step(START, [0.0, 0.0])
        assert controller.status == "time limit" and controller.statistics["iterations"] == 0
        assert clock.looks.value - looks < 0.6 * whole + (prepared if apart else 0)
        assert controller.statistics["seconds"] < 12 * TICK


def test_one_interruption_does_not_spoil_the_steps_that_follow(counting: Problem) -> None:
    free = started(counting, None)[0].statistics["seconds"]
    controller, clock = started(counting, 3 * free)
    for look in range(1, 25):
        clock.come(look, 2 * free)
        controller.step(START, [0.0, 0.0])
        for _ in range(3):
            controller.step(START, [0.0, 0.0])
            assert controller.status == "ok"


def test_a_step_that_is_interrupted_gives_up_where_that_ends_in_time(counting: Problem) -> None:
    """Where giving up would be late as well, the new plan is better."""
    budget = 3 * started(counting, None)[0].statistics["seconds"]
    said: list[str] = []
    for length in np.arange(0.6 * budget, 1.2 * budget, TICK):
        controller, clock = started(counting, budget)
        clock.come(12, length)  # in the last iteration of the interior point
        controller.step(START, [0.0, 0.0])
        if controller.status == "time limit":
            assert 0.9 * budget < controller.statistics["seconds"] <= 1.1 * budget + 4 * TICK
        said += [controller.status] * (said[-1:] != [controller.status])
    assert said == ["ok", "time limit", "ok"]


def test_a_start_that_was_interrupted_does_not_stop_all_steps(counting: Problem) -> None:
    """What was timed once only, and then took too long for any step, is tried again."""
    budget, tip = 3 * started(counting, None)[0].statistics["seconds"], hc.load("planar_2r").pose("tip")
    for look in range(1, 26):
        controller = Controller(counting, budget=budget)
        controller.set(position=tip(START)[:3, 3])  # there already: one program is enough
        Interruptions(controller).come(look, 2 * budget)
        for _ in range(40):
            controller.step(START, [0.0, 0.0])
        assert controller.status == "ok"
