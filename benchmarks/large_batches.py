"""Time per sample as batches outgrow the caches: `python -m benchmarks.large_batches`.

Inverse dynamics on one thread, nanoseconds of processor time a sample, the best of several rounds in which
all sizes take turns; with `out=`, and with a new result each time, whose pages the system has to provide. The
last column is the largest batch over the smallest.
"""

from __future__ import annotations

import time

import numpy as np

import helicoid as hc

SIZES = (20_000, 60_000, 100_000, 300_000, 1_000_000)
ROUNDS = 5
MIN_SAMPLES = 200_000  # samples in one measurement, at least


def measure(name: str) -> dict[bool, list[float]]:
    """For results in `out` and for new ones: nanoseconds a sample, by size."""
    robot = hc.load(name)
    function, rng = robot.inverse_dynamics, np.random.default_rng(0)
    q, v, a = (rng.normal(size=(SIZES[-1], robot.nv)) for _ in range(3))
    target = np.zeros((SIZES[-1], robot.nv))
    best = {given: [np.inf] * len(SIZES) for given in (True, False)}
    for _ in range(ROUNDS):
        for k, n in enumerate(SIZES):
            repeats = max(1, MIN_SAMPLES // n)
            for given, times in best.items():
                options = {"out": target[:n]} if given else {}
                began = time.process_time()
                for _ in range(repeats):
                    function(q[:n], v[:n], a[:n], **options)
                times[k] = min(times[k], 1e9 * (time.process_time() - began) / repeats / n)
    return best


def main() -> None:
    """The table."""
    hc.set_num_threads(1)
    print(f"{'ns a sample':20}" + "".join(f"{n:>11,}" for n in SIZES) + f"{'ratio':>8}")
    for name in ("ur5", "panda", "snake"):
        for given, times in measure(name).items():
            text = "".join(f"{x:11.1f}" for x in times)
            print(f"{name + (', out=' if given else ', new'):20}{text}{times[-1] / times[0]:8.2f}")


if __name__ == "__main__":
    main()
