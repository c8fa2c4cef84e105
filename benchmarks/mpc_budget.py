"""Does a controller keep its budget of time? A Panda whose target jumps, in loops of 1.2 s.

    python -m benchmarks.mpc_budget [--loops 25]

The solver's clock is the processor time of its thread, so that other programs on the machine do not count;
what they do to caches and to the other half of a core still does. Python's own share comes on top.
"""

from __future__ import annotations

import argparse

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
"""
START = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
BUDGETS = (None, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3)


def task(robot: hc.Robot, target: np.ndarray) -> Problem:
    """The reach of docs/mpc.md, solved by a solver with that clock."""
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


def loops(problem: Problem, target: np.ndarray, budget: float | None, number: int) -> tuple[list[float], int]:
    """Seconds of all steps but the first of each loop, and how many were out of time."""
    robot = problem.robot
    assert robot is not None
    seconds, late = [], 0
    for seed in range(number):
        rng = np.random.default_rng(seed)
        controller = Controller(problem, budget=budget, iterations=1 if budget is None else 20)
        controller.start(START)
        q, v = START.copy(), np.zeros(7)
        for k in range(60):
            if k == 30:
                controller.set(position=target + 0.3 * rng.normal(size=3))
            tau = controller.step(q, v)
            seconds.append(controller.statistics["seconds"])
            late += controller.status == "out of time"
            for _ in range(10):
                a = robot.forward_dynamics(q, v, tau)
                q, v = q + 0.002 * v + 2e-6 * a, v + 0.002 * a
    return seconds, late


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--loops", type=int, default=25)
    number = parser.parse_args().loops
    robot = hc.load("panda")
    target = robot.pose("panda_link8")(START)[:3, 3] + [-0.05, 0.40, -0.25]
    problem = task(robot, target)
    print("| budget (µs) | median | 90 % below | 99 % below | largest | out of time |")
    print("|---|---|---|---|---|---|")
    for budget in BUDGETS:
        seconds, late = loops(problem, target, budget, number)
        figures = " | ".join(f"{1e6 * one:.0f}" for one in np.percentile(seconds, [50, 90, 99, 100]))
        name = "none" if budget is None else f"{1e6 * budget:.0f}"
        print(f"| {name} | {figures} | {100 * late / len(seconds):.0f} % |", flush=True)


if __name__ == "__main__":
    main()
