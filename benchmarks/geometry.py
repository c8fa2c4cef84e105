"""Time rigid motions on NumPy beside Pinocchio's exp6, log6 and inverse, single and in batches.

Processor time a call in µs, the least of many rounds. `--before FOLDER` adds a column for another version
of the package: FOLDER is the one that holds `helicoid/`.

    python -m benchmarks.geometry [--before path/to/old/src]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import timeit

SINGLE = {
    "se3.exp": ("se3.exp(xi)", "pin.exp6(motion)"),
    "se3.log": ("se3.log(T)", "pin.log6(pose)"),
    "se3.inverse": ("se3.inverse(T)", "pose.inverse()"),
    "se3.adjoint": ("se3.adjoint(T)", "pose.action"),
    "so3.exp": ("so3.exp(phi)", "pin.exp3(phi)"),
    "so3.log": ("so3.log(R)", "pin.log3(R)"),
    "quaternion.exp": ("quaternion.exp(phi)", None),
    "quaternion.log": ("quaternion.log(q)", None),
    "quaternion.multiply": ("quaternion.multiply(q, q)", "pq * pq"),
    "quaternion.from_matrix": ("quaternion.from_matrix(R)", "pin.Quaternion(R)"),
}
BATCHED = ("se3.exp(XI)", "se3.log(TS)", "se3.inverse(TS)", "so3.exp(PHI)", "so3.log(RS)")
N = 1000

OURS = """
import numpy as np
from helicoid.geometry import quaternion, se3, so3
xi = np.array([0.4, -0.3, 0.9, 1.0, 2.0, -3.0]); phi = xi[:3].copy()
T, R, q = se3.exp(xi), so3.exp(phi), quaternion.exp(phi)
"""
MANY = f"""
XI = np.random.default_rng(0).normal(size=({N}, 6)); PHI = XI[:, :3].copy()
TS, RS = se3.exp(XI), so3.exp(PHI)
"""
PEER = """
import numpy as np, pinocchio as pin
xi = np.array([0.4, -0.3, 0.9, 1.0, 2.0, -3.0]); phi = xi[:3].copy()
motion = pin.Motion(xi[3:], phi); pose = pin.exp6(motion); R = pin.exp3(phi); pq = pin.Quaternion(R)
"""


def microseconds(statement: str, setup: str, number: int) -> float:
    """The least processor time of one call."""
    rounds = timeit.repeat(statement, setup, timer=time.process_time, number=number, repeat=100)
    return min(rounds) / number * 1e6


def single(which: int, setup: str) -> dict[str, float]:
    """µs a call of each function of the table that has a statement in this column."""
    found = {}
    for name, statements in SINGLE.items():
        statement = statements[which]
        if statement is not None:
            found[name] = microseconds(statement, setup, 200)
    return found


def before(folder: str) -> dict[str, float]:
    """The same of another version of the package, in a process of its own."""
    code = "import json; from benchmarks.geometry import OURS, single; print(json.dumps(single(0, OURS)))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([folder, os.getcwd()])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", metavar="FOLDER", help="folder that holds another version of helicoid/")
    folder = parser.parse_args().before
    old = before(folder) if folder else {}
    ours, peer = single(0, OURS), single(1, PEER)
    print("| function, µs a call | before | Helicoid | Pinocchio |\n|---|---|---|---|")
    for name in SINGLE:
        cells = (f"{table[name]:.2f}" if name in table else "–" for table in (old, ours, peer))
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\n| batch of {N}, µs a sample | Helicoid |\n|---|---|")
    for statement in BATCHED:
        print(f"| {statement.split('(')[0]} | {microseconds(statement, OURS + MANY, 10) / N:.3f} |")


if __name__ == "__main__":
    main()
