"""Whole-body control as a library in C99: no warnings, and the same steps."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from control.exported import COMPILERS, checked
from helicoid.control import PointContact, PositionTask, PostureTask, SurfaceContact, WholeBody

pytestmark = pytest.mark.needs_compiler


@pytest.mark.parametrize("compiler", COMPILERS)
def test_it_builds_without_warnings_and_steps_as_python_does(compiler, tmp_path):
    robot = hc.load("planar_2r")
    tasks = [PositionTask("tip", [0.5, 0.2, 0.9], name="tip"), PostureTask(np.zeros(2), weight=1e-3)]
    wb = WholeBody(robot, tasks, [], 0.01)
    files = wb.export_c(tmp_path, "reach")
    header = (tmp_path / "reach.h").read_text()
    assert f"#define REACH_TIP {wb.numbers['tip'].at.start}\n#define REACH_TIP_SIZE 3\n" in header
    assert wb.status == "not started"  # recording steps has not made any
    assert checked(files, compiler, "-O1") < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("priorities", ["weighted", "strict"])
def test_larger_robots_too(priorities, tmp_path, rng):
    robot = hc.load("quadruped", base="floating")
    q = robot.random(rng)
    feet = [PointContact(f"{leg}_foot", radius=0.02) for leg in ("FL", "FR", "RL")]
    sole = SurfaceContact("RR_foot", size_xy=(0.1, 0.05))
    wb = WholeBody(
        robot, [PostureTask(q), PositionTask("FL_foot", np.zeros(3))], [*feet, sole], 0.005, priorities
    )
    wb.contact("FL_foot", active=False)
    files = wb.export_c(tmp_path)
    assert checked(files, "cc", "-O2", "-fsanitize=undefined,address", "-fno-sanitize-recover") < 1e-6
