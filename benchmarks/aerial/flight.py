"""Flight beside RotorPy and JSBSim: seconds of the processor, one thread, and ratios of the same run.

Run by `make bench-aerial`, or `python -m benchmarks.aerial.flight` with HELICOID_AERIAL_PEERS naming the
Python that has the peers. Our Hummingbird has rotor drag, rolling moments and gyroscopic torques that
RotorPy's has in part; the fixed wings are different aircraft, our Aerosonde and JSBSim's Cessna 172, which
has far more tables in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import helicoid as hc
from benchmarks.aerial.peers import best

BATCH = 4096
STEPS_PER_ROW = 10  # steps of a batch for each row that is kept: the peers keep none
TARGETS = {
    "quadrotor, one, 10 ms": 1000, "quadrotor, batch of 4096, 10 ms": 80, "closed loop, one, 10 ms": None,
    "closed loop, batch of 4096, 10 ms": 75, "SE(3) law, a call": 1000,
    "SE(3) law, a call with seven references": 1000, "fixed wing, one step of 1/120 s": 10,
    "fixed wing, batch of 4096": 40, "trim": 20, "linearisation": 10000,
}  # fmt: skip


def per_row(run: Any, short: int, long: int) -> float:
    """Seconds for a row: the difference of a long and a short simulation, best of some."""
    for n in (short, long):
        run(n)
    found = float("inf")
    for _ in range(5):
        marks = [time.process_time()]
        for n in (short, long):
            run(n)
            marks.append(time.process_time())
        found = min(found, (marks[2] - marks[1] - (marks[1] - marks[0])) / (long - short))
    return found


def ours() -> dict[str, float]:
    """Times of Helicoid (s)."""
    quad, aircraft = hc.aerial.load("hummingbird"), hc.aerial.load("aerosonde")
    hover, level = quad.trim(), aircraft.trim(speed=25.0)
    spin = np.array([0.1, 0.2, 0.1, 0, 0, 0])
    law = hc.aerial.GeometricControl(quad)
    many = np.tile(hover.q, (BATCH, 1))
    planes = np.tile(level.q, (BATCH, 1))

    def flown(vehicle: Any, q0: Any, v0: Any, controller: Any, dt: float, substeps: int) -> Any:
        return lambda n: hc.simulate(
            vehicle, q0, v0, n * dt, controller, dt, substeps=substeps, progress=False
        )

    follow = law.following(position=[0.0, 0.0, 0.0])
    names = ("position", "velocity", "acceleration", "jerk", "snap")
    wanted: dict[str, Any] = {**{name: np.zeros(3) for name in names}, "yaw": 0.0, "yaw_rate": 0.0}
    result = {
        "quadrotor, one, 10 ms": per_row(flown(quad, hover.q, spin, hover.u, 0.01, 4), 100, 20_100),
        "quadrotor, batch of 4096, 10 ms": per_row(
            flown(quad, many, spin, hover.u, 0.01 * STEPS_PER_ROW, STEPS_PER_ROW), 2, 12
        )
        / BATCH
        / STEPS_PER_ROW,
        "closed loop, one, 10 ms": per_row(flown(quad, hover.q, spin, follow, 0.01, 1), 100, 20_100),
        "closed loop, batch of 4096, 10 ms": per_row(flown(quad, many, spin, follow, 0.01, 1), 2, 12) / BATCH,
        "SE(3) law, a call": best(lambda: law.step(hover.q, hover.v)),
        "SE(3) law, a call with seven references": best(lambda: law.step(hover.q, hover.v, **wanted)),
        "fixed wing, one step of 1/120 s": per_row(
            flown(aircraft, level.q, level.v, level.u, 1 / 120, 1), 100, 20_100
        ),
        "fixed wing, batch of 4096": per_row(
            flown(aircraft, planes, level.v, level.u, STEPS_PER_ROW / 120, STEPS_PER_ROW), 2, 12
        )
        / BATCH
        / STEPS_PER_ROW,
        "trim": best(lambda: aircraft.trim(speed=25.0)),
        "linearisation": best(level.linearise),
    }
    return result


def errors() -> dict[str, float]:
    """Largest error of the position after 1 s of tumbling, by substeps of 10 ms, against 64 of them."""
    quad = hc.aerial.load("hummingbird")
    hover, spin = quad.trim(), np.array([1.0, 2.0, 1.0, 1.0, 0, 0])
    u = hover.u + np.array([10.0, 0, -10.0, 5.0])
    ends = {n: hc.simulate(quad, hover.q, spin, 1.0, u, 0.01, substeps=n).q[-1] for n in (1, 2, 4, 64)}
    return {f"{n} steps": float(np.abs(ends[n] - ends[64])[:3].max()) for n in (1, 2, 4)}


def peers() -> dict[str, dict[str, float]]:
    """Times of the peers (s), measured by their own Python."""
    python = os.environ.get("HELICOID_AERIAL_PEERS", sys.executable)
    script = Path(__file__).with_name("peers.py")
    done = subprocess.run([python, str(script), str(BATCH)], capture_output=True, text=True, check=False)
    line = next((x for x in done.stdout.splitlines() if x.startswith("RESULT ")), None)
    if line is None:
        raise SystemExit(f"the peers could not be measured: {done.stderr[-2000:]}")
    found: dict[str, dict[str, float]] = json.loads(line.removeprefix("RESULT "))
    return found


def main() -> None:
    """Print the table."""
    hc.set_num_threads(1)
    mine, theirs = ours(), peers()
    r, j = theirs["rotorpy"], theirs["jsbsim"]
    both = r["one"] + r["law"] if "one" in r else None
    beside = {
        "quadrotor, one, 10 ms": r.get("one"),
        "quadrotor, batch of 4096, 10 ms": r.get("batch"),
        "closed loop, one, 10 ms": both,
        "closed loop, batch of 4096, 10 ms": r.get("batch"),
        "SE(3) law, a call": r.get("law"),
        "SE(3) law, a call with seven references": r.get("law"),
        "fixed wing, one step of 1/120 s": j.get("one"),
        "fixed wing, batch of 4096": j.get("one"),
        "trim": j.get("trim"),
        "linearisation": j.get("linearise"),
    }
    print("| case | Helicoid (µs) | peer (µs) | ratio | target |\n|---|---|---|---|---|")
    for name, seconds in mine.items():
        other = beside[name]
        cells = f"{1e6 * other:.4g} | {other / seconds:.4g}" if other else "not there | -"
        print(f"| {name} | {1e6 * seconds:.3g} | {cells} | {TARGETS[name] or '-'} |")
    print("\nErrors of 10 ms steps (m):", ", ".join(f"{k}: {v:.1e}" for k, v in errors().items()))
    print("Peers:", json.dumps(theirs))


if __name__ == "__main__":
    main()
