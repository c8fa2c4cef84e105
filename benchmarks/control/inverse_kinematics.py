"""Inverse kinematics beside peers: `python -m benchmarks.control.inverse_kinematics [--quick] [--seed N]`.

Random poses within reach and limits, random starts. An answer counts if Pinocchio's kinematics put the frame
within 1e-4 m and 1e-3 rad of its target and it keeps the limits to 1e-5 (TRAC-IK passes them by less than
that). Peers run in the interpreter that the variable HELICOID_CONTROL_PEERS names, in turns with Helicoid.
Times are µs of processor time a call, from Python; that of a median is by the clock.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.geometry import so3

PEERS = ("Robotics Toolbox ik_LM", "TRAC-IK")
ARMS = (("panda", "panda_link8"), ("ur5", "tool0"))
SEEDS = (0, 20261116)  # settings were chosen with others


class Timed(NamedTuple):
    """Answers (N, n), seconds of each call where they were taken, and processor time of a call."""

    q: Array
    times: Array
    mean: float


class Task(NamedTuple):
    """Poses to be met by a frame, and where to start."""

    robot: hc.Robot
    frame: str
    T: Array
    Q0: Array


def task(robot: hc.Robot, frame: str, n: int, seed: int) -> Task:
    """Random poses that the robot has within its limits, and random starts."""
    rng = np.random.default_rng(seed)
    return Task(robot, frame, robot.pose(frame)(robot.random(rng, size=n)), robot.random(rng, size=n))


def solved(t: Task, Q: Array) -> Any:
    """Which answers hold, by the kinematics of Pinocchio where there is one."""
    limits, known = t.robot.limits, np.isfinite(Q).all(axis=1)
    T = poses(t, np.where(known[:, None], Q, 0.0))
    turn = [np.linalg.norm(so3.log(a[:3, :3].T @ b[:3, :3])) for a, b in zip(T, t.T, strict=True)]
    near = np.linalg.norm(T[:, :3, 3] - t.T[:, :3, 3], axis=1)
    kept = np.all((limits.lower - 1e-5 <= Q) & (limits.upper + 1e-5 >= Q), axis=1)
    return known & kept & (near <= 1e-4) & (np.array(turn) <= 1e-3)


def poses(t: Task, Q: Array) -> Array:
    """The frame at configurations, (N, 4, 4)."""
    try:
        import pinocchio as pin
    except ImportError:
        return t.robot.pose(t.frame)(Q)
    with tempfile.TemporaryDirectory() as folder:
        t.robot.to_urdf(Path(folder) / "robot.urdf")
        model = pin.buildModelFromUrdf(str(Path(folder) / "robot.urdf"))
    data, frame = model.createData(), model.getFrameId(t.frame)
    order = [model.joints[model.getJointId(name)] for name in t.robot.joint_names]
    found = np.empty((len(Q), 4, 4))
    for k, q in enumerate(Q):
        own = np.zeros(model.nq)
        for joint, value in zip(order, q, strict=True):
            own[joint.idx_q : joint.idx_q + joint.nq] = (
                value if joint.nq == 1 else [np.cos(value), np.sin(value)]
            )
        pin.framesForwardKinematics(model, data, own)
        found[k] = data.oMf[frame].homogeneous
    return found


def ours(t: Task, ik: hc.control.InverseKinematics, with_starts: bool) -> Timed:
    """Single calls."""
    times, answers = np.empty(len(t.T)), np.empty(t.Q0.shape)
    ik(t.T[0])
    begin = time.process_time()
    for k in range(len(t.T)):
        before = time.perf_counter()
        s = ik(t.T[k], t.Q0[k]) if with_starts else ik(t.T[k])
        times[k] = time.perf_counter() - before
        answers[k] = s.q
    return Timed(answers, times, (time.process_time() - begin) / len(t.T))


def batch(t: Task, ik: hc.control.InverseKinematics) -> Timed:
    """One call on one thread."""
    from helicoid.compiler.build.binding import get_num_threads

    before = get_num_threads()
    hc.set_num_threads(1)
    begin = time.process_time()
    found = ik(t.T)
    spent = time.process_time() - begin
    hc.set_num_threads(before)
    return Timed(found.q, np.full(len(t.T), spent / len(t.T)), spent / len(t.T))


def peer(name: str, t: Task, interpreter: str) -> Timed:
    """A peer's answers to the same."""
    with tempfile.TemporaryDirectory() as folder:
        urdf, file = Path(folder) / "robot.urdf", Path(folder) / "task.npz"
        t.robot.to_urdf(urdf)
        np.savez(file, urdf=str(urdf), base=t.robot.model.root, frame=t.frame, T=t.T, Q0=t.Q0)
        script = Path(__file__).with_name("ik_peers.py")
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        subprocess.run(
            [interpreter, str(script), name, str(file)], check=True, capture_output=True, env=clean
        )
        with np.load(f"{file}.answers.npz") as found:
            return Timed(found["q"], found["times"], float(found["spent"]) / len(t.T))


def compare(name: str, frame: str, n: int, seed: int, rounds: int = 3) -> None:
    """One arm beside its peers; of each the quickest of some rounds, in turns."""
    t = task(hc.load(name), frame, n, seed)
    ik = hc.control.InverseKinematics(t.robot, frame, tolerance=1e-4)
    interpreter = os.environ.get("HELICOID_CONTROL_PEERS", "")
    found: dict[str, Timed] = {}
    for _ in range(rounds):
        runs = {
            "Helicoid": ours(t, ik, False),
            "Helicoid, from the given start": ours(t, ik, True),
            "Helicoid, one batch, one thread": batch(t, ik),
        }
        for one in PEERS if interpreter else ():
            try:
                runs[one] = peer(one, t, interpreter)
            except subprocess.CalledProcessError as error:
                print(f"{one} is missing: {error.stderr.decode().strip().splitlines()[-1]}")
        for key, run in runs.items():
            if key not in found or run.mean < found[key].mean:
                found[key] = run
    if not interpreter:
        print("HELICOID_CONTROL_PEERS names no interpreter: no peers")
    best = found["Helicoid"].mean
    print(f"\n{name} ({frame}), {n} poses, seed {seed}\n")
    print("| | solved | median µs | mean µs | ratio to Helicoid |\n|---|---|---|---|---|")
    for key, run in found.items():
        share, median = 100 * np.mean(solved(t, run.q)), 1e6 * np.median(run.times)
        print(f"| {key} | {share:.1f} % | {median:.1f} | {1e6 * run.mean:.1f} | {run.mean / best:.2f} |")


def arms() -> list[tuple[str, hc.Robot, str]]:
    """Every arm of six or more joints in the package example-robot-data: a chain from its root to a tip."""
    found: list[tuple[str, hc.Robot, str]] = []
    files = importlib.metadata.files("example-robot-data") or []
    for file in sorted((str(f.locate()) for f in files if f.name.endswith(".urdf")), key=str.lower):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                robot = hc.load(file)
            except hc.HelicoidError:
                continue
            for tip in tips(robot):
                try:
                    chain = robot.chain(robot.model.root, tip)
                except hc.HelicoidError:  # a joint that follows one of another branch
                    continue
                if chain.nv >= 6 and chain.nq == chain.nv and not _is_known(found, chain, tip):
                    found.append((Path(file).stem, chain, tip))
    return found


def tips(robot: hc.Robot) -> list[str]:
    """The last link of each branch, grippers left out: fingers that slide, follow or share a palm."""
    bodies = robot.model.bodies
    children = {k: [i for i, body in enumerate(bodies) if body.parent == k] for k in range(-1, len(bodies))}
    fingers = {k for k in children if not children[k]}
    ends = set()
    for k in fingers:
        at = k
        while at >= 0 and (
            bodies[at].joint.mimic
            or bodies[at].joint.type.kind == "prismatic"
            or len(fingers & set(children[bodies[at].parent])) > 1
        ):
            at = bodies[at].parent
        if at >= 0:
            ends.add(at)
    return [bodies[k].joint.child for k in sorted(ends)]


def _is_known(found: list[tuple[str, hc.Robot, str]], chain: hc.Robot, tip: str) -> bool:
    """Whether a robot with the same joints and the same tip is there already (a file with other meshes)."""
    q = np.linspace(-0.3, 0.4, chain.nq)
    pose = chain.pose(tip)(q)
    return any(
        other.nq == chain.nq and other_tip == tip and np.allclose(other.pose(tip)(q), pose, atol=1e-6)
        for _, other, other_tip in found
    )


def table(n: int, seed: int) -> None:
    """Success rates over n random poses for each arm of example-robot-data."""
    print(f"\nArms of example-robot-data, {n} poses each, seed {seed}\n")
    print("| robot | tip | joints | solved | µs a pose, batch |\n|---|---|---|---|---|")
    hc.set_compile(False)  # of everything but inverse kinematics: poses are asked for once
    for name, robot, tip in arms():
        t = task(robot, tip, n, seed)
        ik = hc.control.InverseKinematics(robot, tip, tolerance=1e-4)
        ik(t.T[:10])
        run = batch(t, ik)
        share = 100 * np.mean(solved(t, run.q))
        print(f"| {name} | {tip} | {robot.nv} | {share:.1f} % | {1e6 * run.mean:.1f} |", flush=True)


def main(arguments: list[str]) -> None:
    """Arms beside peers, then all arms there are."""
    n = 200 if "--quick" in arguments else 1000
    seeds = [int(arguments[arguments.index("--seed") + 1])] if "--seed" in arguments else list(SEEDS)
    for seed in seeds:
        for name, frame in ARMS:
            compare(name, frame, n, seed)
    table(n, seeds[-1])


if __name__ == "__main__":
    main(sys.argv[1:])
