"""Whole simulations: one rollout, and many side by side, beside MuJoCo and Pinocchio."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from benchmarks.harness.calls import Call, relative_error
from benchmarks.harness.disturbance import Watch
from benchmarks.harness.plan import Plan
from benchmarks.harness.subjects import State, Subject, bundled_subject, plain_urdf
from benchmarks.harness.timing import best_times
from benchmarks.report.comparison import Peers, Progress, prepared
from benchmarks.report.results import OURS, Timing
from helicoid.compiler.build.binding import get_num_threads, set_num_threads
from helicoid.simulation import simulate
from helicoid.simulation.equations import step_function

DT = 1e-3
ONE, MANY = "one rollout", "rollouts side by side"
CASES = ((ONE, 1), (MANY, 1), (MANY, 2))
"""Ways of simulating, each with its number of threads."""
STEPS = {ONE: 1000, MANY: 100}


def panda_with_fingers() -> Subject:
    """The Panda of example-robot-data, its fingers moving on their own: 9 joints; else the bundled one, 7."""
    ending = "panda_description/urdf/panda.urdf"
    try:
        files = importlib.metadata.files("example-robot-data") or []
        path = next(Path(str(file.locate())) for file in files if str(file).endswith(ending))
    except (importlib.metadata.PackageNotFoundError, StopIteration):
        return bundled_subject("panda")
    root = ElementTree.fromstring(path.read_bytes())
    for joint in root.iter("joint"):
        for mimic in joint.findall("mimic"):
            joint.remove(mimic)
    return Subject("panda, 9 joints", plain_urdf(ElementTree.tostring(root, encoding="unicode")))


def compare_rollouts(subject: Subject, peers: Peers, plan: Plan, step: Progress) -> list[Timing]:
    """Time Runge-Kutta at 1 kHz with given torques, per step of a rollout.

    Every library begins from the same states with the same torques, and its configurations have to agree at
    every step before it is timed.
    """
    ready, _ = prepared(subject, peers)
    found: list[Timing] = []
    before = get_num_threads()
    operations = step_function(subject.robot, "rk4", friction=True).n_operations
    try:
        for label, n_threads in CASES:
            step(f"{subject.name}: {label}, {n_threads} threads")
            start = _start(subject, plan.rollouts if label == MANY else 1, STEPS[label])
            row = Timing("rollout", subject.name, label, OURS, velocities=subject.robot.nv, threads=n_threads)
            calls = {OURS: _our_call(subject, start, n_threads)}
            truth = calls[OURS].run()
            rows = {OURS: replace(row, operations=operations, error=0.0)}
            for name, peer in ready.items():
                for addition, call in peer.rollouts(start, DT, n_threads).items():
                    error = relative_error([call.run()], [truth])
                    full = name + addition
                    rows[full] = replace(row, library=full, error=error)
                    if error <= peer.tolerance:
                        calls[full] = call
                    else:
                        rows[full] = replace(rows[full], note=f"differs by {error:.0e}")
            found += _timed(calls, rows, n_threads, truth.size // subject.robot.nq, plan)
    finally:
        set_num_threads(before)
    return found


def _start(subject: Subject, n: int, n_steps: int) -> State:
    """States and torques that move every joint; small torques, so that light fingers stay within reason."""
    rng = np.random.default_rng(0)
    batch = subject.state(n)
    tau = 0.1 * rng.normal(size=(n, n_steps, subject.robot.nv))
    return batch._replace(v=0.1 * batch.v, tau=tau)


def _our_call(subject: Subject, start: State, n_threads: int) -> Call:
    one = len(start.q) == 1
    q, v, tau = (part[0] if one else part for part in (start.q, start.v, start.tau))
    names = {"simulate": simulate, "robot": subject.robot, "set_num_threads": set_num_threads}
    names |= {"q0": q, "v0": v, "tau": tau, "duration": start.tau.shape[1] * DT, "dt": DT}
    statement = f"set_num_threads({n_threads}); result = simulate(robot, q0, v0, duration, tau, dt)"
    shape = start.tau.shape[:2]
    return Call(statement, names, lambda after: after["result"].q[..., 1:, :].reshape(*shape, -1))


def _timed(
    calls: Mapping[str, Call], rows: dict[str, Timing], n_threads: int, n_steps: int, plan: Plan
) -> list[Timing]:
    """The rows with seconds per step: the processor's for one thread, for several those on the wall."""
    clock = time.process_time if n_threads == 1 else time.perf_counter
    watch = Watch()
    times = best_times(calls, plan.batch_rounds, plan.turn, clock)
    others = watch.others()
    for name, seconds in times.items():
        rows[name] = replace(rows[name], seconds=seconds / n_steps, others=others)
    return list(rows.values())
