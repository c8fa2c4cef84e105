"""Whole-body control of real robots: the whole program as daqp has it, and identities of floating bases."""

from __future__ import annotations

import numpy as np
import pytest
from real_robots import FILES, load

import helicoid as hc
from helicoid.control import (
    CenterOfMassTask,
    ForceTask,
    MomentumTask,
    OrientationTask,
    PointContact,
    PoseTask,
    PostureTask,
    SurfaceContact,
    TorqueTask,
    WholeBody,
)
from whole_body_oracle import solve

pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]
DT = 0.002
UNITREE = tuple(f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR"))
SOLO = tuple(f"{leg}_FOOT" for leg in ("FL", "FR", "HL", "HR"))
SOLES = ("left_sole_link", "right_sole_link")


def named(end: str) -> str:
    return next(name for name in FILES if name.endswith(end))


def talos() -> tuple[hc.Robot, np.ndarray, list, list]:
    robot = load(named("/talos_reduced.urdf"), "floating")
    q = robot.neutral()
    for side in ("left", "right"):
        angles = {f"leg_{side}_3_joint": -0.411, f"leg_{side}_4_joint": 0.859, f"leg_{side}_5_joint": -0.448}
        for joint, angle in {**angles, f"arm_{side}_4_joint": -1.5}.items():
            q[robot.index(joint)[0]] = angle
    tasks = [
        CenterOfMassTask(robot.center_of_mass(q) + np.array([0.05, 0.03, -0.05])),
        OrientationTask("torso_2_link", robot.pose("torso_2_link")(q)[:3, :3]),
        PostureTask(q, 1e-2),
        ForceTask("left_sole_link", [0.0, 0.0, 0.0, 0.0, 0.0, 600.0], 1e-5, size=6),
        TorqueTask(weight=1e-6),
    ]
    return robot, q, tasks, [SurfaceContact(sole, 0.5, size_xy=(0.2, 0.12)) for sole in SOLES]


def quadruped(file: str, feet: tuple[str, ...], body: str) -> tuple[hc.Robot, np.ndarray, list, list]:
    robot = load(named(file), "floating")
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    tasks = [
        PoseTask(body, robot.pose(body)(q), name="body"),
        PostureTask(q, 1e-2),
        MomentumTask(np.zeros(6), 1e-3),
    ]
    return robot, q, tasks, [PointContact(foot, 0.6, radius=0.02) for foot in feet]


MAKERS = {
    "talos": talos,
    "a1": lambda: quadruped("/a1.urdf", UNITREE, "trunk"),
    "solo12": lambda: quadruped("/solo12.urdf", SOLO, "base_link"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_it_solves_the_whole_program(name: str, rng: np.random.Generator) -> None:
    robot, q0, tasks, contacts = MAKERS[name]()
    wb = WholeBody(robot, tasks, contacts, DT)
    held, worst = 0, 0.0
    for k in range(60):
        wb.set(contacts=[one.name for one in contacts if rng.random() < 0.75])
        q = robot.integrate(q0, (0.02, 0.1)[k % 2] * rng.normal(size=robot.nv))
        v = (0.01, 0.2, 1.0)[k % 3] * rng.normal(size=robot.nv)
        tau = wb.step(q, v)
        if wb.status == "infeasible":
            assert wb.violations
            continue
        answer = solve(wb, q, v)
        assert answer.flag == 1 and wb.status in ("solved", "no contact")
        x = wb._memory[wb._loop.at["x"]]
        size = max(1.0, float(np.abs(answer.x).max()))  # accelerations and forces depend on each other
        assert np.allclose(x, answer.x, rtol=0, atol=1e-7 * size)
        assert np.allclose(tau, answer.tau, rtol=0, atol=1e-7 * size)
        worst = max(worst, float(np.abs(tau - answer.tau).max()))
        held += len(wb.limits)
    assert held > 60, held
    print(f"{name}: torques differ by at most {worst:.1e}")
