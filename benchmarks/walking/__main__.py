"""Quadrupeds walk ten metres, over seeds, on two plants: distance, falls, processor time of a step.

    python -m benchmarks.walking [--robots a1 quadruped] [--plants mujoco helicoid] [--seeds 20] [--first 0]
        [--noise 0.0] [--delay 0.025]

A line for each run, then a table. Times are processor time: of a control step, and of a plan, which is
computed in a second thread.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.walking.task import Episode, run, walker


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", nargs="+", default=["a1", "quadruped"])
    parser.add_argument("--plants", nargs="+", default=["mujoco", "helicoid"], choices=["mujoco", "helicoid"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--delay", type=float, default=0.025)
    given = parser.parse_args()
    rows = []
    for name in given.robots:
        dog = walker(name, plan_delay=given.delay)
        for plant in given.plants:
            ended, episodes = [], []
            for seed in range(given.first, given.first + given.seeds):
                episodes.append(one := Episode(dog, seed, given.noise))
                ended.append(run(one, plant))
                share = 100 * np.mean(one.fine)
                print(
                    f"{name} {plant} seed {seed}: {ended[-1]}, {one.distance:.2f} m, tilt {one.tilt:.3f}, "
                    f"ok {share:.1f} %, plan p99 {1e3 * np.percentile(one.plans, 99):.1f} ms",
                    flush=True,
                )
            rows.append((name, plant, ended, episodes))
    print(f"\n{'robot':10} {'plant':9} {'walked':>8} {'shortest':>9} {'tilt':>6} {'ok':>6}", end="")
    print(f"{'step p50, p99':>18} {'plan p50, p99':>18}   (µs, ms)")
    for name, plant, ended, episodes in rows:
        fine = 100 * np.mean([x for one in episodes for x in one.fine])
        steps = 1e6 * np.percentile([x for one in episodes for x in one.steps], [50, 99])
        plans = 1e3 * np.percentile([x for one in episodes for x in one.plans], [50, 99])
        print(
            f"{name:10} {plant:9} {ended.count('walked'):4d}/{len(ended):<3d} "
            f"{min(one.distance for one in episodes):7.2f} m {max(one.tilt for one in episodes):6.3f} "
            f"{fine:5.1f}%{steps[0]:9.0f},{steps[1]:7.0f} {plans[0]:10.1f},{plans[1]:6.1f}"
        )


if __name__ == "__main__":
    main()
