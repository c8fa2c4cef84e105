"""Differential kinematics beside peers: `python -m benchmarks.control.differential`.

One step of a Panda's hand, and of a Talos on a floating base with both feet, center of mass and posture,
by weights, with limits of position and velocity, over configurations around a posture and targets so far
away that limits hold. µs of processor time a step, called from Python, the best of rounds in which all
take turns. Peers run in the interpreters that the variables HELICOID_PLACO and HELICOID_PINK name (pink
and mink).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import helicoid as hc
from helicoid.control import CenterOfMassTask, DifferentialIK, PoseTask, PostureTask
from helicoid.control.tasks import Task

PEERS = {"placo": "HELICOID_PLACO", "pink": "HELICOID_PINK", "mink": "HELICOID_PINK"}
SAMPLES, ROUNDS, SEED = 50, 4, 20261116
FRAME, CENTER, POSTURE = 100.0, 100.0, 0.01  # weights


class Subject(NamedTuple):
    """A robot, where it is, and what it should do."""

    robot: hc.Robot
    posture: Any
    frames: dict[str, Any]
    center: Any
    dt: float


def panda() -> Subject:
    """A hand that is to go far."""
    robot = hc.load("panda")
    posture = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8])
    T = robot.pose("panda_link8")(posture)
    T[:3, 3] += [0.1, 0.4, 0.2]
    return Subject(robot, posture, {"panda_link8": T}, np.zeros(0), 0.01)


def talos() -> Subject | None:
    """A humanoid that stands and shifts its weight; None where its description is not installed."""
    for place in map(Path, sys.path):
        folder = place / "cmeel.prefix/share/example-robot-data/robots/talos_data/robots"
        if (folder / "talos_reduced.urdf").exists():
            break
    else:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = hc.load(folder / "talos_reduced.urdf", base="floating")
    posture = robot.neutral()
    for side in ("left", "right"):
        angles = {f"leg_{side}_3_joint": -0.411, f"leg_{side}_4_joint": 0.859, f"leg_{side}_5_joint": -0.448}
        for joint, angle in {**angles, f"arm_{side}_4_joint": -1.5}.items():
            posture[robot.index(joint)[0]] = angle
    frames = {name: robot.pose(name)(posture) for name in ("left_sole_link", "right_sole_link")}
    return Subject(robot, posture, frames, robot.center_of_mass(posture) + np.array([0.1, 0.1, -0.2]), 0.005)


def samples(s: Subject) -> list[Any]:
    """Configurations around the posture, the same for all; inside of limits, where all peers can begin."""
    rng, limits = np.random.default_rng(SEED), s.robot.limits
    moved = [s.robot.integrate(s.posture, 0.1 * rng.normal(size=s.robot.nv)) for _ in range(SAMPLES)]
    return [np.clip(q, limits.lower + 0.01, limits.upper - 0.01) for q in moved]


def own(s: Subject, priorities: Any) -> DifferentialIK:
    """Helicoid's controller; by strict priorities frames come first, then the center of mass."""
    frames: list[Task] = [PoseTask(name, T, FRAME) for name, T in s.frames.items()]
    center: list[Task] = [CenterOfMassTask(s.center, CENTER)] if s.center.size else []
    tasks = [frames, *center, PostureTask(s.posture, POSTURE)]
    return DifferentialIK(s.robot, tasks, s.dt, priorities, gain=1 / s.dt, approach=0.5 / s.dt)


def timed(ik: DifferentialIK, Q: list[Any]) -> float:
    """µs of processor time a step."""
    best = np.inf
    for _ in range(100):
        began = time.process_time()
        for q in Q:
            ik.step(q)
        best = min(best, time.process_time() - began)
    return float(1e6 * best / len(Q))


def written(s: Subject, folder: Path) -> Path:
    """File with the problem, for the peers."""
    s.robot.to_urdf(folder / "robot.urdf")
    source = ElementTree.parse(folder / "robot.urdf").getroot()
    for link in source.iter("link"):
        for part in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(part)
    mujoco = ElementTree.SubElement(source, "mujoco")
    options = {"fusestatic": "false", "discardvisual": "false", "balanceinertia": "true", "boundmass": "1e-6"}
    ElementTree.SubElement(mujoco, "compiler", options | {"boundinertia": "1e-9"})
    ElementTree.ElementTree(source).write(folder / "robot.urdf")
    floating = s.robot.model.floating
    joints = s.robot.joint_names[1 if floating else 0 :]
    places = [s.robot.index(name)[0].start for name in joints]
    speeds = [s.robot.limits.velocity[s.robot.index(name)[1]][0] for name in joints]
    Q = np.array(samples(s))
    base = np.tile([0.0, 0, 0, 0, 0, 0, 1], (len(Q), 1))
    if floating:
        base = Q[:, [0, 1, 2, 4, 5, 6, 3]]  # (x, y, z, w) there
    np.savez(
        folder / "task.npz",
        urdf=str(folder / "robot.urdf"),
        floating=floating,
        dt=s.dt,
        joints=joints,
        velocity=speeds,
        posture=s.posture[places],
        frames=list(s.frames),
        bodies=list(s.frames),
        poses=np.array(list(s.frames.values())),
        center=s.center,
        bases=base,
        angles=Q[:, places],
    )
    return folder / "task.npz"


def peer(name: str, file: Path) -> float:
    """µs a step of a peer; NaN, and why, where it cannot be run."""
    python = os.environ.get(PEERS[name], "")
    if not Path(python).is_file():
        print(f"{name} is not installed ({PEERS[name]} names no interpreter)", file=sys.stderr)
        return np.nan
    script = Path(__file__).with_name("differential_peers.py")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    told = subprocess.run(
        [python, str(script), name, str(file)], capture_output=True, text=True, env=environment, check=False
    )
    if told.returncode:
        print(f"{name} cannot be run: {told.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return np.nan
    return float(told.stdout.split()[-1])


def main() -> None:
    """The table."""
    print(f"{'µs a step':22}{'weighted':>10}{'strict':>10}" + "".join(f"{name:>10}" for name in PEERS))
    for title, subject in (("Panda, hand", panda()), ("Talos, feet and mass", talos())):
        if subject is None:
            print(f"{title:22} example-robot-data is not installed")
            continue
        Q, controllers = samples(subject), [own(subject, kind) for kind in ("weighted", "strict")]
        rounds = []
        with tempfile.TemporaryDirectory() as folder:
            file = written(subject, Path(folder))
            for _ in range(ROUNDS):
                mine = [timed(ik, Q) for ik in controllers]
                rounds.append([*mine, *(peer(name, file) for name in PEERS)])
        best = np.min(rounds, axis=0)
        print(f"{title:22}" + "".join(f"{value:10.2f}" for value in best))
        print(f"{'  ratio to weighted':22}" + "".join(f"{value:10.1f}" for value in best / best[0]))


if __name__ == "__main__":
    main()
