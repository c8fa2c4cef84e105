"""Cost of a control law inside a simulation: `python -m benchmarks.law_in_loop`.

Computed torque as a `Function`, as a CasADi function, and as the same `Function` called from Python (a
lambda), over the bare simulation of the same robot: ratios of processor time on one thread, best of several
rounds in which all take turns. One rollout of a second at 1 kHz by Runge-Kutta, and 256 rollouts of 0.1 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

import helicoid as hc

ROUNDS = 7
ROBOTS = ("planar_2r", "ur5", "panda")


def computed_torque(robot: hc.Robot, goal: np.ndarray) -> hc.Function:
    """ID(q, v, K (goal - q) - D v), the heaviest of the usual laws."""
    q, v = ca.SX.sym("q", robot.nq), ca.SX.sym("v", robot.nv)
    tau = robot.inverse_dynamics(q, v, 100.0 * (goal - q) - 20.0 * v)
    return hc.Function.from_expressions("computed_torque", {"q": q, "v": v}, {"tau": tau})


def ratios(name: str, rollouts: int, duration: float) -> dict[str, float]:
    """Processor time over that of the bare simulation, by kind of controller."""
    robot = hc.load(name)
    goal = robot.random(np.random.default_rng(0))
    law = computed_torque(robot, goal)
    q0 = goal if rollouts == 1 else np.tile(goal, (rollouts, 1))
    controllers: dict[str, Any] = {
        "bare": None,
        "Function": law,
        "CasADi": law.casadi,
        "Python": lambda t, q, v: law(q, v),
    }

    def run(controller: Any) -> Callable[[], object]:
        return lambda: hc.simulate(robot, q0, duration=duration, controller=controller, progress=False)

    runs = {key: run(one) for key, one in controllers.items()}
    best = dict.fromkeys(runs, np.inf)
    for round in range(ROUNDS + 1):  # the first one compiles
        for key, call in runs.items():
            began = time.process_time()
            call()
            if round:
                best[key] = min(best[key], time.process_time() - began)
    return {key: seconds / best["bare"] for key, seconds in best.items() if key != "bare"}


def main() -> None:
    """The table."""
    hc.set_num_threads(1)
    print(f"{'ratio to no controller':26}{'Function':>10}{'CasADi':>10}{'Python':>10}")
    for rollouts, duration in ((1, 1.0), (256, 0.1)):
        for name in ROBOTS:
            found = ratios(name, rollouts, duration)
            print(f"{name + f', {rollouts} rollouts':26}" + "".join(f"{x:10.2f}" for x in found.values()))


if __name__ == "__main__":
    main()
