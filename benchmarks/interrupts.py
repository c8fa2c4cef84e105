"""Ctrl-C at random moments: whether a call ends with KeyboardInterrupt, how soon, and works afterwards.

    python -m benchmarks.interrupts [moments of each kind]

Each kind of work runs in a process of its own. This process sends it SIGINT at a random moment of the work,
again and again, and the work begins anew each time. "lost": the work went on to its end. "foreign": it ended
with another exception. "broken": the same work, done once more at the end, fails or gives another answer.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

MAX_DELAY = 1.0  # seconds


def load() -> float:
    import helicoid as hc

    return float(sum(hc.load("panda").parameters.values))


def build() -> float:
    import helicoid as hc

    robot = hc.load("ur5")
    functions = [robot.forward_dynamics, robot.inverse_dynamics.jacobian(), robot.regressor]
    functions += [robot.parametric("inertia").forward_dynamics, robot.pose("tool0").time_derivative()]
    return float(sum(function.casadi.n_instructions() for function in functions))


def compile() -> float:
    import helicoid as hc

    with tempfile.TemporaryDirectory() as folder:
        os.environ["HELICOID_CACHE"] = folder
        robot = hc.load("ur5")
        robot.compile("inverse_dynamics", "forward_dynamics", batch=True)
        return float(np.sum(robot.inverse_dynamics(*3 * [np.ones(robot.nq)])))


def simulate() -> float:
    import helicoid as hc

    robot = hc.load("ur5")
    return float(hc.simulate(robot, np.ones(6), duration=2.0, dt=0.01, substeps=1000).q.sum())


def identify() -> float:
    import helicoid as hc

    robot = hc.load("planar_2r")
    rng = np.random.default_rng(0)
    t = np.arange(0, 4, 0.01)
    q, v, a = (
        np.stack([np.sin(t + k) * s for k, s in ((w, 1), (2 * w, 0.5))], 1) for w in (0, np.pi / 2, np.pi)
    )
    tau = robot.inverse_dynamics(q, v, a) + 1e-3 * rng.standard_normal(q.shape)
    return float(hc.identify(robot, hc.Log(t, q, v, tau=tau)).parameters.values.sum())


def excitation() -> float:
    import helicoid as hc

    return float(hc.excitation(hc.load("planar_2r"), 4.0, iterations=20, velocity=2.0).q.sum())


def solve(solver: str = "sqp") -> float:
    import helicoid as hc

    robot = hc.load("ur5")
    problem = hc.mpc.Problem(robot, horizon=20, dt=0.05)
    problem.add_posture_cost(np.full(6, 0.5), 10.0, 100.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_control_cost(1e-4)
    return float(problem.solve(np.zeros(6), solver=solver).q.sum())


def solve_by_ipopt() -> float:
    return solve("ipopt")


KINDS: dict[str, Callable[[], float]] = {
    work.__name__: work
    for work in (load, build, compile, simulate, identify, excitation, solve, solve_by_ipopt)
}


def child(kind: str) -> None:
    """Work when told to, and say how it ended and when."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    work = KINDS[kind]
    expected = work()
    began = time.monotonic()
    work()
    print(time.monotonic() - began, flush=True)
    for line in sys.stdin:
        if line.strip() == "end":
            break
        outcome, ended = "finished", 0.0
        try:
            try:
                print("began", flush=True)
                work()
            except KeyboardInterrupt:
                outcome = "stopped"
            except BaseException as error:
                outcome = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            ended = time.monotonic()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:  # after the end
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stdin.readline()  # until it was sent
        print(ended or time.monotonic(), outcome, flush=True)
        signal.signal(signal.SIGINT, signal.default_int_handler)
    print("usable" if np.isclose(work(), expected, rtol=1e-6) else "another answer", flush=True)


def interrupt(kind: str, moments: int, rng: np.random.Generator) -> dict[str, list[str] | list[float]]:
    """Results of `moments` interrupts of one kind of work."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.interrupts", "--child", kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    duration = float(process.stdout.readline())
    delays: list[float] = []
    lost: list[str] = []
    foreign: list[str] = []
    while len(delays) + len(lost) + len(foreign) < moments:
        print("work", file=process.stdin, flush=True)
        process.stdout.readline()
        time.sleep(duration * rng.uniform())
        sent = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        surely = time.monotonic()
        print("sent", file=process.stdin, flush=True)
        ended, _, outcome = process.stdout.readline().strip().partition(" ")
        delay = float(ended) - sent
        if outcome == "stopped":
            delays.append(delay)
        elif outcome != "finished":
            foreign.append(outcome)
        elif float(ended) > surely + 0.01:  # else the work was as good as done
            lost.append(kind)
    print("end", file=process.stdin, flush=True)
    last = process.stdout.readline().strip()
    with contextlib.suppress(OSError):
        process.stdin.close()
    process.wait()
    return {"delays": delays, "lost": lost, "foreign": foreign, "broken": [] if last == "usable" else [last]}


def main(moments: int) -> None:
    """Print one row for each kind."""
    rng = np.random.default_rng(0)
    table = Table(
        "kind", "interrupts", "lost", "foreign", "late", "median (ms)", "longest (ms)", "usable after"
    )
    for kind in KINDS:
        found = interrupt(kind, moments, rng)
        print(kind, {key: len(value) for key, value in found.items()}, flush=True)
        delays = np.array(found["delays"] or [np.nan], dtype=float)
        table.add_row(
            kind,
            str(moments),
            str(len(found["lost"])),
            ", ".join(sorted(set(map(str, found["foreign"])))) and f"{len(found['foreign'])}",
            str(int(np.sum(delays > MAX_DELAY))),
            f"{1e3 * np.median(delays):.0f}",
            f"{1e3 * np.max(delays):.0f}",
            "yes" if not found["broken"] else f"no: {found['broken'][0]}",
        )
        for text in sorted(set(map(str, found["foreign"]))):
            print(f"{kind}: {text}")
    Console().print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
