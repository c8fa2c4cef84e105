"""Whole-body control beside peers: `python -m benchmarks.control.whole_body`.

A Talos on two soles, its center of mass to stay or to go far, and a Solo12 on four feet: center of mass,
orientation of the trunk and posture by weights, with friction and limits of torque and velocity, at states
around a posture. µs of processor time a step, called from Python: the median and the 99th percentile of all
steps, of the best of rounds in which all take turns. Peers run in the interpreters that the variables
HELICOID_TSID and HELICOID_PLACO name.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.control.differential import Subject, talos, written
from benchmarks.mpc_trot import QUADRUPEDS, standing
from helicoid.control import (
    CenterOfMassTask,
    OrientationTask,
    PointContact,
    PostureTask,
    SurfaceContact,
    WholeBody,
)

PEERS = {"tsid": "HELICOID_TSID", "placo": "HELICOID_PLACO"}
SAMPLES, ROUNDS, REPEATS, SEED, DT = 50, 3, 12, 20261117, 0.002
FRICTION, FREQUENCY, WEIGHTS, FORCE = 0.4, 10.0, (1.0, 1.0, 1e-3), 1e-5


class Case(NamedTuple):
    """A robot with what it stands on, and where it is to go."""

    title: str
    subject: Subject
    trunk: str
    contacts: tuple[str, ...]
    sole: tuple[float, ...]
    center: Any


def cases() -> list[Case]:
    """Compared cases; none where example-robot-data is not installed."""
    found = []
    humanoid = talos()
    if humanoid is not None:
        here = humanoid.robot.center_of_mass(humanoid.posture)
        soles, far = ("left_sole_link", "right_sole_link"), here + np.array([0.1, 0.1, -0.2])
        found.append(Case("Talos, stands", humanoid, "torso_2_link", soles, (0.2, 0.12), here))
        found.append(Case("Talos, far target", humanoid, "torso_2_link", soles, (0.2, 0.12), far))
    robot, q = standing("solo12")
    dog = Subject(robot, q, {}, np.zeros(0), DT)
    feet, here = QUADRUPEDS["solo12"].feet, robot.center_of_mass(q)
    found.append(Case("Solo12, stands", dog, "base_link", feet, (), here))
    return found


def states(case: Case) -> tuple[Any, Any]:
    """Around the posture, within limits."""
    robot, rng = case.subject.robot, np.random.default_rng(SEED)
    limits = robot.limits
    Q = [robot.integrate(case.subject.posture, 0.01 * rng.normal(size=robot.nv)) for _ in range(SAMPLES)]
    V = 0.05 * rng.normal(size=(SAMPLES, robot.nv))
    return np.array([np.clip(q, limits.lower + 0.01, limits.upper - 0.01) for q in Q]), V


def own(case: Case, priorities: Any) -> WholeBody:
    """Helicoid's controller."""
    robot, q = case.subject.robot, case.subject.posture
    tasks = [
        CenterOfMassTask(case.center, WEIGHTS[0]),
        OrientationTask(case.trunk, np.eye(3), WEIGHTS[1]),
        PostureTask(q, WEIGHTS[2]),
    ]
    contacts: list[Any] = [PointContact(name, FRICTION) for name in case.contacts]
    if case.sole:
        contacts = [SurfaceContact(name, FRICTION, size_xy=case.sole) for name in case.contacts]
    wb = WholeBody(robot, tasks, contacts, DT, priorities, frequency=FREQUENCY, force_weight=FORCE)
    free = np.full(robot.nq, np.inf)  # velocity and torque alone, as the peers have it
    wb.set(position_lower=-free, position_upper=free, braking=1e9)
    return wb


def timed(wb: WholeBody, Q: Any, V: Any) -> tuple[float, float, float]:
    """Median and 99th percentile (µs), and the share of steps that failed."""
    times, failed = [], 0
    for round in range(REPEATS + 1):
        for q, v in zip(Q, V, strict=True):
            began = time.process_time_ns()
            wb.step(q, v)
            took = time.process_time_ns() - began
            if round:
                times.append(took)
                failed += not wb.ok
    return float(np.percentile(times, 50)) / 1e3, float(np.percentile(times, 99)) / 1e3, failed / len(times)


def handed_over(case: Case, folder: Path) -> Path:
    """File with the problem, for the peers."""
    s = case.subject
    written(s, folder)
    robot, (Q, V) = s.robot, states(case)
    joints = robot.joint_names[1:]
    places = [robot.index(name)[0].start for name in joints]
    rates = [robot.index(name)[1].start for name in joints]
    np.savez(
        folder / "whole_body.npz",
        urdf=str(folder / "robot.urdf"),
        dt=DT,
        joints=joints,
        posture=s.posture[places],
        velocity=robot.limits.velocity[rates],
        effort=robot.limits.effort[rates],
        contacts=case.contacts,
        sole=np.array(case.sole),
        trunk=case.trunk,
        center=case.center,
        friction=FRICTION,
        frequency=FREQUENCY,
        weights=WEIGHTS,
        force_weight=FORCE,
        bases=Q[:, [0, 1, 2, 4, 5, 6, 3]],
        angles=Q[:, places],
        base_speeds=V[:, [3, 4, 5, 0, 1, 2]],
        speeds=V[:, rates],
    )
    return folder / "whole_body.npz"


def peer(name: str, file: Path) -> tuple[float, ...]:
    """Result of `timed` for a peer; NaN and the reason where it cannot be run."""
    python = os.environ.get(PEERS[name], "")
    if not Path(python).is_file():
        print(f"{name} is not installed ({PEERS[name]} names no interpreter)", file=sys.stderr)
        return np.nan, np.nan, np.nan
    script = Path(__file__).with_name("whole_body_peers.py")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    told = subprocess.run(
        [python, str(script), name, str(file)], capture_output=True, text=True, env=environment, check=False
    )
    if told.returncode:
        print(f"{name} cannot be run: {told.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return np.nan, np.nan, np.nan
    return tuple(map(float, told.stdout.split()[-3:]))


def main() -> None:
    """The table."""
    columns = ["weighted", "strict", *PEERS]
    print(f"{'µs a step':22}" + "".join(f"{name:>22}" for name in columns))
    for case in cases():
        Q, V = states(case)
        controllers = [own(case, kind) for kind in ("weighted", "strict")]
        rounds = []
        with tempfile.TemporaryDirectory() as folder:
            file = handed_over(case, Path(folder))
            for _ in range(ROUNDS):
                mine = [timed(wb, Q, V) for wb in controllers]
                rounds.append([*mine, *(peer(name, file) for name in PEERS)])
        best = np.min(rounds, axis=0)
        print(f"{case.title:22}" + "".join(f"{a:10.1f} {b:6.1f} {c:4.0%}" for a, b, c in best))
        ratios = best[:, :2] / best[0, :2]
        print(f"{'  ratio to weighted':22}" + "".join(f"{a:10.1f} {b:6.1f}     " for a, b in ratios))


if __name__ == "__main__":
    main()
