"""Quadrupeds of example-robot-data walk from their descriptions alone, by the defaults of Walker.

    python -m benchmarks.walking.quadrupeds [--robots go1 hyq] [--plant mujoco] [--seeds 3] [--first 0]
        [--impratio 1] [--slope 0] [--rough 0] [--out FILE]

Each stands for two seconds, walks 10 m at 0.4 m/s, turns, stops and stands, with a mass that is 5 % wrong,
friction 0.6 (0.5 assumed), and three pushes of 0.4 times its weight for 0.1 s from random sides. Errors of
speed and height are means over the walk, against the commanded speed and the nominal height above the true
ground under the feet; times are processor time of `Walker.step`. `--slope` (degrees) and `--rough` (m, random
heights every 10 cm) shape the ground in MuJoCo; `--out` appends a line of JSON for each walk.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import dataclass, field
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np

import helicoid as hc
from benchmarks.walking.on_plants import DT, Fell, on_plant
from helicoid._typing import Array
from helicoid.walking import Walker

SPEED, DISTANCE, LONGEST = 0.4, 10.0, 40.0
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
RADII = {"solo8": 0.005, "solo12": 0.005}  # m: of the balls that plants give to feet without shapes


def _file(end: str) -> str:
    return str(next(one for one in files("example-robot-data") or () if str(one).endswith(end)).locate())


def walker(name: str, **options: Any) -> Walker:
    """The robot with the defaults of `Walker`."""
    urdf, srdf = ROBOTS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in RADII:
            options.setdefault("foot_radius", RADII[name])
        robot = hc.load(_file(urdf), srdf=_file(srdf) if srdf else None, base="floating")
    if name not in POSTURES:
        return Walker(robot, **options)
    q = robot.neutral()
    q[7:] = POSTURES[name]
    return Walker(robot, q, **options)


def ground(slope: float, rough: float, seed: int) -> Array | None:
    """Heights over 26 × 8 m: level for the first half metre, then a slope (rad) and random heights."""
    if not slope and not rough:
        return None
    x = 0.1 * (np.arange(261) - 130)
    heights = np.tan(slope) * np.maximum(x - 0.5, 0.0)[:, None] + np.zeros((1, 81))
    random = np.random.default_rng(1000 + seed).uniform(-rough, rough, heights.shape)
    return np.asarray(heights + random * (x > 0.7)[:, None])


def height_at(heights: Array | None, points: Array) -> Array:
    """Height of the ground under points (N, 3), bilinear in the grid."""
    if heights is None:
        return np.zeros(len(points))
    size = np.array(heights.shape) - 1
    at = np.clip(points[:, :2] / 0.1 + size / 2, 0, size - 1e-9)
    i, j = at.astype(int).T
    s, t = (at % 1).T
    low, high = (
        (1 - t) * heights[i, j] + t * heights[i, j + 1],
        (1 - t) * heights[i + 1, j] + t * heights[i + 1, j + 1],
    )
    return np.asarray((1 - s) * low + s * high)


@dataclass
class TenMetres:
    """One walk by its seed; `__call__` is its controller."""

    dog: Walker
    seed: int
    heights: Array | None = None
    distance: float = 0.0
    turned: float = np.inf
    moving: float = np.inf
    speeds: list[float] = field(default_factory=list)
    trunk: list[float] = field(default_factory=list)
    fine: list[bool] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    plans: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.mass = float(rng.choice([0.95, 1.05]))
        self._pushed = STANDS + np.array(
            [rng.uniform(2.0, 6.0), rng.uniform(9.0, 13.0), rng.uniform(16.0, 20.0)]
        )
        self._angles = rng.uniform(0.0, 2 * np.pi, 3)
        self.dog.reset()

    def push(self, t: float) -> Array:
        """The force on the trunk (N, world)."""
        size = PUSH * 9.81 * self.dog.robot.mass
        active = (self._pushed <= t) & (t < self._pushed + 0.1)
        return size * np.array([np.cos(self._angles) @ active, np.sin(self._angles) @ active, 0.0])

    def above(self, q: Array) -> float:
        """Height of the trunk over the mean of the true ground under the feet (m)."""
        feet = np.array([self.dog.robot.pose(foot)(q)[:3, 3] for foot in self.dog.gait.feet])
        return float(q[2] - height_at(self.heights, feet).mean())

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Torques; raises `Fell`, or StopIteration where all is done."""
        dog, k = self.dog, round(t / DT)
        above = self.above(q)
        if 2 * np.hypot(q[4], q[5]) > 0.6 or abs(above - dog.height) > 0.4 * dog.height:
            raise Fell(f"fell at {t:.1f} s")
        if k == round(STANDS / DT):
            dog.go(forward=SPEED)
        self.distance = max(self.distance, float(np.hypot(*q[:2])))
        if self.distance > DISTANCE and np.isinf(self.turned):
            self.turned = t
            dog.go(forward=0.2, turn=0.5 if dog.sideways else 0.0)
        if self.turned + TURNS <= t < self.turned + TURNS + DT:
            dog.stop()
        if t > self.turned + TURNS + 2.0:
            self.moving = float(np.abs(v).max())
            raise StopIteration
        if t > STANDS + 2.0 and np.isinf(self.turned):
            self.speeds.append(float(v[3]))
            self.trunk.append(above / dog.height - 1)
        plans, began = dog.plans, time.thread_time()
        tau = dog.step(q, v)
        self.steps.append(time.thread_time() - began)
        if dog.plans > plans:
            self.plans.append(dog.plan_seconds)
        self.fine.append(dog.ok)
        return tau

    def row(self, ended: str) -> dict[str, Any]:
        """Figures of the walk."""
        if ended == "done":
            ended = "walked" if self.moving < 0.2 else "moves on"
        steps, plans = (np.percentile(x[1:] or [np.nan], [50, 99]).tolist() for x in (self.steps, self.plans))
        return {
            "ended": ended,
            "distance": self.distance,
            "speed": float(np.mean(self.speeds or [np.nan])) / SPEED - 1,
            "height": float(np.mean(self.trunk or [np.nan])),
            "ok": float(np.mean(self.fine)),
            "step": steps,
            "plan": plans,
        }


def line(name: str, rows: list[dict[str, Any]]) -> str:
    """A line of the table: means over the walks, the worst time of steps."""
    speed, height, ok = (100 * np.nanmean([row[key] for row in rows]) for key in ("speed", "height", "ok"))
    steps, plans = (np.mean([row[key] for row in rows], axis=0) for key in ("step", "plan"))
    ended = [row["ended"] for row in rows]
    return (
        f"{name:18} {ended.count('walked'):3d}/{len(rows):<3d} {min(row['distance'] for row in rows):5.1f} m "
        f"{speed:+6.1f}% {height:+6.1f}% {ok:6.1f}% {1e6 * steps[0]:6.0f},{1e6 * steps[1]:5.0f} "
        f"{1e3 * plans[0]:6.1f},{1e3 * plans[1]:5.1f}  {', '.join(one for one in ended if one != 'walked')}"
    )


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", nargs="+", default=list(ROBOTS), choices=list(ROBOTS))
    parser.add_argument("--plant", default="mujoco", choices=["mujoco", "helicoid"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--impratio", type=float, default=1.0)
    parser.add_argument("--slope", type=float, default=0.0)
    parser.add_argument("--rough", type=float, default=0.0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.plant == "helicoid" and (given.slope or given.rough):
        parser.error("--slope and --rough are of the ground in MuJoCo")
    print(f"{'robot':18} {'walked':>7} {'at least':>8} {'speed':>7} {'height':>7} {'ok':>7}", end="")
    print(f"{'step p50,p99 (µs)':>19}{'plan (ms)':>13}")
    for name in given.robots:
        dog, rows = walker(name), []
        for seed in range(given.first, given.first + given.seeds):
            walk = TenMetres(dog, seed, ground(np.deg2rad(given.slope), given.rough, seed))
            rows.append(walk.row(on_plant(walk, given.plant, LONGEST, walk.heights, given.impratio)))
            if given.out:
                told = {"robot": name, "seed": seed, "plant": given.plant, "slope": given.slope}
                with given.out.open("a") as file:
                    file.write(json.dumps(told | {"rough": given.rough} | rows[-1]) + "\n")
        print(line(name, rows), flush=True)


if __name__ == "__main__":
    main()
