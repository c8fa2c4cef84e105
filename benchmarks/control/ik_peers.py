"""Peers of inverse kinematics, in an interpreter of their own: `python ik_peers.py PEER FILE.npz`.

The file has the URDF, the frame, targets (N, 4, 4) and starts (N, n). What comes back, next to it, are the
answers, the time of each call and the processor time of all (s). Nothing of Helicoid is needed here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Solve = Callable[[Any, Any], Any]


def robotics_toolbox(urdf: str, base: str, frame: str) -> Solve:
    """Levenberg's and Marquardt's method with Chan's damping in C++, to 1e-4 (m and rad)."""
    from roboticstoolbox import Robot

    ets = Robot.URDF(urdf).ets(end=frame)
    return lambda T, q0: ets.ik_LM(T, q0=q0, tol=0.5e-8, slimit=100, joint_limits=True).q


def trac_ik(urdf: str, base: str, frame: str) -> Solve:
    """TRAC-IK for 50 ms at most, to 1e-5."""
    from trac_ik import TracIK

    solver = TracIK(base, frame, urdf, timeout=0.05, epsilon=1e-5, solver_type="Speed")
    return lambda T, q0: solver.ik(T[:3, 3], T[:3, :3], seed_jnt_values=q0)


PEERS: dict[str, Callable[[str, str, str], Solve]] = {
    "Robotics Toolbox ik_LM": robotics_toolbox,
    "TRAC-IK": trac_ik,
}


def main(peer: str, file: str) -> None:
    """Solve what the file asks for."""
    with np.load(file) as task:
        urdf, base, frame = (str(task[name]) for name in ("urdf", "base", "frame"))
        T, Q0 = task["T"], task["Q0"]
    solve = PEERS[peer](urdf, base, frame)
    for k in range(20):
        solve(T[k], Q0[k])
    times, answers = np.empty(len(T)), np.full(Q0.shape, np.nan)
    start = time.process_time()
    for k in range(len(T)):
        before = time.perf_counter()
        q = solve(T[k], Q0[k])
        times[k] = time.perf_counter() - before
        if q is not None:
            answers[k] = q
    spent = time.process_time() - start
    np.savez(file + ".answers.npz", q=answers, times=times, spent=spent)


if __name__ == "__main__":
    main(*sys.argv[1:])
