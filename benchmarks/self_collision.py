"""What self-collision costs a controller: `python -m benchmarks.self_collision`.

The task of `benchmarks.mpc`, a Panda with all its limits, without and with `add_self_collision` on the
capsules of its meshes, hard and soft: warm steps of controllers that take turns, each on its own simulated
course with the same noise. Processor time, medians; and how near the plan comes to itself.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.mpc import NOISE, Q0, panda, task
from helicoid._typing import Array
from helicoid.mpc import Controller

STEPS = 400
KINDS = {"without": None, "hard": {}, "soft": {"soft": 100.0}}


def warm_steps(controllers: dict[str, Controller], steps: int = STEPS) -> dict[str, Array]:
    """Seconds of each step of each controller, in turns."""
    rng = np.random.default_rng(0)
    times: dict[str, list[float]] = {name: [] for name in controllers}
    for one in controllers.values():
        one.step(Q0, np.zeros(7))
    for _ in range(steps):
        noise = NOISE * rng.normal(size=14)
        for name, one in controllers.items():
            x = one._engine["x"][1] + noise
            q, v = x[:7].copy(), x[7:].copy()
            began = time.process_time()
            one.step(q, v)
            times[name].append(time.process_time() - began)
    return {name: np.array(values) for name, values in times.items()}


def main() -> None:
    """The table."""
    robot = panda()
    print(robot.capsules())
    pairs = robot.capsules().could_meet(0.02)
    print(f"{len(pairs)} of {len(robot.capsules().pairs)} pairs could come within 2 cm")
    problems = {}
    for name, options in KINDS.items():
        problems[name] = task(robot)
        if options is not None:
            problems[name].add_self_collision(margin=0.02, **options)
    plans = {name: problem.solve(Q0) for name, problem in problems.items()}
    times = warm_steps({name: Controller(problem) for name, problem in problems.items()})
    bare = float(np.median(times["without"]))
    print(f"{'':10}{'warm step':>12}{'over bare':>12}{'cold':>8}{'nearest':>12}")
    for name, plan in plans.items():
        warm = float(np.median(times[name]))
        numbers = [robot.capsules().pairs.index(pair) for pair in pairs]
        nearest = robot.capsules().distances(plan.q)[:, numbers].min()
        print(f"{name:10}{1e6 * warm:9.0f} µs{warm / bare:12.2f}{plan.iterations:8d}{1e3 * nearest:9.0f} mm")


if __name__ == "__main__":
    main()
