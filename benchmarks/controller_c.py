"""A controller in C beside the same in Python: `python -m benchmarks.controller_c [--steps N] [--feet]`.

Both take the same steps in turns, on one core: states of a loop that moves as planned, with noise. Torques
must be the same. Says how long a step takes (prepare and feedback), and how large code and state are.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import casadi as ca
import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.compiler.build.toolchain import FLAGS, find_compiler, native_flags
from helicoid.mpc import Controller, Problem

TIMER = """
#define _POSIX_C_SOURCE 199309L
#include <time.h>
#include "model.h"
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
void take_steps(model_controller *c, const double *states, int n, int size, double *times, double *torques) {
  for (int k = 0; k < n; k++) {
    const double *x = states + k * size, began = seconds();
    model_prepare(c);
    model_feedback(c, MEASURED, torques + k * MODEL_TORQUE_SIZE);
    times[k] = seconds() - began;
  }
}
"""
CHUNK = 25


def pendulum() -> tuple[Problem, Array]:
    """Two joints, 20 intervals."""
    problem = Problem(hc.load("double_pendulum"), horizon=20, dt=0.05)
    problem.add_posture_cost([1.0, 0.0], weight=1.0, end_weight=10.0)
    problem.add_velocity_cost(0.1, end_weight=1.0)
    problem.add_control_cost(1e-4)
    problem.add_limits()
    return problem, np.zeros(4)


def six_joints() -> tuple[Problem, Array]:
    """A UR5, 20 intervals, all limits."""
    problem = Problem(hc.load("ur5"), horizon=20, dt=0.05)
    problem.add_position_cost("tool0", [0.4, 0.2, 0.5], 10.0, 100.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_torque_cost(1e-4)
    problem.add_limits()
    return problem, np.r_[0.0, -1.0, 1.0, 0.0, 0.5, np.zeros(7)]


def cart() -> tuple[Problem, Array]:
    """An ODE of two states, 20 intervals."""
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    problem = Problem.from_ode(x, u, ca.vertcat(x[1], u - 0.1 * x[1] ** 3), horizon=20, dt=0.1)
    problem.add_cost("state", x, 1.0, end_weight=10.0)
    problem.add_cost("effort", u, 0.1)
    problem.add_constraint("force", u, -0.5, 0.5)
    return problem, np.array([1.0, 0.0])


def four_feet() -> tuple[Problem, Array]:
    """A quadruped held by its feet, 15 intervals."""
    robot = hc.load("quadruped", base="floating")
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.7, -1.4], 4)
    feet = [link for link in robot.link_names if link.endswith("_foot")]
    q[2] -= min(robot.pose(foot)(q)[2, 3] for foot in feet)
    for foot in feet:
        robot = robot.with_contact(foot, kind="point", q=q)
    problem = Problem(robot, horizon=15, dt=0.03)
    problem.add_cost("trunk", problem.q[:3] - (q[:3] + np.array([0.03, 0.0, -0.05])), 100.0, 1000.0)
    problem.add_posture_cost(q, 1.0, 1.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_control_cost(np.concatenate([np.full(18, 1e-4), np.full(12, 1e-6)]))
    problem.add_limits(position=None)
    return problem, np.concatenate([q, np.zeros(robot.nv)])


class Library:
    """The exported controller and its timer, compiled as Python compiles."""

    def __init__(self, controller: Controller, folder: Path) -> None:
        robot = controller.problem.robot
        files = controller.export_c(folder, name="model")
        sources = [path for path in files if path.suffix == ".c" and path.name != "main.c"]
        timer = folder / "timer.c"
        timer.write_text(TIMER)
        given = "x" if robot is None else f"x, x + {robot.nq}"
        compiler = find_compiler()
        flags = [*(f for f in FLAGS if not f.startswith(("-std", "-fvis"))), *native_flags(compiler.is_zig)]
        target = folder / "model.so"
        command = [*compiler.command, "-std=c99", *flags, "-shared", f"-DMEASURED={given}"]
        subprocess.run([*command, *map(str, [*sources, timer]), "-o", str(target), "-lm"], check=True)
        self.library, self.path = ctypes.CDLL(str(target)), target
        self.library.model_init.restype = ctypes.c_void_p
        header = (folder / "model.h").read_text()
        self.bytes = int(header.split("MODEL_MEMORY ")[1].split()[0])
        self._memory = ctypes.create_string_buffer(self.bytes)
        self._handle = ctypes.c_void_p(self.library.model_init(self._memory, ctypes.c_size_t(self.bytes)))

    def steps(self, states: Array, n_torques: int) -> tuple[Array, Array]:
        """Times (s) and torques of steps, one after the other."""
        times, torques = np.empty(len(states)), np.empty((len(states), n_torques))
        states = np.ascontiguousarray(states)
        pointers = [ctypes.c_void_p(one.ctypes.data) for one in (states, times, torques)]
        self.library.take_steps(self._handle, pointers[0], *states.shape, *pointers[1:])
        return times, torques

    def code(self) -> str:
        """Machine code and constants."""
        if shutil.which("size") is None:
            return "?"
        told = subprocess.run(["size", str(self.path)], capture_output=True, text=True, check=True).stdout
        return f"{int(told.splitlines()[1].split()[0]) / 1024:.0f}"


def compare(name: str, problem: Problem, x: Array, steps: int) -> None:
    """One row of the table."""
    controller, rng, robot = Controller(problem), np.random.default_rng(0), problem.robot
    nq = len(x) if robot is None else robot.nq
    with tempfile.TemporaryDirectory() as folder:
        library = Library(controller, Path(folder))
        ours, theirs, worst = [], [], 0.0
        for _ in range(-(-steps // CHUNK)):
            states, torques = [], []
            for _ in range(CHUNK):
                began = time.perf_counter()
                controller.prepare()
                prepared = time.perf_counter() - began
                if controller.status != "not started":
                    x = controller._engine["x"][0][: len(x)].copy()
                    x[nq if robot is not None and robot.nq != robot.nv else 0 :] += 1e-4 * rng.normal()
                parts = (x,) if robot is None else (x[:nq], x[nq:])
                began = time.perf_counter()
                torques.append(controller.feedback(*parts))
                ours.append(prepared + time.perf_counter() - began)
                states.append(x)
            times, found = library.steps(np.array(states), torques[0].size)
            theirs.append(times)
            worst = max(worst, float(np.abs(found - torques).max()))
        python, c = np.array(ours)[1:], np.concatenate(theirs)[1:]  # the first starts from scratch
        figures = [
            1e6 * f(one) for one in (c, python) for f in (np.median, lambda t: np.percentile(t, 99), np.max)
        ]
        row = " | ".join(f"{figure:.0f}" for figure in figures)
        ratio = np.median(c) / np.median(python)
        print(
            f"| {name} | {row} | {ratio:.2f} | {library.code()} | {library.bytes / 1024:.0f} | {worst:.0e} |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--feet", action="store_true", help="a quadruped too, which takes minutes to compile")
    asked = parser.parse_args()
    print("Times of a step in µs: median, 99 %, largest. Code and state in KiB.\n")
    print("| | C | C 99 % | C largest | Python | Python 99 % | Python largest | ratio | code | state | Δτ |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    tasks = {"cart (ODE)": cart, "double pendulum": pendulum, "UR5": six_joints}
    if asked.feet:
        tasks["quadruped on four feet"] = four_feet
    for name, make in tasks.items():
        compare(name, *make(), asked.steps)


if __name__ == "__main__":
    main()
