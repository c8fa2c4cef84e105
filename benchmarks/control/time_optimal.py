"""Time-optimal motion beside toppra: `python -m benchmarks.control.time_optimal [--quick] [--single]`.

Random splines through seven waypoints, 200 intervals, the robots' own velocity limits. Both begin with
waypoints and limits and end with a motion; Helicoid also samples it every 10 ms, with torques. For torque
limits toppra asks Helicoid for inverse dynamics. Times are processor time of a call, of ten calls in a
row or of single ones, the quickest of several rounds in turns. `--picture FILE` draws that of the docs.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import helicoid as hc
from helicoid._typing import Array

SEEDS = (0, 20261116)
GRID = 200


class Case(NamedTuple):
    """A path and its limits; without torques they are None."""

    robot: hc.Robot
    waypoints: Array
    acceleration: Array
    torque: Array | None


def cases(name: str, with_torques: bool, n: int, seed: int) -> list[Case]:
    """Paths within the middle of the joints' ranges, and limits, drawn at random."""
    robot, rng = hc.load(name), np.random.default_rng(seed)
    low, high = np.maximum(robot.limits.lower, -2.5), np.minimum(robot.limits.upper, 2.5)
    found = []
    for _ in range(n):
        waypoints = (low + high) / 2 + 0.3 * (high - low) * rng.uniform(-1, 1, (7, robot.nv))
        acceleration, torque = rng.uniform(3, 15, robot.nv), robot.limits.effort * rng.uniform(0.9, 1.5)
        found.append(Case(robot, waypoints, acceleration, torque if with_torques else None))
    return found


def ours(case: Case) -> hc.control.PathMotion:
    """The whole call."""
    torque = np.inf if case.torque is None else case.torque
    return hc.control.time_optimal(
        case.waypoints, case.robot, None, case.acceleration, torque, position=np.inf, grid=GRID
    )


def toppra(case: Case, s: Array) -> Any:
    """The same of the peer, with the same parameter at the waypoints and the same grid."""
    import toppra as ta
    from toppra import algorithm, constraint

    interpolation = constraint.DiscretizationType.Interpolation
    limits = [
        constraint.JointVelocityConstraint(case.robot.limits.velocity),
        constraint.JointAccelerationConstraint(case.acceleration, interpolation),
    ]
    if case.torque is not None:
        bounds, dry = np.column_stack([-case.torque, case.torque]), np.zeros(case.robot.nv)
        dynamics = case.robot.inverse_dynamics
        limits.append(constraint.JointTorqueConstraint(dynamics, bounds, dry, interpolation))
    path = ta.SplineInterpolator(s, case.waypoints)
    grid = np.linspace(s[0], s[-1], GRID + 1)
    solver = algorithm.TOPPRA(limits, path, gridpoints=grid, parametrizer="ParametrizeConstAccel")
    return solver.compute_trajectory()


def spent(call: Callable[[], Any], repeats: int) -> float:
    """Processor time of a call (s)."""
    begin = time.process_time_ns()
    for _ in range(repeats):
        call()
    return (time.process_time_ns() - begin) * 1e-9 / repeats


def compare(name: str, with_torques: bool, n: int, seed: int, rounds: int, calls: int) -> None:
    """One row: durations of n paths, times of the first."""
    found = cases(name, with_torques, n, seed)
    motions = [ours(case) for case in found]
    peers = [toppra(case, motion.path.breaks) for case, motion in zip(found, motions, strict=True)]
    off = max(abs(a.duration / b.duration - 1) for a, b in zip(motions, peers, strict=True))
    excess = max(max(motion.excess) for motion in motions)
    first, s = found[0], motions[0].path.breaks
    times = [
        (spent(lambda: ours(first), calls), spent(lambda: toppra(first, s), calls)) for _ in range(rounds)
    ]
    mine, theirs = np.min(times, axis=0)
    kind = "velocity, acceleration, torque" if with_torques else "velocity, acceleration"
    print(
        f"| {name}, seed {seed} | {kind} | {1e6 * mine:.0f} µs | {1e6 * theirs:.0f} µs | "
        f"{theirs / mine:.0f} | {off:.1e} | {100 * excess:.1f} % |"
    )


def picture(file: str) -> None:
    """The speed of a Panda along a path, below its limits."""
    robot = hc.load("panda")
    middle = (robot.limits.lower + robot.limits.upper) / 2
    waypoints = middle + 0.6 * np.random.default_rng(3).uniform(-1, 1, (5, 7))
    motion = hc.control.time_optimal(waypoints, robot, acceleration=10.0, grid=400)
    motion.profile.plot().savefig(file, dpi=110)


def main(arguments: list[str]) -> None:
    """Print the table, or draw the picture."""
    if "--picture" in arguments:
        picture(arguments[arguments.index("--picture") + 1])
        return
    try:
        import toppra  # noqa: F401
    except ImportError:
        sys.exit("toppra is missing: pip install 'helicoid[dev]'")
    logging.getLogger("toppra").setLevel(logging.ERROR)
    calls = 1 if "--single" in arguments else 10
    n, rounds = (3, 3) if "--quick" in arguments else (20, 80 // calls)
    print("| robot | limits | Helicoid | toppra | ratio | durations differ by | largest excess |")
    print("|---|---|---|---|---|---|---|")
    for name in ("double_pendulum", "ur5", "panda"):
        for with_torques in (False, True):
            for seed in SEEDS:
                compare(name, with_torques, n, seed, rounds, calls)


if __name__ == "__main__":
    main(sys.argv[1:])
