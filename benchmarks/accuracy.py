"""Accuracy of forward dynamics: errors against extended precision, beside Pinocchio's.

    python -m benchmarks.accuracy [--states 40] [name ...]

Every robot of example-robot-data whose joints turn, slide or stand still and whose mass matrix has an
inverse, on a fixed and on a floating base, at seeded states: positions within the limits, velocities and
torques of order one. An error is the largest difference over the largest acceleration, its mean over the
states geometric. Double precision throughout (CasADi's virtual machine). Peers: for the articulated body
algorithm Pinocchio's, for the mass matrix Pinocchio's with NumPy's solution.
"""

from __future__ import annotations

import argparse
import warnings
import zlib
from importlib.metadata import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

import helicoid as hc
from benchmarks.reference import EXTENDED, Reference

Array = Any
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


class Errors(NamedTuple):
    """Geometric means over the states of the relative errors of both ways, ours and Pinocchio's."""

    aba: float
    aba_peer: float
    crba: float
    crba_peer: float


def robots() -> dict[str, Path]:
    """The URDFs of example-robot-data, by their path below `robots/`."""
    found = (file for file in files("example-robot-data") or () if file.suffix == ".urdf")
    return {
        "/".join(file.parts[file.parts.index("robots") + 1 :]): Path(str(file.locate()))
        for file in sorted(found)
    }


def errors(path: Path, base: str, states: int) -> Errors:
    """Errors of one robot; NotImplementedError where the reference lacks a joint type."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.DoubtfulModelWarning)
        robot = hc.load(path, base=base)  # type: ignore[arg-type]
    rng = np.random.default_rng(zlib.crc32(robot.name.encode()))
    q = np.array([robot.random(rng) for _ in range(states)])
    v, tau = rng.normal(size=(2, states, robot.nv))
    exact = Reference(path, list(robot.joint_names), base).forward_dynamics(q, v, tau)

    def mean_error(a: Array) -> float:
        each = np.abs(a - exact).max(1) / np.abs(exact).max(1)
        return float(np.exp(np.log(np.maximum(each.astype(float), 1e-18)).mean()))

    ours = robot.forward_dynamics(q, v, tau), robot.forward_dynamics_crba(q, v, tau)
    theirs = _pinocchio(path, robot, base, q, v, tau)
    return Errors(*(mean_error(a) for pair in zip(ours, theirs, strict=True) for a in pair))


def _pinocchio(path: Path, robot: hc.Robot, base: str, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
    """Accelerations by Pinocchio's ABA and by its mass matrix, in our order."""
    floating = base == "floating"
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    data = model.createData()
    G, q_p = np.zeros((model.nv, robot.nv)), np.zeros((len(q), model.nq))
    if floating:
        G[:6, :6], q_p[:, :7] = np.eye(6)[ANGULAR_FIRST], q[:, [0, 1, 2, 4, 5, 6, 3]]
    for k, name in enumerate(robot.joint_names[int(floating) :]):
        joint, angle = model.joints[model.getJointId(name)], q[:, 7 * floating + k]
        G[joint.idx_v, 6 * floating + k] = 1.0
        both = [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        q_p[:, joint.idx_q : joint.idx_q + joint.nq] = np.stack(both, axis=1)
    by_aba, by_crba = [], []
    for q_i, v_i, tau_i in zip(q_p, v @ G.T, tau @ G.T, strict=True):
        by_aba.append(pin.aba(model, data, q_i, v_i, tau_i).copy())
        M = np.triu(pin.crba(model, data, q_i, pin.Convention.LOCAL))
        h = pin.nonLinearEffects(model, data, q_i, v_i)
        by_crba.append(np.linalg.solve(M + np.triu(M, 1).T, tau_i - h))
    return np.array(by_aba) @ G, np.array(by_crba) @ G


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of file names; all without")
    parser.add_argument("--states", type=int, default=40)
    arguments = parser.parse_args()
    if not EXTENDED:
        raise SystemExit("NumPy has no extended precision on this machine")
    hc.set_compile(False)
    print("| robot | base | ABA | Pinocchio | ratio | CRBA | Pinocchio | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    ratios: list[tuple[float, float]] = []
    for name, path in robots().items():
        if arguments.names and not any(part in name for part in arguments.names):
            continue
        for base in ("fixed", "floating"):
            try:
                with np.errstate(all="ignore"):
                    found = errors(path, base, arguments.states)
            except (NotImplementedError, hc.HelicoidError, ValueError, np.linalg.LinAlgError):
                continue  # mimic joints, a faulty file, nothing that moves, or nothing that resists
            if not np.all(np.isfinite(found)) or max(found) > 1e-3:
                continue  # no digit that anyone could keep
            aba, aba_peer, crba, crba_peer = found
            ratios.append((aba / aba_peer, crba / crba_peer))
            cells = (f"{aba:.1e}", f"{aba_peer:.1e}", f"{ratios[-1][0]:.1f}")
            cells += (f"{crba:.1e}", f"{crba_peer:.1e}", f"{ratios[-1][1]:.1f}")
            print(f"| {name.split('/')[-1][:-5]} | {base} | {' | '.join(cells)} |", flush=True)
    if ratios:
        means = np.exp(np.log(ratios).mean(0))
        print(f"\nGeometric mean of the ratios over {len(ratios)}: ABA {means[0]:.2f}, CRBA {means[1]:.2f}")


if __name__ == "__main__":
    main()
