"""Time of trajectory sensitivities as multiples of the simulation itself.

    python -m benchmarks.sensitivities panda ur5 kuka_lwr4

1,000 Runge-Kutta steps of 1 ms: forward columns by the initial state and by all inertial parameters, and the
gradient by all parameters and all torques, each divided by the time of one simulation in the same run. Beside
it CasADi's `cvodes` with its variational equations, by the initial state at rest of the same motion (start
and end only), with tolerances of 1e-6 and 1e-10.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import casadi as ca
import numpy as np

import helicoid as hc
from helicoid._typing import Array

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


def cvodes(robot: hc.Robot, tau: Array, tolerance: float) -> ca.Function:
    """∂(q, v)/∂(q0, v0) after one second with a constant torque, by CasADi's integrator."""
    n = robot.nv
    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    a = robot.forward_dynamics(q, v, tau, robot.theta.values)
    dae = {"x": ca.vertcat(q, v), "ode": ca.vertcat(v, a)}
    solver = ca.integrator("F", "cvodes", dae, 0.0, 1.0, {"abstol": tolerance, "reltol": tolerance})
    x0 = ca.MX.sym("x0", 2 * n)
    return ca.Function("J", [x0], [ca.jacobian(solver(x0=x0)["xf"], x0)])


def measure(name: str) -> None:
    """Print the rows of one robot."""
    robot = hc.load(name).parametric("inertia")
    n, θ = robot.nv, robot.theta.values
    # Bent, and sinking under its weight.
    q0, v0 = robot.neutral(within_limits=True) + 0.4 * (-1.0) ** np.arange(n), np.zeros(n)
    tau = np.tile(0.98 * robot.gravity(q0, θ), (1000, 1))

    def simulated() -> hc.Trajectory:
        return hc.simulate(robot, q0, v0, 1.0, tau, theta=θ, friction=False)

    motion = simulated()
    one = seconds(simulated)
    by_state = seconds(lambda: motion.sensitivity("q0", "v0"))
    by_theta = seconds(lambda: motion.sensitivity("theta"))
    adjoint = seconds(lambda: motion.gradient(dL_dq=np.ones(n)))
    print(f"{name}: simulation, 1,000 steps: {1e3 * one:.2f} ms")
    columns, numbers = len(θ), 2 * n + len(θ) + tau.size
    per_column = by_state / one / (2 * n), by_theta / one / columns
    print(f"| {name}, forward by q0, v0 | {2 * n} columns | {per_column[0]:.2f} simulations a column |")
    print(f"| {name}, forward by theta | {columns} columns | {per_column[1]:.2f} simulations a column |")
    print(f"| {name}, adjoint by all | {numbers:,} numbers | {adjoint / one:.2f} simulations in all |")
    end = motion.sensitivity("q0", "v0")
    ours = np.concatenate([end.q[-1], end.v[-1]])
    for tolerance in (1e-6, 1e-10):
        theirs = cvodes(robot, tau[0], tolerance)
        start = np.concatenate([q0, v0])
        off = np.abs(np.array(theirs(start)) - ours).max() / np.abs(ours).max()
        ratio = seconds(lambda theirs=theirs, start=start: theirs(start)) / by_state
        print(f"| {name}, cvodes, tolerance {tolerance:g} | {ratio:.3g} times ours | off by {off:.1e} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sensitivities", description=__doc__)
    parser.add_argument("robots", nargs="*", default=["panda", "ur5", "kuka_lwr4"])
    hc.set_num_threads(1)
    for name in parser.parse_args().robots:
        measure(name)


if __name__ == "__main__":
    main()
