"""One hour of simulated contact, in runs of a minute: quadrupeds under impulses, thrown bodies.

    python -m benchmarks.contact_hour [--seconds 3600] [--seed 0] [--subjects a1 box ...]

Steps of 1 ms. A line for each subject: whether all numbers are finite, the worst residual and depth and the
share of samples in which they are above 1e-8 m/s and 1e-6 m, the fastest velocity, and processor time.
"""

from __future__ import annotations

import argparse
import sysconfig
import time
from pathlib import Path
from typing import Any

import numpy as np

import helicoid as hc
from benchmarks.contact import A1, RADIUS, feet, holding, standing

MINUTE, KICK, EVERY = 60.0, 100, 1500  # s; steps that a kick takes, and from one to the next
SUBJECTS = ("quadruped", "a1", "a1 on its shapes", "box", "box, e = 0.5", "cylinder")
SHAPES = {"box": '<box size="0.2 0.3 0.1"/>', "cylinder": '<cylinder radius="0.1" length="0.05"/>'}


def animal(name: str) -> tuple[hc.Robot, np.ndarray, Any, Any]:
    """A quadruped that holds its posture: robot, q, contacts, law."""
    path = Path(sysconfig.get_path("purelib")) / A1
    robot = hc.load("quadruped" if name == "quadruped" else path, "floating")
    q = standing(robot)
    contacts = [hc.ContactPoint(foot, radius=RADIUS) for foot in feet(robot)]
    if name.endswith("shapes"):
        q[2] += 0.05
    return robot, q, "collision" if name.endswith("shapes") else contacts, holding(robot, q)


def thing(name: str) -> tuple[hc.Robot, np.ndarray, Any, Any]:
    """A body of 1 kg: robot, q, contacts, no law."""
    kind = name.split(",")[0]
    text = f"""<robot name="{kind}"><link name="{kind}"><inertial><mass value="1"/>
      <inertia ixx="0.008" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.01"/></inertial>
      <collision><geometry>{SHAPES[kind]}</geometry></collision></link></robot>"""
    return hc.load(text, "floating"), np.array([0, 0, 0.4, 1, 0, 0, 0.0]), "collision", None


def minute(subject: tuple[Any, ...], q: Any, v: Any, seconds: float, rng: Any, e: float) -> hc.Trajectory:
    """Up to a minute from (q, v): noise in the motors, and kicks of the trunk."""
    robot, _, contacts, law = subject
    n = round(seconds * 1e3)
    force = np.concatenate([np.zeros((n, 6)), rng.normal(0, 3.0, (n, robot.nv - 6))], axis=1)
    for k in range(0, n, EVERY):
        force[k : k + KICK, :6] = rng.normal(size=6) * robot.mass * np.array([0.5] * 3 + [15.0] * 3)
    return hc.simulate(
        robot,
        q,
        v,
        seconds,
        law,
        disturbance=force,
        ground=hc.Ground(friction=0.6, restitution=e),
        contacts=contacts,
        progress=False,
    )


def hour(name: str, seconds: float, seed: int) -> str:
    """The line of a subject."""
    subject = (animal if name in SUBJECTS[:3] else thing)(name)
    rng, e = np.random.default_rng(seed), 0.5 if "e = 0.5" in name else 0.0
    q, v, done, began = subject[1], None, 0.0, time.process_time()
    finite, worst, missed, samples = True, np.zeros(3), np.zeros(2), 0
    while done < seconds and finite:
        try:
            motion = minute(subject, q, v, min(MINUTE, seconds - done), rng, e)
        except hc.SimulationError as error:
            return f"{name:18} after {done + error.trajectory.t[-1]:.2f} s: {error}"
        found = motion.contact_residual, motion.penetration, np.abs(motion.v).max(axis=1)
        finite = all(np.isfinite(x).all() for x in (motion.q, motion.contact_forces, *found))
        worst = np.maximum(worst, [x.max() for x in found])
        missed += [np.sum(found[0] > 1e-8), np.sum(found[1] > 1e-6)]
        done, samples, q, v = done + motion.t[-1], samples + len(motion.t), motion.q[-1], motion.v[-1]
        q[:2] = 0.0  # as good a place as any, and no digits are lost
    share = missed / samples
    return (
        f"{name:18}{done:7.0f} s  finite {finite}  residual {worst[0]:.1e} ({share[0]:.1e} above)  depth "
        f"{worst[1]:.1e} ({share[1]:.1e} above)  speed {worst[2]:.0f}  {time.process_time() - began:.0f} s"
    )


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--subjects", nargs="+", default=SUBJECTS, choices=SUBJECTS)
    given = parser.parse_args()
    hc.set_num_threads(1)
    for name in given.subjects:
        print(hour(name, given.seconds, given.seed), flush=True)


if __name__ == "__main__":
    main()
