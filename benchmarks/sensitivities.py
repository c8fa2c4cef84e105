"""Time of trajectory sensitivities as multiples of the simulation itself.

    python -m benchmarks.sensitivities

Panda, 1,000 Runge-Kutta steps of 1 ms: forward columns by the initial state and by 70 inertial parameters,
and the gradient by all parameters and all torques, each divided by the time of one simulation in the same
run. Beside it CasADi's `cvodes` with its variational equations, by the initial state at rest of the same
motion (start and end only), with tolerances of 1e-6 and 1e-10.
"""

from __future__ import annotations

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


def main() -> None:
    hc.set_num_threads(1)
    robot = hc.load("panda").parametric("inertia")
    q0, v0 = np.array([0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8]), np.zeros(7)
    tau = np.tile(robot.gravity(q0, robot.theta.values), (1000, 1))

    def simulated() -> hc.Trajectory:
        return hc.simulate(robot, q0, v0, 1.0, tau, theta=robot.theta.values, friction=False)

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
    end = motion.sensitivity("q0", "v0")
    ours = np.concatenate([end.q[-1], end.v[-1]])
    for tolerance in (1e-6, 1e-10):
        theirs = cvodes(robot, tau[0], tolerance)
        start = np.concatenate([q0, v0])
        off = np.abs(np.array(theirs(start)) - ours).max() / np.abs(ours).max()
        ratio = seconds(lambda theirs=theirs, start=start: theirs(start)) / by_state
        print(f"| cvodes, tolerance {tolerance:g} | {ratio:.3g} times ours by q0, v0 | off by {off:.1e} |")


if __name__ == "__main__":
    main()
