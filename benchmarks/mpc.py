"""Model predictive control beside Crocoddyl: `make bench-mpc`, with `QUICK=1` one random case.

The task: a Panda moves its tool by (-5, 40, -25) cm within 30 intervals of 20 ms. Crocoddyl runs in an
interpreter of its own, named by the variable HELICOID_CROCODDYL, in turns with Helicoid, one core each.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import helicoid as hc
from benchmarks.trust_systems import on_four_feet
from helicoid._typing import Array
from helicoid.errors import HelicoidError
from helicoid.model.bundled import serial_chain_urdf
from helicoid.mpc import Controller, Problem

Q0 = np.array([0.0, -0.785398, 0.0, -2.35619, 0.0, 1.5707, 0.785398])
FRAME = "panda_hand_tcp"
PATH = {"position": 50.0, "posture": 0.1, "velocity": 0.2, "torque": 1e-3}
END = {"position": 500.0, "posture": 0.1, "velocity": 5.0, "torque": 0.0}
MOVE, NOISE = np.array([-0.05, 0.40, -0.25]), 1e-3
PROGRESS_INTERVAL = 10.0  # s between progress messages
LIMITS: dict[str, dict[str, float | None]] = {
    "none": {},
    "torque": {"position": None, "velocity": None, "torque": 0.45},
    "all": {"position": 1.0, "velocity": 0.7, "torque": 0.45},
}


def panda_file() -> str:
    """The Panda of example-robot-data."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError as error:
        raise HelicoidError("the task needs the package example-robot-data") from error
    return next(str(f.locate()) for f in files if f.name == "panda.urdf")


def panda() -> hc.Robot:
    """The arm, its fingers closed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.DoubtfulModelWarning)
        return hc.load(panda_file()).lock({"panda_finger_joint1": 0.0})


def task(robot: hc.Robot, limits: str = "all", nodes: int = 30, **options: Any) -> Problem:
    """The problem of this benchmark."""
    # As Crocoddyl, which has no friction and integrates so: the same problem has the same cost.
    problem = Problem(robot, horizon=nodes, dt=0.02, integrator="semi_implicit", friction=False, **options)
    target = robot.pose(FRAME)(Q0)[:3, 3] + MOVE
    problem.add_position_cost(FRAME, target, PATH["position"], END["position"])
    problem.add_posture_cost(Q0, PATH["posture"], END["posture"])
    problem.add_velocity_cost(PATH["velocity"], END["velocity"])
    problem.add_torque_cost(PATH["torque"], reference=robot.gravity(Q0))
    if LIMITS[limits]:
        problem.add_limits(**LIMITS[limits])
    return problem


def measure(problem: Problem, repeat: int, steps: int) -> dict[str, Any]:
    """Times (s) of cold solutions and of warm steps in a loop with noise, in the terms of `mpc_peer`."""
    engine, plan = problem._compiled.engine, problem.solve(Q0)
    cold, warm = [], []
    for _ in range(repeat):
        problem.solve(Q0)
        cold.append(engine.result("seconds"))
    controller, rng = Controller(problem), np.random.default_rng(0)
    controller.step(Q0, np.zeros(7))
    for _ in range(steps):
        x = controller._engine["x"][1] + NOISE * rng.normal(size=14)
        q, v = x[:7].copy(), x[7:].copy()
        start = time.perf_counter()
        controller.step(q, v)
        warm.append(time.perf_counter() - start)
        if not controller.ok:
            raise HelicoidError(f"a warm step failed: {controller.status}")
    return {"cost": plan.cost, "iterations": plan.iterations, "cold": cold, "warm": warm}


def peer(limits: str, robot: hc.Robot, repeat: int, steps: int) -> dict[str, Any] | None:
    """The same by Crocoddyl; None where there is none."""
    python = os.environ.get("HELICOID_CROCODDYL")
    if not python:
        return None
    wanted = {
        "urdf": panda_file(),
        "q0": Q0.tolist(),
        "frame": FRAME,
        "target": (robot.pose(FRAME)(Q0)[:3, 3] + MOVE).tolist(),
        "path": PATH,
        "end": END,
        "dt": 0.02,
        "nodes": 30,
        "limit": [] if limits == "none" else (0.45 * robot.limits.effort).tolist(),
        "repeat": repeat,
        "steps": steps,
        "noise": NOISE,
    }
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
    script = Path(__file__).with_name("mpc_peer.py")
    done = subprocess.run(
        [python, str(script)], input=json.dumps([wanted]), capture_output=True, text=True, env=environment
    )
    if done.returncode:
        raise HelicoidError(f"Crocoddyl failed: {done.stderr[-500:]}")
    answer: dict[str, Any] = json.loads(done.stdout)[0]
    return answer


def compare(rounds: int, repeat: int, steps: int) -> None:
    """The table: ours and theirs in turns."""
    robot = panda()
    print(f"{'limits':8}{'':11}{'cost':>9}{'iterations':>12}{'cold ms':>9}{'warm µs':>9}{'p99 µs':>9}")
    medians: dict[tuple[str, str], tuple[float, float]] = {}
    for limits in LIMITS:
        problem = task(robot, limits)
        both: dict[str, list[dict[str, Any]]] = {"helicoid": [], "crocoddyl": []}
        for _ in range(rounds):
            both["helicoid"].append(measure(problem, repeat, steps))
            other = peer(limits, robot, repeat, steps) if limits != "all" else None
            both["crocoddyl"] += [other] if other else []
        for name, results in both.items():
            if results:
                medians[limits, name] = _print(limits, name, results)
    if ("torque", "crocoddyl") in medians:
        cold, warm = medians["all", "helicoid"]
        cold_peer, warm_peer = medians["torque", "crocoddyl"]
        print(
            f"all limits against BoxFDDP with torque limits only: cold {cold / cold_peer:.2f}, "
            f"warm step {warm / warm_peer:.2f} of its time"
        )


def _print(limits: str, name: str, results: list[dict[str, Any]]) -> tuple[float, float]:
    cold = 1e3 * np.concatenate([r["cold"] for r in results])
    warm = 1e6 * np.concatenate([r["warm"] for r in results])
    first = results[0]
    print(
        f"{limits:8}{name:11}{first['cost']:9.5f}{first['iterations']:12d}{np.median(cold):9.2f}"
        f"{np.median(warm):9.0f}{np.quantile(warm, 0.99):9.0f}"
    )
    return float(np.median(cold)), float(np.median(warm))


def random_cases(count: int) -> None:
    """Random starts and reachable targets, all limits: how many are solved, by ours and by fatrop."""
    robot, rng = panda(), np.random.default_rng(1)
    problem, limits = task(robot), robot.limits
    middle, half = (limits.upper + limits.lower) / 2, (limits.upper - limits.lower) / 2
    solved: dict[str, int] = {"sqp": 0, "fatrop": 0}
    iterations: list[int] = []
    better = worse = 0
    began = told = time.monotonic()
    for case in range(count):
        if time.monotonic() - told > PROGRESS_INTERVAL:
            told = time.monotonic()
            left = (told - began) * (count - case) / case
            print(
                f"  {case} of {count} random cases, {left / 60:.1f} minutes left", file=sys.stderr, flush=True
            )
        start, goal = (middle + 0.8 * half * rng.uniform(-1, 1, 7) for _ in range(2))
        problem.set(position=robot.pose(FRAME)(goal)[:3, 3], posture=start, torque=robot.gravity(start))
        plans = {name: problem.solve(start, solver=name) for name in solved}
        for name, plan in plans.items():
            solved[name] += plan.success and plan.violation < 1e-5
        iterations.append(plans["sqp"].iterations)
        if all(plan.success for plan in plans.values()):
            difference = plans["sqp"].cost / plans["fatrop"].cost - 1
            better, worse = better + (difference < -1e-3), worse + (difference > 1e-3)
    print(f"{count} random starts and targets: solved by sqp {solved['sqp']}, by fatrop {solved['fatrop']}; "
          f"median {np.median(iterations):.0f} iterations; where both solve, another local optimum "
          f"{better + worse} times ({better} of them lower by sqp)")  # fmt: skip


def chain(joints: int, strong: bool) -> hc.Robot:
    """UR5 arms end to end; stretched, with 10 joints or more, they are too heavy for the motors of a UR5.

    If `strong`, motors are as much stronger as it takes to hold the chain as a UR5 holds itself.
    """

    def share(robot: hc.Robot) -> float:
        return float(np.abs(robot.gravity(np.zeros(robot.nv)) / robot.limits.effort).max())

    plain = hc.serial_chain(joints)
    factor = max(1.0, share(plain) / share(hc.serial_chain(6))) if strong else 1.0
    text = serial_chain_urdf(joints)
    return hc.load(re.sub(r'effort="([^"]+)"', lambda found: f'effort="{factor * float(found[1])!r}"', text))


def growth(robots: dict[str, tuple[hc.Robot, Array]], nodes: tuple[int, ...]) -> None:
    """Warm steps over the number of intervals and over robots: posture costs, all limits; processor time.

    The last columns are the iterations of the interior point in a step, and its time for each of them and
    node: the more limits a robot runs into, the more of them it takes, which is no matter of its size.
    """
    head = f"{'warm µs':>9}{'µs a node':>11}{'interior':>10}{'µs of each':>12}"
    print(f"\n{'robot':20}{'joints':>7}{'nodes':>7}{head}")
    for name, (robot, q) in robots.items():
        for count in nodes if name == "panda" else (30,):
            problem = Problem(robot, horizon=count, dt=0.02)
            problem.add_posture_cost(robot.integrate(q, np.full(robot.nv, 0.3)), 1.0, 10.0)
            problem.add_velocity_cost(0.1, 1.0)
            problem.add_torque_cost(1e-3)
            problem.add_limits()
            controller, times, programs = Controller(problem), [], []
            x = np.concatenate([q, np.zeros(robot.nv)])
            for _ in range(200):
                start = time.thread_time()
                controller.step(x[: robot.nq], x[robot.nq :])
                times.append(time.thread_time() - start)
                programs.append(controller.statistics["qp_iterations"])
                x = controller._engine["x"][1].copy()
            warm, rounds = 1e6 * float(np.median(times[1:])), float(np.median(programs[1:]))
            each = 1e6 * float(np.median(np.divide(times[1:], programs[1:]))) / count
            print(
                f"{name:20}{robot.nv:7d}{count:7d}{warm:9.0f}{warm / count:11.2f}{rounds:10.0f}{each:12.2f}"
            )


def standing_quadruped() -> None:
    """A quadruped on its four feet lowers and shifts its trunk; forces at the feet are controls."""
    robot, q = on_four_feet()
    problem = Problem(robot, horizon=15, dt=0.03)
    problem.add_cost("trunk", problem.q[:3] - (q[:3] + np.array([0.03, 0.0, -0.05])), 100.0, 1000.0)
    problem.add_posture_cost(q, 1.0, 1.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_control_cost(np.concatenate([np.full(18, 1e-4), np.full(12, 1e-6)]))
    problem.add_torque_cost(1e-4, reference=np.zeros(18))
    problem.add_limits(position=None)
    ours, other = problem.solve(q), problem.solve(q, solver="ipopt")
    assert ours.q is not None
    error = max(float(np.abs(robot.constraint_position(one)).max()) for one in ours.q)
    seconds = problem._compiled.engine.result("seconds")
    print(f"\nquadruped: {ours} in {1e3 * seconds:.1f} ms; ipopt {other.cost:.6g}; "
          f"feet move by at most {1e3 * error:.2g} mm")  # fmt: skip


def main(quick: bool) -> None:
    """All tables."""
    compare(*((1, 10, 200) if quick else (5, 20, 500)))
    random_cases(1 if quick else 300)
    if quick:
        return
    arm = hc.load("panda")
    robots = {
        "double_pendulum": (hc.load("double_pendulum"), np.zeros(2)),
        "ur5": (hc.load("ur5"), np.zeros(6)),
    }
    robots |= {"panda": (arm, Q0)}
    robots |= {f"chain of {n}": (chain(n, False), np.zeros(n)) for n in (2, 3, 4, 5, 6, 7, 10, 14, 20)}
    robots |= {f"strong chain of {n}": (chain(n, True), np.zeros(n)) for n in (7, 10, 14, 20)}
    growth(robots, (10, 20, 30, 50, 100))
    standing_quadruped()


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
