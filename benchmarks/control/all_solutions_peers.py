"""Peers of closed forms, in an interpreter of their own: `python all_solutions_peers.py PEER FILE.npz`.

The file has the axes h and points x of six joints at q = 0, the frame's home pose, a URDF and targets
(N, 4, 4). What comes back, next to it, are all solutions of all targets, how many each has, and the processor
time of a call (s). Nothing of Helicoid is needed here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Solve = Callable[[Any], Any]


def eaik(arm: Any) -> Solve:
    """EAIK: geometric decomposition, found by itself."""
    import eaik.pybindings.EAIK as module

    robot = module.Robot(arm["h"].T, _offsets(arm).T, arm["home"][:3, :3], [], True)
    if not robot.has_known_decomposition():
        raise SystemExit(f"none: {robot.get_kinematic_family()}")
    return lambda T: robot.calculate_IK(T).Q


def ik_geo(arm: Any) -> Solve:
    """IK-Geo in Rust: the decomposition, which the user states, that solves most of the first poses."""
    from ik_geo import Robot

    kinds = ("spherical_two_parallel", "spherical_two_intersecting", "spherical")
    kinds += ("three_parallel_two_intersecting", "three_parallel")
    arm = {**arm, "x": _meeting(arm["h"], arm["x"])}
    back, best, chosen = arm["home"][:3, :3].T, 0.0, None
    for kind in kinds:
        robot = getattr(Robot, kind)(arm["h"].tolist(), _offsets(arm).tolist())

        def solve(T: Any, robot: Any = robot) -> Any:
            return [q for q, _ in robot.get_ik((T[:3, :3] @ back).tolist(), T[:3, 3].tolist())]

        good = 0.0
        for T in arm["T"][:20]:
            found = [robot.forward_kinematics(q) for q in solve(T)]
            near = [abs(R @ back.T - T[:3, :3]).max() + abs(p - T[:3, 3]).max() for R, p in found]
            good += sum(error < 1e-6 for error in near)
        if good > best:
            best, chosen = good, solve
    if chosen is None:
        raise SystemExit("none: no closed-form decomposition fits")
    return chosen


def _meeting(h: Any, x: Any) -> Any:
    """Points of axes, where they meet their neighbours, as IK-Geo wants them: wrists first."""
    x, fixed = x.copy(), np.zeros(len(h), bool)
    for size in (3, 2):
        for k in reversed(range(len(h) - size + 1)):
            at = slice(k, k + size)
            across = np.eye(3) - h[at, :, None] * h[at, None, :]
            if fixed[at].any() or np.linalg.matrix_rank(across.sum(axis=0), tol=1e-6) < 3:
                continue
            point = np.linalg.solve(across.sum(axis=0), np.einsum("kij,kj->i", across, x[at]))
            if np.abs(np.einsum("kij,kj->ki", across, point - x[at])).max() < 1e-6:
                x[at], fixed[at] = point, True
    return x


def ssik(arm: Any) -> Solve:
    """ssik, from the URDF, one representative of each branch."""
    from ssik import Manipulator

    robot = Manipulator.from_urdf(str(arm["urdf"]), base=str(arm["base"]), ee=str(arm["tip"]))
    return lambda T: [s.q for s in robot.solve(T, respect_limits="wrap", enumerate_windings=False)]


def _offsets(arm: Any) -> Any:
    return np.diff(np.vstack([np.zeros(3), arm["x"], arm["home"][:3, 3]]), axis=0)


PEERS: dict[str, Callable[[Any], Solve]] = {"EAIK": eaik, "IK-Geo": ik_geo, "ssik": ssik}


def main(peer: str, file: str) -> None:
    """Solve what the file asks for."""
    with np.load(file) as arm:
        arm = dict(arm)
    solve, T = PEERS[peer](arm), arm["T"]
    for pose in T[:20]:
        solve(pose)
    start = time.process_time()
    found = [solve(pose) for pose in T]
    spent = time.process_time() - start
    rows = [np.asarray(q, dtype=float).reshape(-1, 6) for q in found]
    np.savez(file + ".answers.npz", q=np.vstack(rows), counts=[len(q) for q in rows], spent=spent / len(T))


if __name__ == "__main__":
    main(*sys.argv[1:])
