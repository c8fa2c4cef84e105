"""Time of the first use with an empty cache: `python -m benchmarks.cold_builds [case ...]`.

Each case runs in a fresh process with an empty cache. Wall time is what a user waits; processor time, which
includes the C compiler's, hardly depends on what else the machine does. `--against SRC` names the folder
`src` of another version, which is measured before this one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).resolve().parents[1] / "src"

_BEGIN = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
import helicoid as hc
from helicoid.mpc import Problem
"""
_MPC = """
problem = Problem(robot, horizon=15, dt=0.03)
problem.add_posture_cost(q, 1.0, 1.0)
problem.add_velocity_cost(0.1, 1.0)
problem.add_torque_cost(1e-4, reference=np.zeros(robot.nv))
problem.add_limits(position=None)
"""
_SOLVE = "problem.solve(q, max_iterations=1)\n"
_FILE = """
from importlib.metadata import files


def file(end):
    return str(next(one for one in files("example-robot-data") if str(one).endswith(end)).locate())
"""
CASES = {
    "panda": 'robot = hc.load("panda")\nrobot.inverse_dynamics(*(3 * [np.zeros(robot.nv)]))\n',
    "ur5": f"""
robot = hc.load("ur5")
q = robot.neutral()
{_MPC}
problem.add_position_cost("tool0", [0.4, 0.2, 0.3], 10.0, 100.0)
{_SOLVE}
""",
    "quadruped": f"""
robot = hc.load("quadruped", base="floating")
q = robot.neutral()
q[7:] = np.tile([0.0, 0.7, -1.4], 4)
feet = [link for link in robot.link_names if link.endswith("_foot")]
q[2] -= min(robot.pose(foot)(q)[2, 3] for foot in feet)
for foot in feet:
    robot = robot.with_contact(foot, kind="point", q=q)
{_MPC}
problem.add_cost("trunk", problem.q[:3] - (q[:3] + np.array([0.03, 0.0, -0.05])), 100.0, 1000.0)
problem.add_control_cost(np.concatenate([np.full(18, 1e-4), np.full(12, 1e-6)]))
{_SOLVE}
""",
    "humanoid": f"""
from importlib.metadata import files
name = "simple_humanoid_description/urdf/simple_humanoid.urdf"
path = next(str(f.locate()) for f in files("example-robot-data") if str(f).endswith(name))
robot = hc.load(path, base="floating")
q = robot.neutral()
{_MPC}
{_SOLVE}
""",
    "readme": """
robot = hc.load("panda")
q = robot.random(0)
problem = Problem(robot, horizon=20, dt=0.02)
problem.add_position_cost("panda_link8", [0.4, 0.3, 0.5], weight=50.0)
problem.add_torque_cost(1e-3)
problem.add_limits()
hc.mpc.Controller(problem).step(q, np.zeros(7))
""",
    "talos": f"""
{_FILE}
robot = hc.load(file("talos_data/robots/talos_reduced.urdf"), base="floating")
q, soles = robot.neutral(), ("left_sole_link", "right_sole_link")
tasks = [
    hc.control.CenterOfMassTask([0.0, 0.0, 0.8], 1.0),
    hc.control.OrientationTask("torso_2_link", np.eye(3), 1.0),
    hc.control.PostureTask(q, 1e-3),
]
contacts = [hc.control.SurfaceContact(name, 0.4, size_xy=(0.2, 0.12)) for name in soles]
hc.control.WholeBody(robot, tasks, contacts, 0.002).step(q, np.zeros(robot.nv))
""",
    "walker": f"""
{_FILE}
robot = hc.load(file("a1_description/urdf/a1.urdf"), srdf=file("a1.srdf"), base="floating")
walker = hc.walking.Walker(robot)
walker.step(walker.posture, np.zeros(robot.nv))
""",
    "contacts": """
robot = hc.load("quadruped", base="floating")
q = robot.neutral()
q[2], q[7:] = 1.0, np.tile([0.0, 0.7, -1.4], 4)
feet = [hc.ContactPoint(link, (0, 0, 0)) for link in robot.link_names if link.endswith("_foot")]
hc.simulate(robot, q, np.zeros(robot.nv), duration=0.05, dt=0.001, ground=hc.Ground(), contacts=feet)
""",
    "chain": "robot = hc.serial_chain(200)\nrobot.mass_matrix(np.zeros(robot.nv))\n",
}
_WHAT = {
    "panda": "inverse dynamics of a Panda",
    "ur5": "MPC of a UR5",
    "quadruped": "MPC of a quadruped on four feet",
    "readme": "MPC of the README, a Panda",
    "talos": "whole-body control of Talos",
    "walker": "walker of an A1",
    "contacts": "quadruped on the ground",
    "humanoid": "MPC of a humanoid, 35 velocities",
    "chain": "mass matrix of a chain of 200",
}


class Times(NamedTuple):
    """Seconds: waited, and used by all processes together."""

    wall: float
    processor: float


def measure(case: str, source: Path) -> Times:
    """One case with the version of Helicoid in a folder, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="helicoid-cold-") as cache:
        environment = {**os.environ, "HELICOID_CACHE": cache, "PYTHONPATH": str(source)}
        environment.pop("HELICOID_COMPILE", None)
        before, began = os.times(), time.perf_counter()
        subprocess.run([sys.executable, "-c", _BEGIN + CASES[case]], env=environment, check=True)
        after, ended = os.times(), time.perf_counter()
    used = sum(getattr(after, kind) - getattr(before, kind) for kind in ("children_user", "children_system"))
    return Times(ended - began, used)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description="Times of first uses with an empty cache.")
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"of {', '.join(CASES)}")
    parser.add_argument("--against", type=Path, help="the folder src of another version")
    chosen = parser.parse_args()
    versions = ([("before", chosen.against.resolve())] if chosen.against else []) + [("now", _HERE)]
    print(f"{'':34}" + "".join(f"{f'{name}: wall':>14}{'processor s':>13}" for name, _ in versions))
    for case in chosen.cases:
        print(f"{_WHAT[case]:34}", end="", flush=True)
        for _, source in versions:
            times = measure(case, source)
            print(f"{times.wall:14.1f}{times.processor:13.1f}", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
