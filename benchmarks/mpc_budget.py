"""Time budgets of a controller: a Panda whose target jumps, in loops of 1.2 s.

    python -m benchmarks.mpc_budget [--loops 25]

The solver's clock is the processor time of its thread, so that other programs on the machine do not count;
what they do to caches and to the other half of a core still does, and so do interrupts, also those of a
hypervisor. Between any two steps a loop that does nothing but look at that clock, for as long as the
budget, says how often the machine itself pauses for more than a tenth of it: that is what no solver can
help. Python's own share comes on top.
"""

from __future__ import annotations

import argparse
import ctypes

import numpy as np

import helicoid as hc
from helicoid.mpc import Controller, Problem
from helicoid.mpc.solver import kernels

CLOCK = """#include <time.h>
double clock_of_thread(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#define HELICOID_NOW clock_of_thread
__attribute__((visibility("default"))) double longest_pause(double seconds) {
  const double began = clock_of_thread();
  double before = began, longest = 0;
  while (before - began < seconds) {
    const double here = clock_of_thread();
    if (here - before > longest) longest = here - before;
    before = here;
  }
  return longest;
}
"""
START = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
BUDGETS = (None, 5e-5, 1e-4, 2e-4, 3e-4, 5e-4, 1e-3, 2e-3)
MAX_RELATIVE_OVERRUN = 0.1  # of a budget


def task(robot: hc.Robot, target: np.ndarray) -> Problem:
    """The reach of docs/how-to/mpc.md, solved by a solver with that clock."""
    problem = Problem(robot, horizon=30, dt=0.02)
    problem.add_position_cost("panda_link8", target, weight=50.0, end_weight=500.0)
    problem.add_posture_cost(START, weight=0.1, end_weight=0.1)
    problem.add_velocity_cost(0.2, end_weight=5.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits(velocity=0.7, torque=0.45)
    text = kernels._text
    kernels._text = lambda stages: CLOCK + text(stages)
    try:
        Controller(problem)  # compiles
    finally:
        kernels._text = text
    return problem


def loops(
    problem: Problem, target: np.ndarray, budget: float | None, number: int
) -> tuple[list[float], int, list[float]]:
    """Seconds of all steps but the first of each loop, number at the time limit, and pauses between them."""
    robot = problem.robot
    assert robot is not None
    seconds: list[float] = []
    pauses: list[float] = []
    late = 0
    for seed in range(number):
        rng = np.random.default_rng(seed)
        controller = Controller(problem, budget=budget, iterations=1 if budget is None else 20)
        pause = controller._engine._library.longest_pause
        pause.argtypes, pause.restype = [ctypes.c_double], ctypes.c_double
        controller.start(START)
        q, v = START.copy(), np.zeros(7)
        for k in range(60):
            if k == 30:
                controller.set(position=target + 0.3 * rng.normal(size=3))
            tau = controller.step(q, v)
            seconds.append(controller.statistics["seconds"])
            late += controller.status == "time limit"
            if budget is not None:
                pauses.append(pause(budget))
            for _ in range(10):
                a = robot.forward_dynamics(q, v, tau)
                q, v = q + 0.002 * v + 2e-6 * a, v + 0.002 * a
    return seconds, late, pauses


def main() -> None:
    """The table; late are steps that take more than 110 % of the budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--loops", type=int, default=25)
    number = parser.parse_args().loops
    robot = hc.load("panda")
    target = robot.pose("panda_link8")(START)[:3, 3] + [-0.05, 0.40, -0.25]
    problem = task(robot, target)
    print("| budget (µs) | median | p90 | p99 | max. | time limit | late | preempted | longest preemption |")
    print("|---|---|---|---|---|---|---|---|---|")
    for budget in BUDGETS:
        seconds, late, pauses = loops(problem, target, budget, number)
        figures = " | ".join(f"{1e6 * one:.0f}" for one in np.percentile(seconds, [50, 90, 99, 100]))
        name = "none" if budget is None else f"{1e6 * budget:.0f}"
        said = f"| {name} | {figures} | {100 * late / len(seconds):.0f} %"
        if budget is not None:
            exceeding = np.mean(np.array(seconds) > (1 + MAX_RELATIVE_OVERRUN) * budget)
            paused = np.mean(np.array(pauses) > MAX_RELATIVE_OVERRUN * budget)
            said += f" | {100 * exceeding:.2f} % | {100 * paused:.1f} % | {1e6 * max(pauses):.0f}"
        print(f"{said} |", flush=True)


if __name__ == "__main__":
    main()
