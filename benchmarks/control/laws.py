"""Steps of the laws of control on a Panda, beside the bare call of gravity: python -m benchmarks.control.laws

Processor time of a call from Python with arrays, the least of some rounds; laws take turns within a round.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import helicoid as hc

ROUNDS, CALLS = 30, 2000
FRAME = "panda_link8"


def steps() -> dict[str, Callable[[], Any]]:
    """A step of each law, and what it is compared with."""
    robot = hc.load("panda")
    q, v = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8]), np.full(7, 0.1)
    T, rest, zero, axes = robot.pose(FRAME)(q), np.zeros(7), np.zeros(6), np.eye(3)
    control = hc.control
    impedance = control.JointImpedance(robot, 100.0, 10.0)
    computed = control.ComputedTorque(robot, 10.0)
    task = control.TaskSpaceControl(robot, FRAME, frequency=10.0)
    hybrid = control.OperationalSpaceControl(robot, FRAME, motion=(1, 1, 1, 1, 1, 0))
    ordered = control.PrioritisedInverseDynamics(robot, [control.PoseTask(FRAME, T), control.PostureTask(q)])
    adaptive = control.AdaptiveControl(robot, 10.0, 5.0, dt=1e-3)
    observer = control.MomentumObserver(robot, dt=1e-3)
    return {
        "robot.gravity": lambda: robot.gravity(q),
        "JointImpedance": lambda: impedance.step(q, v, q, rest),
        "ComputedTorque": lambda: computed.step(q, v, q, rest, rest),
        "TaskSpaceControl": lambda: task.step(q, v, T, zero, zero, q),
        "OperationalSpaceControl": lambda: hybrid.step(q, v, T, zero, zero, zero, zero, axes, q),
        "PrioritisedInverseDynamics": lambda: ordered.step(q, v),
        "AdaptiveControl": lambda: adaptive.step(q, v, q, rest, rest),
        "MomentumObserver": lambda: observer.step(q, v, rest),
    }


def main() -> None:
    """Time all, and print a table."""
    found = dict.fromkeys(laws := steps(), np.inf)
    for _ in range(ROUNDS):
        for name, step in laws.items():
            start = time.process_time()
            for _ in range(CALLS):
                step()
            found[name] = min(found[name], (time.process_time() - start) / CALLS)
    bare = found["robot.gravity"]
    for name, seconds in found.items():
        print(f"{name:28s} {1e6 * seconds:5.2f} µs   {seconds / bare:4.1f} times robot.gravity")


if __name__ == "__main__":
    main()
