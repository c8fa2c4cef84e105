"""Overhead of a study and speed-up by more processes: `python -m benchmarks.study [--quick]`.

- Pool and dask: episodes a second of two processes over those of one, from when the first tasks are done
  (starting an interpreter is left out) until the last, in turns; tasks take a second.
- Overhead: processor time of a study in this process over that of its bare batch calls, in turns, and that of
  a study whose episodes compute nothing.
- A Panda under computed torque, 1 s at 1 kHz each, from a random start with a random load: all episodes in
  one command, on all cores; beside what MuJoCo's `rollout` needs for the same arm, with torques given.

On a machine with other work to do the speed-ups are lower than the machine's own; the load is printed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from mujoco import rollout

import helicoid as hc
from helicoid.study.episode_queue import CHUNK_TIME

REST = np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.7, 0.8])
ROUNDS = 2


def loop(method: str = "rk4", duration: float = 1.0) -> Any:
    """A Panda that should rest where it is told, and carries what its law does not know of."""
    robot = hc.load("panda")
    law = hc.control.ComputedTorque(robot, frequency=20.0)
    return hc.study.closed_loop(
        law,
        robot.parametric("payload"),
        duration,
        reference={"q_ref": REST},
        method=method,
        each=carried,
    )


def carried(case: Any) -> dict[str, Any]:
    """A start and a load."""
    return {"q0": case["q0"], "theta": hc.payload(case["mass"], [0, 0, 0.1], 1e-3 * np.eye(3))}


def study(episode: Any, batch: bool | None = None) -> hc.Study:
    made = hc.Study(episode, seed=0, batch=batch)
    made.vary("mass", hc.study.uniform(0.0, 3.0))
    made.vary("q0", hc.study.uniform(REST - 0.2, REST + 0.2))
    return made


class Single:
    """One rollout in compiled code: an episode of some milliseconds in one thread."""

    def __init__(self) -> None:
        self._robot = hc.load("panda").parametric("payload")

    def __call__(self, case: Any) -> dict[str, float]:
        given = carried(case)
        motion = hc.simulate(self._robot, given["q0"], theta=given["theta"], duration=1.0, progress=False)
        return {"fastest": float(np.abs(motion.v).max())}


def rate(episodes: int, **where: Any) -> float:
    """Episodes a second, from the end of the first twentieth on."""
    seen: list[tuple[float, float]] = []

    def note(what: str, done: float) -> None:
        seen.append((time.perf_counter(), done))

    study(Single()).run(episodes, progress=note, **where)
    begun = next(k for k, (_, done) in enumerate(seen) if done >= 0.05)
    last = max(done for _, done in seen)
    end = next(when for when, done in seen if done == last)
    return episodes * (last - seen[begun][1]) / (end - seen[begun][0])


def speedups(episodes: int) -> None:
    """Two processes over one."""
    from distributed import Client, LocalCluster

    print(f"\n{'episodes a second':24}{'1 process':>12}{'2 processes':>12}{'ratio':>8}")
    rates = {n: [] for n in (1, 2)}  # type: dict[int, list[float]]
    for _ in range(ROUNDS):
        for n in (1, 2):
            rates[n].append(rate(n * episodes, workers=n))
    tell("pool", rates)
    rates = {n: [] for n in (1, 2)}
    for n in (1, 2):
        options = {"n_workers": n, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            for _ in range(ROUNDS):
                rates[n].append(rate(n * episodes, on=client))
    tell("dask", rates)


def tell(name: str, rates: dict[int, list[float]]) -> None:
    one, two = max(rates[1]), max(rates[2])
    print(f"{name:24}{one:12.1f}{two:12.1f}{two / one:8.2f}", flush=True)


def overhead(episodes: int) -> None:
    """A study in this process over its bare calls, in processor time of one thread."""
    hc.set_num_threads(1)
    episode, best = loop(), {"bare": np.inf, "study": np.inf}
    made = study(episode)
    cases = made._sampler.cases(np.arange(episodes))
    episode(cases[:2])
    for _ in range(ROUNDS):
        began = time.process_time()
        for first in range(0, episodes, episodes // 4):
            episode(cases[first : first + episodes // 4])
        best["bare"] = min(best["bare"], time.process_time() - began)
        with tempfile.TemporaryDirectory() as folder:
            began = time.process_time()
            made.run(episodes, on="here", out=folder, progress=False)
            best["study"] = min(best["study"], time.process_time() - began)
    extra = best["study"] / best["bare"] - 1
    each = 1e3 * best["bare"] / episodes
    print(
        f"\noverhead over bare batches of {episodes // 4}, {each:.2f} ms a loop: {100 * extra:.1f} %",
        flush=True,
    )


def nothing(cases: Any) -> dict[str, Any]:
    """As many results as a closed loop has, at no cost."""
    return {name: np.zeros(len(cases)) for name in ("rms", "peak", "final", "effort", "trouble", "diverged")}


def machinery(episodes: int) -> None:
    """Overhead of a study: cases, chunks, parts on disk and the table."""
    made, best = study(nothing, batch=True), np.inf
    for _ in range(1 + ROUNDS):  # the first one imports
        with tempfile.TemporaryDirectory() as folder:
            began = time.process_time()
            made.run(episodes, on="here", out=folder, progress=False)
            best = min(best, time.process_time() - began)
    print(f"{episodes:,} episodes that compute nothing: {1e6 * best / episodes:.1f} µs each", flush=True)


def panda(episodes: int, method: str) -> None:
    """All episodes in one command, and MuJoCo's time for as many from some of them."""
    with tempfile.TemporaryDirectory() as folder:
        began, used = time.perf_counter(), os.times()
        table = study(loop(method)).run(episodes, out=folder)
        seconds, after = time.perf_counter() - began, os.times()
    processor = after.children_user + after.children_system - used.children_user - used.children_system
    processor += after.user + after.system - used.user - used.system
    each, peer = processor / episodes, mujoco_seconds()
    print(
        f"\n{episodes:,} closed loops of a Panda, 1 s at 1 kHz, {method}: {seconds:.1f} s, {processor:.1f} s "
        f"of processors, {1e3 * each:.3f} ms each; {table.n_failed} failed, rms {table.quantiles('rms')}"
    )
    print(
        f"MuJoCo's rollout, open loop: {1e3 * peer:.3f} ms each, {peer / each:.1f} times as long as Helicoid",
        flush=True,
    )


def mujoco_seconds(rollouts: int = 32, steps: int = 1000) -> float:
    """Processor seconds of a rollout of the same arm by MuJoCo, semi-implicit Euler, torques given."""
    robot = hc.load("panda")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        robot.to_urdf(path)
        model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep = 1e-3
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    data = mujoco.MjData(model)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros((rollouts, size))
    for k in range(rollouts):
        data.qpos[: robot.nq] = REST
        mujoco.mj_getState(model, data, start[k], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    control = np.zeros((rollouts, steps, model.nv))
    spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
    best = np.inf
    for _ in range(3):
        began = time.process_time()
        rollout.rollout(model, data, start, control, control_spec=spec)
        best = min(best, time.process_time() - began)
    return best / rollouts


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of it")
    parser.add_argument("--episodes", type=int, help="closed loops of the Panda; by default 100,000")
    given = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} cores, load {os.getloadavg()[0]:.1f}, tasks of {CHUNK_TIME:g} s")
    overhead(1024 if given.quick else 4096)
    for episodes in (4096, 100_000):
        machinery(episodes)
    speedups(2000 if given.quick else 10_000)
    for method in ("semi_implicit_euler", "rk4"):
        panda(given.episodes or (2000 if given.quick else 100_000), method)


if __name__ == "__main__":
    main()
