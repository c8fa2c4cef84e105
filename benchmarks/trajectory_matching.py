"""Identification from commands and encoders, without torque sensors, on robots that MuJoCo simulates.

    python -m benchmarks.trajectory_matching [--seed 0] [--robots ur5 quadruped] [--draws 2]
        [--plant mujoco|ideal|ground]

Each draw has random friction, damping and armature, servos of 1 kHz with a delayed position command, and
encoders of 16 bits logged at 500 Hz for 20 s; MuJoCo, whose dry friction is soft, integrates at 0.25 ms
(RK4), and `--plant ideal` has exact dry friction at 1 µs; with `--plant ground` the first foot (or else
the tip) strikes MuJoCo's ground from time to time. Bodies are as described. Figures:
errors of identified parameters, RMS of positions predicted over 0.5 s of another motion over that with the
true parameters, processor time of all, and the time of derivatives by exact sensitivities against difference
quotients of rollouts with the same time steps, by MuJoCo and by Helicoid.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.identification.trajectory_matching.recording import Recording
from helicoid.identification.trajectory_matching.result import CommandIdentification
from helicoid.identification.trajectory_matching.rollouts.rollout import Rollouts

PERIOD, DT, DURATION = 0.001, 0.002, 20.0
GROUPS = ("viscous", "coulomb", "armature")


@dataclass(frozen=True)
class Case:
    """A true robot with its servo and delay (s)."""

    described: hc.Robot
    true: hc.Robot
    servo: hc.Servo
    delay: float
    posture: Array
    amplitude: Array


def drawn(name: str, rng: np.random.Generator) -> Case:
    """Random joints and servos, in proportion to the largest torque of gravity and inertia of each joint."""
    robot = hc.load(name)
    n, limits = robot.nv, robot.limits
    low, high = np.maximum(limits.lower, -2.0), np.minimum(limits.upper, 2.0)
    posture, amplitude = (low + high) / 2, 0.3 * (high - low)
    q = posture + amplitude * rng.uniform(-1, 1, (200, n))
    inertia = np.median(np.asarray(robot.mass_matrix(q)).diagonal(axis1=1, axis2=2), axis=0)
    armature = rng.uniform(0.2, 1.0, n) * np.maximum(inertia, 0.2 * np.median(inertia))
    load = np.sqrt(np.mean(np.asarray(robot.gravity(q)) ** 2, axis=0))
    usual = np.maximum(load, 0.2 * np.median(load)) + 10 * armature
    kp = (armature + inertia) * rng.uniform(25.0, 45.0, n) ** 2
    kd = 2 * rng.uniform(0.4, 0.8, n) * np.sqrt(kp * (armature + inertia))
    true = robot.with_joints(
        damping=usual * rng.uniform(0.02, 0.1, n),
        friction=usual * rng.uniform(0.03, 0.15, n),
        armature=armature,
    )
    servo = hc.Servo(kp, kd, PERIOD, limit=np.inf)
    return Case(robot, true, servo, PERIOD * rng.integers(2, 21), posture, amplitude)


MUJOCO = {"engine": "mujoco", "contacts": [], "end_stops": False, "method": "rk4", "substeps": 4}
IDEAL = {"method": "stiction", "substeps": 1000}  # of first order: half a step is an error of the delay


def with_ground(case: Case, rng: np.random.Generator) -> dict[str, object]:
    """MuJoCo with ground at the lowest twentieth of the heights of one foot."""
    names = case.true.link_names
    foot = next((name for name in names if name.endswith("foot")), names[-1])
    q = case.posture + case.amplitude * rng.normal(0.0, 0.5, (400, case.true.nv))
    height = float(np.quantile(np.asarray(case.true.pose(foot)(q))[:, 2, 3], 0.05))
    contacts = [hc.ContactPoint(foot, [0.0, 0.0, 0.0])]
    return MUJOCO | {"contacts": contacts, "ground": hc.Ground(height=height)}


def recorded(
    case: Case, rng: np.random.Generator, plant: dict[str, object], duration: float = DURATION
) -> hc.Log:
    """A log of the case under random multi-sine commands."""
    n, t = case.true.nv, np.arange(round(duration / DT) + 1) * DT
    f, phase = rng.uniform(0.1, 1.5, (5, n)), rng.uniform(0, 2 * np.pi, (5, n))
    wave = np.sin(2 * np.pi * f * t[:, None, None] + phase).sum(axis=1) / 2.5
    command = case.posture + case.amplitude * wave * np.minimum(1.0, t / 0.5)[:, None]
    kp, kd = case.servo.gain("kp", n), case.servo.gain("kd", n)

    def law(now: float, q: Array, v: Array) -> Array:
        sent = int(np.floor((now - case.delay) / DT + 1e-6))
        return kp * (command[max(0, sent)] - q) - kd * v

    start = command[0]
    motion = hc.simulate(case.true, start, None, duration, law, PERIOD, **plant)
    every = round(DT / PERIOD)
    unit = 2 * np.pi / 2**16
    return hc.Log.from_arrays(t, np.round(motion.q[::every] / unit) * unit, q_command=command)


def truth(case: Case, found: CommandIdentification) -> Array:
    """The true values of the unknowns."""
    z = np.array(found.z)
    fields = {"viscous": "damping", "coulomb": "friction", "armature": "armature"}
    bodies = [body.joint for body in case.true.model.bodies]
    for group, field in fields.items():
        z[found.unknowns.groups[group]] = np.concatenate([getattr(joint, field) for joint in bodies])
    z[found.unknowns.groups["offset"]] = 0.0
    z[found.unknowns.groups["delay"]] = case.delay
    return z


def seconds(work: Callable[[], object]) -> float:
    """Shortest processor time of three runs, after one that compiles."""
    work()
    found = []
    for _ in range(3):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def derivative_times(case: Case, log: hc.Log, found: CommandIdentification) -> tuple[float, float]:
    """Time of difference quotients by MuJoCo and by Helicoid over that of exact sensitivities."""
    recording = Recording.of(case.described, log, 0.5, 0.05)
    rollouts, z = Rollouts(found.unknowns, case.servo, recording, found.substeps, found.dry_friction), found.z
    start, D = recording.start(), np.eye(len(z))
    exact = seconds(lambda: rollouts.flow(z, start, D))
    columns = 2 * case.true.nv + len(z) + 1
    torque = np.zeros((len(log) - 1, case.true.nv))
    held = case.true.with_joints(damping=10.0)
    plant = MUJOCO | {"method": None, "substeps": found.substeps}
    mujoco = seconds(lambda: hc.simulate(held, case.posture, None, DURATION, torque, DT, **plant))
    return columns * mujoco / exact, columns * seconds(lambda: rollouts.positions(z, start, 1)) / exact


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--robots", nargs="+", default=["ur5", "quadruped"])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--plant", choices=["mujoco", "ideal", "ground"], default="mujoco")
    given = parser.parse_args()
    plant = IDEAL if given.plant == "ideal" else MUJOCO
    hc.set_num_threads(1)
    print(
        "| robot | draw | viscous | Coulomb | armature | delay | within 2 sigma | error over truth's | time |"
    )
    for name in given.robots:
        for draw in range(given.draws):
            rng = np.random.default_rng([given.seed, draw])
            case = drawn(name, rng)
            touching = with_ground(case, rng) if given.plant == "ground" else plant
            log, other = recorded(case, rng, touching), recorded(case, rng, plant, 8.0)
            begin = time.process_time()
            found = hc.identify_from_commands(case.described, log, case.servo, progress=False)
            needed = time.process_time() - begin
            true = truth(case, found)
            off = np.abs(found.z / np.where(true == 0, np.nan, true) - 1)
            groups = found.unknowns.groups
            worst = [100 * off[groups[group]].max() for group in GROUPS]
            late = 100 * abs(found.delay[0] / case.delay - 1)
            covered = 100 * np.mean(np.abs(found.z - true) <= 2 * found.sigma)
            ratio = np.max(found.score(other) / replace(found, z=true).score(other))
            print(
                f"| {name} | {draw} | {worst[0]:.2f} % | {worst[1]:.2f} % | {worst[2]:.2f} % | "
                f"{late:.2f} % | {covered:.0f} % | {ratio:.3f} | {needed:.1f} s |",
                flush=True,
            )
            if found.excluded:
                left_out = sum((end - start) * len(joints) for start, end, joints in found.excluded)
                share = left_out / (case.true.nv * DURATION)
                print(f"{name}: {100 * share:.1f} % of the log of all joints was left out", flush=True)
        mujoco, own = derivative_times(case, log, found)
        print(f"{name}: difference quotients by MuJoCo {mujoco:.0f}, by Helicoid {own:.1f} times as long")


if __name__ == "__main__":
    main()
