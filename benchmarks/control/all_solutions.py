"""All solutions beside peers: `python -m benchmarks.control.all_solutions [--poses N] [--peers EAIK]`.

Arms of six joints of example-robot-data that have a closed form, and those of seven to nine with their
redundant joints locked. Half of the poses are random within the limits; of the others, half of the joints
are at multiples of a right angle, exactly or by 1e-12 to 1e-2 beside them, where arms are singular. A
solution of a peer counts if it meets the target to 1e-6 (m, rad), has a place within the limits, and is
isolated: the least singular value of its Jacobian is above 1e-3. It is missed if none of ours is within
1e-3 rad. A pose is lost if a peer has any solution within the limits and we have none. Peers run in the
interpreter that the variable HELICOID_CONTROL_PEERS names.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import helicoid as hc
from benchmarks.control.inverse_kinematics import arms
from helicoid._typing import Array
from helicoid.control.ik.closed_form.screws import screws
from helicoid.control.ik.problem import IKProblem

PEERS = ("EAIK", "IK-Geo", "ssik")
SEED = 20261118
MAX_SECONDS = 120  # of a peer for one arm


def closed_arms(rng: np.random.Generator) -> Iterator[tuple[str, hc.Robot, str]]:
    """Arms with a closed form, of six joints each."""
    bundled = [(name, hc.load(name), frame) for name, frame in (("ur5", "tool0"), ("panda", "panda_link8"))]
    for name, robot, tip in bundled + arms():
        form = hc.control.InverseKinematics(robot, tip).family
        if not form.name:
            continue
        q = robot.random(rng)
        given = {joint: float(q[robot.index(joint)[0]][0]) for joint in form.redundancy}
        six = robot.lock(given) if given else robot
        if given and not hc.control.InverseKinematics(six, tip).family.name:
            print(f"{name} {tip} with {given} has no closed form", flush=True)
            continue
        yield name, six, tip


def poses(robot: hc.Robot, tip: str, n: int, rng: np.random.Generator) -> Array:
    """Random poses, then poses near singularities."""
    Q = robot.random(rng, size=n)
    low, high = robot.limits.lower, robot.limits.upper
    special = rng.choice([0.0, np.pi / 2, -np.pi / 2, np.pi, -np.pi], size=Q.shape)
    chosen = (rng.random(Q.shape) < 0.5) & (special >= low) & (special <= high)
    chosen[: n // 2] = False
    beside = (
        10 ** rng.uniform(-12, -2, size=(n, 1)) * rng.standard_normal(Q.shape) * (rng.random((n, 1)) < 0.5)
    )
    return robot.pose(tip)(np.clip(np.where(chosen, special + beside, Q), low, high))


def peer(name: str, robot: hc.Robot, tip: str, T: Array) -> Any:
    """A peer's solutions, or the reason why it has none."""
    with tempfile.TemporaryDirectory() as folder:
        urdf, file = Path(folder) / "robot.urdf", Path(folder) / "task.npz"
        robot.to_urdf(urdf)
        lines = screws(IKProblem(robot, tip))
        zero = lines.pose(np.zeros(6))
        h, x = lines.shifted(np.zeros(6))
        np.savez(file, urdf=str(urdf), base=robot.model.root, tip=tip, h=h, x=x, home=zero, T=T)
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        script = Path(__file__).with_name("all_solutions_peers.py")
        command = [os.environ["HELICOID_CONTROL_PEERS"], str(script), name, str(file)]
        try:
            run = subprocess.run(command, capture_output=True, env=clean, text=True, timeout=MAX_SECONDS)
        except subprocess.TimeoutExpired:
            return f"no answer in {MAX_SECONDS} s"
        if run.returncode:
            return run.stderr.strip().splitlines()[-1]
        with np.load(f"{file}.answers.npz") as found:
            return np.split(found["q"], np.cumsum(found["counts"])[:-1]), float(found["spent"])


def within(robot: hc.Robot, q: Array) -> Array:
    """Solutions that have a whole turn within the limits."""
    low, high = robot.limits.lower - 1e-7, robot.limits.upper + 1e-7
    low = np.where(np.isfinite(low), low, -np.pi)
    q = q + 2 * np.pi * np.ceil((low - q) / (2 * np.pi))
    return np.asarray(q[np.all(q <= high, axis=1)])


def compare(
    robot: hc.Robot, tip: str, T: Array, mine: list[Array], theirs: list[Array]
) -> tuple[int, int, int, int]:
    """Isolated solutions of a peer, those missed by us, poses lost by us, and poses lost by the peer."""
    pose, jacobian = robot.pose(tip), robot.jacobian(tip, reference="body")
    counted = missed = lost = theirs_lost = 0
    for target, q, p in zip(T, mine, theirs, strict=True):
        p = within(robot, p)
        if len(p):
            p = p[np.abs(pose(p) - target).max(axis=(1, 2)) < 1e-6]
        lost += len(p) > 0 and not len(q)
        theirs_lost += len(q) > 0 and not len(p)
        for one in p:
            away = np.abs(np.remainder(q - one + np.pi, 2 * np.pi) - np.pi).max(axis=1, initial=0.0)
            if len(q) and away.min() < 1e-3:
                counted += 1
            elif np.linalg.svd(jacobian(one), compute_uv=False)[-1] > 1e-3:
                counted, missed = counted + 1, missed + 1
    return counted, missed, lost, theirs_lost


def main(arguments: list[str]) -> None:
    """One line for each arm and peer."""

    def option(name: str, usual: str) -> str:
        return arguments[arguments.index(name) + 1] if name in arguments else usual

    n, seed = int(option("--poses", "10000")), int(option("--seed", str(SEED)))
    names = option("--peers", ",".join(PEERS)).split(",")
    rng = np.random.default_rng(seed)
    print(
        "| arm | tip | closed form | solutions | µs | peer | its µs | isolated | missed | lost | its lost |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for arm, robot, tip in closed_arms(rng):
        ik, T = hc.control.InverseKinematics(robot, tip), poses(robot, tip, n, rng)
        ik.all(T[0])
        start = time.process_time()
        mine = [ik.all(pose) for pose in T]
        spent = (time.process_time() - start) / n
        wrong = sum(
            np.abs(robot.pose(tip)(q) - t).max() > 1e-5 for q, t in zip(mine, T, strict=True) if len(q)
        )
        row = f"| {arm} | {tip} | {ik.family.name} | {sum(map(len, mine)) / n:.2f} | {1e6 * spent:.1f}"
        if wrong:
            print(f"{wrong} WRONG")
        for name in names:
            result = peer(name, robot, tip, T)
            if isinstance(result, str):
                print(f"{row} | {name}: {result[:60]} |", flush=True)
                continue
            figures = compare(robot, tip, T, mine, result[0])
            print(f"{row} | {name} | {1e6 * result[1]:.1f} | {' | '.join(map(str, figures))} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
