"""Trotting quadrupeds: time of a controller step, beside that of an arm in the same run.

    python -m benchmarks.mpc_trot [robot ...]

Robots are the bundled quadruped and those of example-robot-data. The plant is the plan: what is measured is
where the plan wanted to be, with a little noise.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib.metadata import files
from typing import NamedTuple

import numpy as np

import helicoid as hc
from helicoid.mpc import Controller, Phase, Problem

DT, STEP = 0.025, 0.25  # s: of an interval, and of a pair of feet on the ground
INTERVALS = 20
NOISE = 1e-3  # rad, m, rad/s, m/s


class Quadruped(NamedTuple):
    """Quadruped: its file in example-robot-data, feet (two diagonals) and joint angles of the stance."""

    path: str
    feet: tuple[str, str, str, str]
    stance: tuple[float, ...]
    radius: float


UNITREE = ("FL_foot", "RR_foot", "FR_foot", "RL_foot")
QUADRUPEDS = {
    "quadruped": Quadruped("", UNITREE, 4 * (0.0, 0.8, -1.6), 0.02),
    "a1": Quadruped("a1_description/urdf/a1.urdf", UNITREE, 4 * (0.0, 0.8, -1.6), 0.02),
    "go2": Quadruped("go2_description/urdf/go2.urdf", UNITREE, 4 * (0.0, 0.8, -1.6), 0.022),
    "solo12": Quadruped(
        "solo_description/robots/solo12.urdf",
        ("FL_FOOT", "HR_FOOT", "FR_FOOT", "HL_FOOT"),
        4 * (0.0, 0.8, -1.6),
        0.0,
    ),
    "anymal": Quadruped(
        "anymal_b_simple_description/robots/anymal.urdf",
        ("LF_FOOT", "RH_FOOT", "RF_FOOT", "LH_FOOT"),
        (0.0, 0.6, -1.2, 0.0, -0.6, 1.2, 0.0, 0.6, -1.2, 0.0, -0.6, 1.2),
        0.0,
    ),
}


def standing(name: str) -> tuple[hc.Robot, np.ndarray]:
    """A robot on a floating base, and its stance on the ground."""
    animal = QUADRUPEDS[name]
    found = [one for one in files("example-robot-data") or () if str(one).endswith(animal.path or "?")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = hc.load(str(found[0].locate()) if found else name, base="floating")
    q = robot.neutral()
    q[7:] = animal.stance
    q[2] += animal.radius - min(robot.pose(foot)(q)[2, 3] for foot in animal.feet)
    return robot, q


def trot(name: str) -> list[Phase]:
    """Two diagonals in turns."""
    a, b, c, d = QUADRUPEDS[name].feet
    return [Phase(STEP, (a, b)), Phase(STEP, (c, d))]


def walking(name: str, intervals: int = INTERVALS, dt: float = DT, cyclic: bool = True) -> Problem:
    """Problem of a trot at 0.4 m/s along x with a level trunk at the height of the stance."""
    robot, q = standing(name)
    problem = Problem(
        robot, intervals, dt, phases=trot(name), cyclic=cyclic, foot_radius=QUADRUPEDS[name].radius
    )
    velocity = problem.parameter("velocity", [0.4, 0.0, 0.0])
    problem.add_cost("speed", problem.v[3:6] - velocity, 20.0, 20.0)
    level = [50.0, 50.0, 50.0, 0.0, 0.0, 100.0, *np.ones(12)]
    problem.add_posture_cost(q, level, level)
    calm = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, *np.full(12, 0.1)]
    problem.add_velocity_cost(calm, calm)
    problem.add_torque_cost(1e-3, reference=np.zeros(18))
    problem.add_control_cost([*np.full(18, 1e-5), *np.full(12, 1e-6)])
    problem.add_swing_cost(height=0.05, weight=1000.0)
    problem.add_friction_cone(friction=0.6)
    problem.add_limits(position=None)
    return problem


def follow(controller: Controller, q: np.ndarray, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of (processor ms of prepare, of feedback, iterations of the quadratic program, ok)."""
    robot, rows = controller.problem.robot, []
    assert robot is not None
    v = np.zeros(robot.nv)
    controller.start(q)
    for _ in range(steps):
        before = time.process_time()
        controller.prepare()
        between = time.process_time()
        controller.feedback(q, v)
        after = time.process_time()
        of = 1e3 * (between - before), 1e3 * (after - between)
        rows.append((*of, controller.statistics["qp_iterations"], controller.ok))
        plan = controller.plan
        assert plan.q is not None and plan.v is not None
        q = robot.integrate(plan.q[1], NOISE * rng.normal(size=robot.nv))
        v = plan.v[1] + NOISE * rng.normal(size=robot.nv)
    return np.array(rows, dtype=float)


def arm_step(rng: np.random.Generator) -> float:
    """Processor ms of a step of a Panda, 30 intervals, for comparison."""
    from benchmarks.mpc import Q0, panda, task

    controller, times, q = Controller(task(panda(), "all")), [], Q0
    controller.start(q)
    v = np.zeros(7)
    for _ in range(200):
        before = time.process_time()
        controller.step(q, v)
        times.append(time.process_time() - before)
        x = controller._engine["x"][1] + NOISE * rng.normal(size=14)
        q, v = x[:7].copy(), x[7:].copy()
    return 1e3 * float(np.median(times))


def main(names: list[str]) -> None:
    """A table."""
    rng = np.random.default_rng(0)
    arm = arm_step(rng)
    print(f"Panda, 30 intervals: {arm:.3f} ms a step")
    print(
        f"{INTERVALS} intervals of {1e3 * DT:g} ms, trot at 0.4 m/s; ms of one core, times that of the Panda"
    )
    head = (
        ("cold", 6),
        ("prepare", 9),
        ("feedback", 10),
        ("99 %", 8),
        ("/ Panda", 9),
        ("QP it.", 8),
        ("ok", 6),
    )
    print(f"{'robot':12}" + "".join(f"{word:>{width}}" for word, width in head))
    for name in names:
        problem, (_, q) = walking(name), standing(name)
        plan = problem.solve(q)
        rows = follow(Controller(problem), q, 200, rng)
        step = rows[:, 0] + rows[:, 1]
        prepare, feedback = np.median(rows[:, :2], axis=0)
        print(
            f"{name:12}{plan.iterations if plan.success else -1:6d}{prepare:9.2f}{feedback:10.2f}"
            f"{np.quantile(step, 0.99):8.2f}{np.median(step) / arm:9.1f}{rows[:, 2].mean():8.1f}"
            f"{rows[:, 3].mean():6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:] or list(QUADRUPEDS))
