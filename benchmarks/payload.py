"""Payloads of simulated arms whose drives have wrong gains: error of the mass over its σ.

    python -m benchmarks.payload [--robots ur5 panda] [--draws 20] [--seed 0] [--gains 0.05]

Each draw: a load of 0.5 to 5 kg, a multi-sine of 10 s at 250 Hz, noise of encoders and torques, and gains of
the joints that err by a normal of σ `--gains`. Printed are the RMS of error over σ for the mass and for the
first moments, which is 1 where σ is right, and the share within 95 % intervals.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import helicoid as hc


def logged(name: str, rng: np.random.Generator, gains: float) -> tuple[hc.Robot, hc.Log, np.ndarray]:
    """A robot, a log of it with a load, and π of the load."""
    robot = hc.load(name)
    n, limits = robot.nv, robot.limits
    effort = np.where(np.isfinite(limits.effort), limits.effort, 50.0)
    robot = robot.with_joints(damping=0.02 * effort, friction=0.03 * effort)
    low, high = np.maximum(limits.lower, -2.5), np.minimum(limits.upper, 2.5)
    t = np.arange(0.0, 10.0, 0.004)
    f, phase = rng.uniform(0.1, 0.5, (3, n)), rng.uniform(0, 2 * np.pi, (3, n))
    size = 0.4 * (high - low) / 2 / 3
    angle = 2 * np.pi * f * t[:, None, None] + phase
    q = (low + high) / 2 + size * np.sin(angle).sum(axis=1)
    v = size * (2 * np.pi * f * np.cos(angle)).sum(axis=1)
    a = -size * ((2 * np.pi * f) ** 2 * np.sin(angle)).sum(axis=1)
    mass, com = rng.uniform(0.5, 5.0), rng.uniform(-0.08, 0.08, 3) + np.array([0, 0, 0.05])
    inertia = mass * rng.uniform(0.02, 0.06) ** 2 * np.eye(3)
    link = robot.link_names[-1]
    loaded = robot.with_payload(link, mass, com, inertia)
    tau = np.asarray(loaded.inverse_dynamics(q, v, a, friction=True))
    tau = tau * (1 + gains * rng.normal(size=n)) + 0.002 * effort * rng.normal(size=tau.shape)
    log = hc.Log.from_arrays(t, q + 5e-5 * rng.normal(size=q.shape), tau=tau)
    return robot, log, np.array([mass, *(mass * com)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", nargs="+", default=["ur5", "panda"])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gains", type=float, default=0.05)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| robot | draws | mass: error over σ (RMS) | first moments | within 95 % | time of each |")
    for name in given.robots:
        off, began = [], time.process_time()
        for draw in range(given.draws):
            robot, log, true = logged(name, np.random.default_rng([given.seed, draw]), given.gains)
            found = hc.identify_payload(robot, log, robot.link_names[-1])
            pi = found.inertia.parameters[:4]
            off.append((pi - true) / found.sigma[:4])
        z, spent = np.array(off), (time.process_time() - began) / given.draws
        rms = np.sqrt(np.mean(z**2, axis=0))
        moments, within = np.sqrt(np.mean(z[:, 1:] ** 2)), 100 * np.mean(np.abs(z) < 1.96)
        print(
            f"| {name} | {given.draws} | {rms[0]:.2f} | {moments:.2f} | {within:.0f} % | {spent:.2f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main()
