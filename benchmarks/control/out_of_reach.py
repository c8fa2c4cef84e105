"""Differential IK with targets out of reach: `python -m benchmarks.control.out_of_reach [--seed 0]`.

Arms and a humanoid on its feet are given target poses beyond their reach, with a posture as the last level
or in the weighted sum. After five seconds a robot should be at rest, or its status say why it is not.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import helicoid as hc
from benchmarks.control.differential import talos
from helicoid._typing import Array
from helicoid.control import DifferentialIK, PoseTask, PostureTask
from helicoid.control.program.levels import Priorities
from helicoid.geometry import so3

DT, SECONDS = 0.01, 5.0
AT_REST = 1e-3
"""Largest velocity of a joint at rest (rad/s, m/s)."""

ARRIVED = 1e-6
"""Distance (m) of a target that is within reach after all; the posture may still move."""


class Case(NamedTuple):
    """A robot, its start configuration, the frame with the target, and frames that stay fixed."""

    robot: hc.Robot
    q: Array
    frame: str
    fixed: tuple[str, ...] = ()

    def controller(self, priorities: Priorities) -> DifferentialIK:
        """Controller with three levels: feet, then the hand, then the posture."""
        feet = [PoseTask(name, self.robot.pose(name)(self.q), name=name) for name in self.fixed]
        tasks = [*([feet] if feet else []), PoseTask(self.frame, name="hand")]
        return DifferentialIK(self.robot, [*tasks, PostureTask(self.q)], DT, priorities)

    def targets(self, count: int, seed: int) -> Iterator[Array]:
        """Target poses (4, 4) at 1.2 to 2 times the reach of the frame, in all directions."""
        rng = np.random.default_rng(seed)
        start = self.robot.pose(self.frame)
        base = start(self.q)[:3, 3] if self.fixed else np.zeros(3)
        samples = [start(self.robot.random(rng))[:3, 3] for _ in range(2000)]
        reach = 1.5 if self.fixed else np.linalg.norm(samples, axis=1).max()
        for _ in range(count):
            direction = rng.normal(size=3)
            T = np.eye(4)
            T[:3, :3] = so3.exp(rng.normal(size=3))
            T[:3, 3] = base + direction / np.linalg.norm(direction) * reach * rng.uniform(1.2, 2.0)
            yield T


def arm(name: str, frame: str, q: Any) -> Callable[[], Case]:
    def make() -> Case:
        robot = hc.load(name) if name in hc.robots() else _example(name)
        return Case(robot, np.array(q, dtype=float), frame)

    return make


def _example(name: str) -> hc.Robot:
    path = next(file for file in files("example-robot-data") or () if str(file).endswith(name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hc.load(Path(str(path.locate())))


def humanoid() -> Case:
    subject = talos()
    assert subject is not None
    return Case(subject.robot, subject.posture, "gripper_left_base_link", tuple(subject.frames))


CASES: dict[str, Callable[[], Case]] = {
    "panda": arm("panda", "panda_link8", [0, -0.5, 0, -2, 0, 1.5, 0.8]),
    "ur5": arm("ur5", "tool0", [0, -1, 1.5, 0.3, 1, 0]),
    "kuka_lwr4": arm("kuka_lwr4", "flange", [0, 0.5, 0, -1.5, 0, 0.8, 0]),
    "xarm7": arm("xarm7.urdf", "link7", [0, -0.5, 0, 1, 0, 1, 0]),
    "talos": humanoid,
}


class Outcome(NamedTuple):
    """Counts over many targets: robots at rest, robots that still move, and the largest velocities of these.

    `reported` robots move and their status is not "ok"; `false_ok` robots move with the status "ok".
    """

    at_rest: int
    reported: int
    false_ok: int
    largest_velocity: float
    largest_jump: float


def run(case: Case, priorities: Priorities, count: int, seed: int) -> Outcome:
    """Follow each target for some seconds from the same configuration."""
    ik = case.controller(priorities)
    at_rest, reported, false_ok, largest, jump = 0, 0, 0, 0.0, 0.0
    for T in case.targets(count, seed):
        ik.set(hand=T)
        ik.reset()
        q, steps, last = case.q.copy(), int(SECONDS / DT), []
        for k in range(steps):
            v = ik.step(q)
            q = case.robot.integrate(q, DT * v)
            if k >= steps - 10:
                last.append(v)
        v_max = float(np.abs(last).max())
        largest, jump = max(largest, v_max), max(jump, float(np.abs(np.diff(last, axis=0)).max()))
        is_moving = v_max >= AT_REST
        at_rest += not is_moving
        reported += is_moving and not ik.ok
        arrived = np.linalg.norm(case.robot.pose(case.frame)(q)[:3, 3] - T[:3, 3]) < ARRIVED
        false_ok += is_moving and ik.ok and not arrived
    return Outcome(at_rest, reported, false_ok, largest, jump)


def main() -> None:
    parser = argparse.ArgumentParser(description="differential inverse kinematics with targets out of reach")
    parser.add_argument("--targets", type=int, default=1000, help="of all robots together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--robots", nargs="*", default=list(CASES))
    given = parser.parse_args()
    for name in given.robots:
        case = CASES[name]()
        for priorities in ("weighted", "strict"):
            found = run(case, priorities, given.targets // len(given.robots), given.seed)  # type: ignore[arg-type]
            print(f"{name:10} {priorities:9} {found}", flush=True)


if __name__ == "__main__":
    main()
