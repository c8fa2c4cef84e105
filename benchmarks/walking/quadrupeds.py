"""Quadrupeds of example-robot-data walk in MuJoCo, from their descriptions alone, by the defaults of Walker.

    python -m benchmarks.walking.quadrupeds [--robots go1 hyq] [--seeds 3] [--first 0] [--impratio 1]
        [--slope 0] [--rough 0]

Each stands for two seconds, walks 10 m at 0.4 m/s, turns, stops and stands, with a mass that is 5 % wrong,
friction 0.6 (0.5 assumed), and three pushes of 0.4 times its weight for 0.1 s from random sides. Errors of
speed and height are means over the walk. `--slope` (degrees) and `--rough` (m, random heights every 10 cm)
shape the ground.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from dataclasses import dataclass, field
from importlib.metadata import files
from pathlib import Path

import numpy as np

import helicoid as hc
from benchmarks.walking.mujoco_ground import MuJoCoGround, balls
from helicoid._typing import Array
from helicoid.walking import Walker

DT, SPEED, DISTANCE, LONGEST, FRICTION = 0.002, 0.4, 10.0, 40.0, 0.6
STANDS, PUSH, TURNS = 2.0, 0.4, 2.0  # s, of the weight, s
ROBOTS = {
    "a1": ("a1_description/urdf/a1.urdf", "a1.srdf"),
    "go1": ("go1_description/urdf/go1.urdf", "go1.srdf"),
    "go2": ("go2_description/urdf/go2.urdf", "go2.srdf"),
    "b1": ("b1_description/urdf/b1.urdf", "b1.srdf"),
    "b1 with arm": ("b1_description/urdf/b1-z1.urdf", "b1-z1.srdf"),
    "laikago": ("laikago_description/urdf/laikago.urdf", ""),
    "anymal b": ("anymal_b_simple_description/robots/anymal.urdf", "b_simple_description/srdf/anymal.srdf"),
    "anymal b with arm": ("anymal_b_simple_description/robots/anymal-kinova.urdf", "anymal-kinova.srdf"),
    "anymal c": ("anymal_c_simple_description/urdf/anymal.urdf", "c_simple_description/srdf/anymal.srdf"),
    "hyq": ("hyq_description/robots/hyq_no_sensors.urdf", "hyq.srdf"),
    "solo12": ("solo_description/robots/solo12.urdf", "solo.srdf"),
    "solo8": ("solo_description/robots/solo.urdf", "solo.srdf"),
}
POSTURES = {"laikago": np.tile([0.0, 0.8, -1.6], 4)}  # it has no SRDF


def _file(end: str) -> str:
    return str(next(one for one in files("example-robot-data") or () if str(one).endswith(end)).locate())


def walker(name: str) -> Walker:
    """The robot with the defaults of `Walker`."""
    urdf, srdf = ROBOTS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = hc.load(_file(urdf), srdf=_file(srdf) if srdf else None, base="floating")
    if name not in POSTURES:
        return Walker(robot)
    q = robot.neutral()
    q[7:] = POSTURES[name]
    return Walker(robot, q)


@dataclass
class Outcome:
    """How one walk went."""

    ended: str = "late"
    distance: float = 0.0
    speeds: list[float] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)
    fine: list[bool] = field(default_factory=list)
    plans: list[float] = field(default_factory=list)


def ground(slope: float, rough: float, seed: int) -> Array | None:
    """Heights over 26 × 8 m: level for the first half metre, then a slope (rad) and random heights."""
    if not slope and not rough:
        return None
    x = 0.1 * (np.arange(261) - 130)
    heights = np.tan(slope) * np.maximum(x - 0.5, 0.0)[:, None] + np.zeros((1, 81))
    random = np.random.default_rng(1000 + seed).uniform(-rough, rough, heights.shape)
    return np.asarray(heights + random * (x > 0.7)[:, None])


def run(dog: Walker, seed: int, impratio: float, slope: float, rough: float) -> Outcome:
    """One walk."""
    dog.reset()
    rng, robot, out = np.random.default_rng(seed), dog.robot, Outcome()
    mass = float(rng.choice([0.95, 1.05]))
    pushed = STANDS + np.array([rng.uniform(2.0, 6.0), rng.uniform(9.0, 13.0), rng.uniform(16.0, 20.0)])
    angles = rng.uniform(0.0, 2 * np.pi, 3)
    with tempfile.TemporaryDirectory() as folder:
        feet = balls(dog.gait.feet, max(dog.foot_radius, 0.005))
        made = MuJoCoGround(
            robot, dog.posture, feet, Path(folder), FRICTION, mass, ground(slope, rough, seed)
        )
    made.model.opt.impratio = impratio
    turned = np.inf
    for k in range(round(LONGEST / DT)):
        t = k * DT
        q, v = made.state()
        tilt = 2 * float(np.hypot(q[4], q[5]))
        if k == round(STANDS / DT):
            dog.go(forward=SPEED)
        out.distance = max(out.distance, float(np.hypot(*q[:2])))
        if out.distance > DISTANCE and np.isinf(turned):
            turned = t
            dog.go(forward=0.2, turn=0.5 if dog.sideways else 0.0)
        if turned + TURNS <= t < turned + TURNS + DT:
            dog.stop()
        if t > turned + TURNS + 2.0:
            out.ended = "walked" if np.abs(v).max() < 0.2 else "moves on"
            return out
        tau, plans = dog.step(q, v), dog.plans
        over_ground = q[2] - dog.ground
        if tilt > 0.6 or abs(over_ground - dog.height) > 0.4 * dog.height:
            out.ended = f"fell at {t:.1f} s"
            return out
        out.fine.append(dog.ok)
        if dog.plans != plans or k % 12 == 0:
            out.plans.append(dog.plan_seconds)
        if t > STANDS + 2.0 and np.isinf(turned):
            out.speeds.append(float(v[3]))
            out.heights.append(float(over_ground / dog.height - 1))
        push = sum(
            PUSH * 9.81 * robot.mass * np.array([np.cos(a), np.sin(a), 0.0]) * (at <= t < at + 0.1)
            for at, a in zip(pushed, angles, strict=True)
        )
        made.hold(tau, DT, push)
    return out


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", nargs="+", default=list(ROBOTS), choices=list(ROBOTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--impratio", type=float, default=1.0)
    parser.add_argument("--slope", type=float, default=0.0)
    parser.add_argument("--rough", type=float, default=0.0)
    given = parser.parse_args()
    print(f"{'robot':18} {'walked':>7} {'speed':>8} {'height':>8} {'ok':>7} {'plan p50, p99 (ms)':>20}")
    for name in given.robots:
        dog = walker(name)
        seeds = range(given.first, given.first + given.seeds)
        ran = [run(dog, seed, given.impratio, np.deg2rad(given.slope), given.rough) for seed in seeds]
        speed = 100 * (np.mean([x for one in ran for x in one.speeds] or [np.nan]) / SPEED - 1)
        height = 100 * np.mean([x for one in ran for x in one.heights] or [np.nan])
        ok = 100 * np.mean([x for one in ran for x in one.fine])
        plans = 1e3 * np.percentile([x for one in ran for x in one.plans], [50, 99])
        ended = [one.ended for one in ran]
        print(
            f"{name:18} {ended.count('walked'):3d}/{len(ran):<3d} {speed:+7.1f}% {height:+7.1f}% {ok:6.1f}%"
            f"{plans[0]:11.1f},{plans[1]:7.1f}  {', '.join(one for one in ended if one != 'walked')}",
            flush=True,
        )


if __name__ == "__main__":
    main()
