"""Quadrupeds turn on the spot, step sideways, walk backwards, and stop, in MuJoCo or `hc.simulate`.

    python -m benchmarks.walking.manoeuvres [--robots go1 hyq] [--plant mujoco] [--out FILE]

From their descriptions, by the defaults of Walker: four seconds each of a turn of 0.5 rad/s on the spot,
sideways at 0.15 m/s, and backwards at 0.3 m/s, each followed by a stop and two seconds of standing. Speeds
are means over the last three of the four seconds, drift is the distance of the trunk that turns from where it
began, and the time of a stop is that from the command until the trunk stays below 5 cm/s and 0.1 rad/s.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.walking.on_plants import DT, Fell, on_plant
from benchmarks.walking.quadrupeds import ROBOTS, walker
from helicoid._typing import Array
from helicoid.walking import Walker

MOVES, STANDS, SETTLES = 4.0, 2.0, 1.0  # s
SLOW = 0.05, 0.1  # m/s, rad/s: of a trunk that has stopped
COMMANDS = {"turn": (0.0, 0.0, 0.5), "sideways": (0.0, 0.15, 0.0), "backwards": (-0.3, 0.0, 0.0)}


@dataclass
class Manoeuvres:
    """The manoeuvres that a robot can do; `__call__` is its controller."""

    dog: Walker
    mass: float = 1.05
    velocities: list[Array] = field(default_factory=list)
    places: list[Array] = field(default_factory=list)
    fine: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = [one for one in COMMANDS if self.dog.sideways or one == "backwards"]
        self.dog.reset()

    def push(self, t: float) -> Array:
        """None."""
        return np.zeros(3)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Torques; raises `Fell`, or StopIteration where all is done."""
        dog = self.dog
        if 2 * np.hypot(q[4], q[5]) > 0.6 or abs(q[2] / dog.height - 1) > 0.4:
            raise Fell(f"fell at {t:.1f} s")
        k, within = divmod(round(t / DT) - round(STANDS / DT), round((MOVES + STANDS) / DT))
        if k >= len(self.names):
            raise StopIteration
        if k >= 0 and within == 0:
            dog.go(*COMMANDS[self.names[k]])
        if k >= 0 and within == round(MOVES / DT):
            dog.stop()
        self.velocities.append(v[[3, 4, 2, 5, 0, 1]])
        self.places.append(q[:2].copy())
        tau = dog.step(q, v)
        self.fine.append(dog.ok)
        return tau

    def row(self, ended: str) -> dict[str, Any]:
        """Figures of the manoeuvres that were completed."""
        found: dict[str, Any] = {"ended": ended, "ok": float(np.mean(self.fine))}
        moves, n = round(MOVES / DT), round((MOVES + STANDS) / DT)
        for k, name in enumerate(self.names):
            first = round(STANDS / DT) + k * n
            v, at = (np.array(x[first : first + n]) for x in (self.velocities, self.places))
            if len(v) < n:
                break
            mean = v[round(SETTLES / DT) : moves].mean(axis=0)
            column = int(np.flatnonzero(COMMANDS[name])[0])
            after = v[moves:]
            fast = (np.linalg.norm(after[:, [0, 1, 3]], axis=1) > SLOW[0]) | (
                np.linalg.norm(after[:, [2, 4, 5]], axis=1) > SLOW[1]
            )
            last = int(np.flatnonzero(fast)[-1]) + 1 if fast.any() else 0
            found[name] = {
                "error": float(mean[column] / COMMANDS[name][column] - 1),
                "stops": last * DT,
                "drift": float(np.linalg.norm(at[moves] - at[0])),
            }
        return found


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", nargs="+", default=list(ROBOTS), choices=list(ROBOTS))
    parser.add_argument("--plant", default="mujoco", choices=["mujoco", "helicoid"])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    print(f"{'robot':18}{'turn, drift, stop':>24}{'sideways, stop':>18}{'backwards, stop':>18}")
    for name in given.robots:
        walk = Manoeuvres(walker(name))
        row = walk.row(on_plant(walk, given.plant, 30.0))
        if given.out:
            with given.out.open("a") as file:
                file.write(json.dumps({"robot": name, "plant": given.plant} | row) + "\n")
        parts = []
        for manoeuvre in COMMANDS:
            one = row.get(manoeuvre)
            drift = f"{100 * one['drift']:3.0f} cm " if one and manoeuvre == "turn" else ""
            parts.append(f"{100 * one['error']:+6.1f}% {drift}{one['stops']:6.2f} s" if one else "-")
        print(f"{name:18}{parts[0]:>24}{parts[1]:>18}{parts[2]:>18}  {row['ended']}", flush=True)


if __name__ == "__main__":
    main()
