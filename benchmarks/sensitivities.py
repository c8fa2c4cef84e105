"""Time of trajectory sensitivities as multiples of the simulation itself.

    python -m benchmarks.sensitivities

Panda, 1,000 Runge-Kutta steps of 1 ms: forward columns by the initial state and by 70 inertial parameters,
and the gradient by all parameters and all torques, each divided by the time of one simulation in the same
run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import helicoid as hc

REPEATS = 7


def seconds(work: Callable[[], object]) -> float:
    """Shortest processor time of several runs, after one that compiles."""
    work()
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    hc.set_num_threads(1)
    robot = hc.load("panda").parametric("inertia")
    q0, v0 = np.array([0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8]), np.zeros(7)
    tau = np.tile(robot.gravity(q0, robot.theta.values), (1000, 1))

    def simulated() -> hc.Trajectory:
        return hc.simulate(robot, q0, v0, 1.0, tau, theta=robot.theta.values)

    motion = simulated()
    one = seconds(simulated)
    by_state = seconds(lambda: motion.sensitivity("q0", "v0"))
    by_theta = seconds(lambda: motion.sensitivity("theta"))
    adjoint = seconds(lambda: motion.gradient(dL_dq=np.ones(7)))
    print(f"simulation, 1,000 steps: {1e3 * one:.2f} ms")
    columns, numbers = len(robot.theta), 14 + len(robot.theta) + tau.size
    print(f"| forward by q0, v0 | 14 columns | {by_state / one / 14:.2f} simulations a column |")
    print(f"| forward by theta | {columns} columns | {by_theta / one / columns:.2f} simulations a column |")
    print(f"| adjoint by q0, v0, theta, tau | {numbers} numbers | {adjoint / one:.2f} simulations in all |")


if __name__ == "__main__":
    main()
