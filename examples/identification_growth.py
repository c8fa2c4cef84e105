"""Computation time of identification over the number of joints: linear least squares, multiple shooting.

    python examples/identification_growth.py [picture.png] [largest number of joints]

Both see the same 4 s of a chain of n joints with noise on positions, velocities and torques. Linear least
squares fits the torques; multiple shooting, started from bodies that are 20 % off, fits the simulated motion.
Times are the best of three, without the compilation of the robot's functions.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

import helicoid as hc
from helicoid.identification.identify import identify
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.solving.estimators import ordinary
from helicoid.identification.linear.weighting import weighted_samples
from helicoid.identification.logs.preparation import prepare
from helicoid.identification.refinement.output_error import fit_output_error

JOINTS = (1, 2, 3, 4, 5, 6, 7, 8)
RATE, SECONDS, CUTOFF = 200.0, 4.0, 10.0  # Hz, s, Hz
GROUPS = ("inertia", "offset")
TURNS = 3

Array = NDArray[np.float64]


def recording(robot: hc.Robot, seed: int) -> hc.Log:
    """Sums of sines, and the torques for them, with noise: 0.1 mrad, 2 mrad/s, 1 % of the torque."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(RATE * SECONDS) + 1) / RATE
    q, v, a = np.zeros((3, len(t), robot.nv))
    for _ in range(4):
        size, phase = rng.uniform(0.1, 0.5, robot.nv), rng.uniform(0, 2 * np.pi, robot.nv)
        speed = rng.uniform(1.0, 8.0, robot.nv)
        angle = np.outer(t, speed) + phase
        q += size * np.sin(angle)
        v += size * speed * np.cos(angle)
        a -= size * speed**2 * np.sin(angle)
    tau = robot.inverse_dynamics(q, v, a)
    noise = rng.normal(size=(3, *q.shape)) * [[[1e-4]], [[2e-3]], [[1.0]]]
    return hc.Log.from_arrays(t, q + noise[0], v + noise[1], tau=tau + 0.01 * tau.std(axis=0) * noise[2])


def error(found: hc.Identification, x: Array, seed: int = 9) -> float:
    """Of the torques for other motions, relative, against those of the true robot."""
    rng = np.random.default_rng(seed)
    q, v, a = rng.normal(size=(3, 300, found.nominal.nv))
    true, own = (found.regression.predict(p, q, v, a) for p in (found.regression.parameters.nominal, x))
    return float(np.linalg.norm(own - true) / np.linalg.norm(true))


def compared(n: int) -> tuple[float, float, float, float]:
    """Seconds of both ways, and their errors."""
    robot = hc.serial_chain(n)
    log = recording(robot, seed=n)
    result = identify(robot, log, estimator="weighted", groups=GROUPS, cutoff=CUTOFF, lag=0.0)
    start = np.array(result.regression.parameters.nominal)
    start[: 10 * n] *= np.repeat(np.where(np.arange(n) % 2, 0.8, 1.2), 10)
    off, linear, shooting = replace(result, x=start), [], []
    for _ in range(TURNS):
        began = time.perf_counter()
        stretches = prepare(robot, log, CUTOFF)[0]
        with one_blas_thread():
            data = weighted_samples(result.regression, stretches)
            x = ordinary(data.whole.combined(data.weights), data.coordinates)
        linear.append(time.perf_counter() - began)
        began = time.perf_counter()
        refined = fit_output_error(off, log, horizon=0.5)
        shooting.append(time.perf_counter() - began)
    return min(linear), min(shooting), error(result, x), error(result, refined.x)


def draw(figures: Array) -> plt.Figure:
    joints = JOINTS[: len(figures)]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, columns, label in ((left, (0, 1), "time (s)"), (right, (2, 3), "torque error (relative)")):
        for column, name, colour in zip(
            columns, ("linear least squares", "multiple shooting"), ("tab:blue", "tab:red"), strict=True
        ):
            axis.loglog(joints, figures[:, column], "o-", color=colour, label=name)
        axis.set(xlabel="joints", ylabel=label, xticks=joints, xticklabels=[str(n) for n in joints])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.grid(alpha=0.25, which="both")
    left.set_title("What it costs")
    right.set_title("Torques for motions not seen")
    left.legend(frameon=False)
    return figure


def main() -> None:
    folder = Path(__file__).parent / "output"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "identification_growth.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    most = int(sys.argv[2]) if len(sys.argv) > 2 else JOINTS[-1]
    rows = []
    for n in JOINTS[:most]:
        rows.append(compared(n))
        times = f"linear {1e3 * rows[-1][0]:.1f} ms, shooting {rows[-1][1]:.2f} s"
        print(f"{n} joints: {times}, errors {rows[-1][2]:.2%} and {rows[-1][3]:.2%}", flush=True)
    draw(np.array(rows)).savefig(path, dpi=150)
    print(path)


if __name__ == "__main__":
    main()
