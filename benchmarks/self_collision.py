"""Cost of self-collision avoidance in a controller: `python -m benchmarks.self_collision`.

The task of `benchmarks.mpc`, a Panda with all its limits, without and with `add_self_collision` on the
capsules of its meshes, hard and soft: warm steps of controllers that take turns, each on its own simulated
course with the same noise. Processor time, medians; and how near the plan comes to itself.
`--picture FILE` draws instead how a Panda reaches behind itself, with and without.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import helicoid as hc
from benchmarks.mpc import NOISE, Q0, panda, task
from helicoid._typing import Array
from helicoid.mpc import Controller
from helicoid.robot.collision import Capsules

STEPS = 400
START = np.array([0.0, 0.3, 0.0, -2.4, 0.0, 2.5, 0.785])
TARGET_BEHIND_BASE = (-0.25, 0.0, 0.35)  # m, on the other side of the robot's own column
KINDS: dict[str, dict[str, Any] | None] = {"without": None, "hard": {"soft": None}, "soft": {}}


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
    print(f"{'':10}{'warm step':>12}{'ratio':>12}{'cold':>8}{'distance':>12}")
    for name, plan in plans.items():
        warm = float(np.median(times[name]))
        numbers = [robot.capsules().pairs.index(pair) for pair in pairs]
        nearest = robot.capsules().distances(plan.q)[:, numbers].min()
        print(f"{name:10}{1e6 * warm:9.0f} µs{warm / bare:12.2f}{plan.iterations:8d}{1e3 * nearest:9.0f} mm")


def reach_behind(capsules: Capsules, apart: bool) -> hc.mpc.Plan:
    """A plan of the bundled Panda for its flange to a point behind it."""
    problem = hc.mpc.Problem(capsules.robot, horizon=40, dt=0.03)
    problem.add_position_cost("panda_link8", TARGET_BEHIND_BASE, weight=50.0, end_weight=2000.0)
    problem.add_posture_cost(START, weight=0.05, end_weight=0.05)
    problem.add_velocity_cost(0.1, end_weight=5.0)
    problem.add_torque_cost(1e-4)
    problem.add_limits(velocity=0.9, torque=0.8)
    if apart:
        problem.add_self_collision(margin=0.02, capsules=capsules)
    return problem.solve(START)


def outline(start: Array, end: Array, radius: float) -> Array:
    """The outline of a capsule in a plane."""
    along = np.arctan2(*(end - start)[::-1])
    halves = [along + np.linspace(-np.pi / 2, np.pi / 2, 20), along + np.linspace(np.pi / 2, 1.5 * np.pi, 20)]
    arcs = [radius * np.column_stack([np.cos(angles), np.sin(angles)]) for angles in halves]
    return np.vstack([end + arcs[0], start + arcs[1]])


def draw(path: str) -> None:
    """Both plans where they come nearest to themselves, from the side, and how near they come over time."""
    from matplotlib import pyplot

    robot = hc.load("panda")
    capsules = robot.capsules("visual")
    numbers = [capsules.pairs.index(pair) for pair in capsules.could_meet(0.02)]
    figure, axes = pyplot.subplots(1, 3, figsize=(10.5, 3.6), width_ratios=(1, 1, 1.3))
    for axis, apart, color in zip(axes, (False, True), ("C3", "C0"), strict=False):
        plan = reach_behind(capsules, apart)
        print(plan)
        away = capsules.distances(plan.q)[:, numbers]
        worst, pair = np.unravel_index(np.argmin(away), away.shape)
        q, touching = plan.q[worst], capsules.pairs[numbers[pair]]
        for k, one in enumerate(capsules):
            T = robot.pose(one.link)(q)
            ends = [(T[:3, :3] @ np.asarray(end) + T[:3, 3])[[0, 2]] for end in (one.start, one.end)]
            shade = color if k in touching else "0.75"
            axis.fill(*outline(*ends, one.radius).T, color=shade, alpha=0.6, edgecolor="0.3", linewidth=0.8)
        tool = np.array([robot.pose("panda_link8")(row)[:3, 3] for row in plan.q])
        axis.plot(tool[:, 0], tool[:, 2], color="0.2", linewidth=1)
        axis.plot(TARGET_BEHIND_BASE[0], TARGET_BEHIND_BASE[2], "x", color="black")
        title = "with add_self_collision" if apart else "without"
        axis.set(title=title, aspect="equal", xlabel="x (m)", ylabel="z (m)")
        axes[2].plot(plan.t, 100 * away.min(axis=1), color=color, label=title)
    axes[2].axhline(2, color="0.4", linestyle="--", linewidth=0.8)
    axes[2].axhline(0, color="0.4", linewidth=0.8)
    axes[2].set(xlabel="time (s)", ylabel="least distance (cm); margin dashed")
    axes[2].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="draw a reach instead, into this file")
    chosen = parser.parse_args()
    draw(chosen.picture) if chosen.picture else main()
