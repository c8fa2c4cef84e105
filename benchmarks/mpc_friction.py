"""MPC of robots with joint friction: final error, final speed, and the time that friction adds to a step.

    python -m benchmarks.mpc_friction [targets] [seed] [formulation] [robots, by commas] [stiction|mujoco]

Plants have exact stiction (`method="stiction"`), or are MuJoCo's, and friction 0.5 to 1.5 times that of the
model. `xarm7` and `kinova` are those of example-robot-data.
"""

from __future__ import annotations

import sys
import time
from importlib import metadata
from typing import Any

import numpy as np

import helicoid as hc

UR5 = {"damping": [3, 3, 2, 0.6, 0.6, 0.5], "friction": [5, 6, 4, 1, 1, 0.8]}
PANDA = {"damping": 7 * [0.5], "friction": [0.273, 0.436, 0.32, 0.64, 0.42, 0.152, 0.282]}
XARM7 = {"damping": [2, 2, 1, 1, 0.5, 0.5, 0.3], "friction": [3, 3, 2, 2, 1.5, 1, 0.7]}
KINOVA = {"damping": [1, 1, 1, 0.3, 0.3, 0.3], "friction": [2, 2.5, 1.5, 0.5, 0.4, 0.3]}
ROBOTS: dict[str, tuple[dict[str, list[float]], str, list[float]]] = {
    "ur5": (UR5, "tool0", [0.0, -1.2, 1.6, -0.4, 0.5, 0.0]),
    "panda": (PANDA, "panda_link8", [0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8]),
    "xarm7": (XARM7, "link7", [0.0, -0.5, 0.0, 0.9, 0.0, 1.4, 0.0]),
    "kinova": (KINOVA, "j2s6s200_link_6", [0.0, 2.8, 1.6, 0.5, 1.5, 0.4]),
}
PERIOD, SECONDS = 0.02, 6.0
FACTORS = (1.0, 0.5, 0.8, 1.2, 1.5)
PLANTS: dict[str, dict[str, Any]] = {
    "stiction": {"method": "stiction", "saturate": True},
    "mujoco": {"engine": "mujoco"},
}


def bare(name: str) -> hc.Robot:
    """The robot as described; of a gripper only the first joints' arm."""
    files = [one for one in metadata.files("example-robot-data") or () if one.name == f"{name}.urdf"]
    robot = hc.load(str(files[0].locate())) if name in ("xarm7", "kinova") else hc.load(name)
    return robot.chain(robot.link_names[0], ROBOTS[name][1])


def robot_of(name: str, factor: float) -> hc.Robot:
    """The robot with a multiple of its friction."""
    friction = {key: factor * np.array(values) for key, values in ROBOTS[name][0].items()}
    return bare(name).with_joints(**friction)


def controller_of(robot: hc.Robot, frame: str, friction: bool, formulation: str) -> hc.mpc.Controller:
    """That of the README."""
    options: dict[str, Any] = {"friction": friction, "formulation": formulation}
    problem = hc.mpc.Problem(robot, horizon=20, dt=PERIOD, **options)
    problem.add_position_cost(frame, [0.4, 0.3, 0.5], weight=50.0, end_weight=500.0)
    problem.add_velocity_cost(0.2, end_weight=5.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits()
    return hc.mpc.Controller(problem)


def reach(
    controller: hc.mpc.Controller, plant: hc.Robot, frame: str, q: Any, target: Any, kind: str = "stiction"
) -> list[float]:
    """Distance at the end (mm), largest velocity in the last half second (rad/s), share of ok steps."""
    controller.reset()
    controller.set(position=target)
    fine = []

    class Stepped:
        period = PERIOD

        def step(self, q: Any, v: Any) -> Any:
            tau = controller.step(q, v)
            fine.append(controller.ok)
            return tau

    options: dict[str, Any] = {"dt": PERIOD, "substeps": 40, **PLANTS[kind]}
    motion = hc.simulate(plant, q, duration=SECONDS, controller=Stepped(), **options)
    end = np.linalg.norm(plant.pose(frame)(motion.q[-1])[:3, 3] - target)
    return [1e3 * float(end), float(np.abs(motion.v[-25:]).max()), float(np.mean(fine))]


def cases(name: str, count: int, seed: int) -> list[tuple[Any, Any]]:
    """Starts, and targets that the arm can reach."""
    rng, robot, (_, frame, middle) = np.random.default_rng(seed), bare(name), ROBOTS[name]
    found = []
    for _ in range(count):
        q = np.array(middle) + rng.uniform(-0.4, 0.4, robot.nv)
        found.append((q, robot.pose(frame)(q + rng.uniform(-0.5, 0.5, robot.nv))[:3, 3]))
    return found


def step_ratio(name: str, formulation: str) -> tuple[float, float]:
    """Time of a warm step with friction over that without, each on states of its own loop: p50 and p99."""
    (_, frame, middle), robot, best = ROBOTS[name], robot_of(name, 1.0), []
    loops = []
    for friction in (True, False):
        controller = controller_of(robot, frame, friction, formulation)
        options: dict[str, Any] = {"dt": PERIOD, "substeps": 40, "method": "stiction", "friction": friction}
        motion = hc.simulate(robot, middle, duration=1.0, controller=controller, **options)
        loops.append((controller, motion.q, motion.v))
        best.append(np.full(len(motion.t) - 2, np.inf))
    for _ in range(30):
        for least, (controller, q, v) in zip(best, loops, strict=True):
            controller.reset()
            controller.step(q[0], v[0])
            for k in range(1, len(q) - 1):
                began = time.process_time()
                controller.step(q[k], v[k])
                least[k - 1] = min(least[k - 1], time.process_time() - began)
    p50, p99 = np.percentile(best[0], (50, 99)) / np.percentile(best[1], (50, 99))
    return float(p50), float(p99)


def main(
    count: str = "20",
    seed: str = "7",
    formulation: str = "inverse_dynamics",
    names: str = "",
    kind: str = "stiction",
) -> None:
    print("| robot | model | plant | final error, median / worst (mm) | final speed (rad/s) | steps ok |")
    print("|---|---|---|---|---|---|")
    for name in names.split(",") if names else ROBOTS:
        frame = ROBOTS[name][1]
        for label, model, friction, factors in (
            ("no friction", 0.0, True, (0.0,)),
            ("friction left out", 1.0, False, (1.0,)),
            ("friction", 1.0, True, FACTORS),
        ):
            controller = controller_of(robot_of(name, model), frame, friction, formulation)
            for factor in factors:
                plant = robot_of(name, factor)
                given = cases(name, int(count), int(seed))
                rows = [reach(controller, plant, frame, *one, kind) for one in given]
                end, moving, fine = np.array(rows).T
                print(
                    f"| {name} | {label} | {factor:g} | {np.median(end):.2f} / {end.max():.2f} | "
                    f"{np.median(moving):.1g} / {moving.max():.1g} | {100 * fine.mean():.1f} % |",
                    flush=True,
                )
        p50, p99 = step_ratio(name, formulation)
        print(
            f"{name}: a step with friction takes {p50:.2f} (p50), {p99:.2f} (p99) of one without", flush=True
        )


if __name__ == "__main__":
    main(*sys.argv[1:6])
