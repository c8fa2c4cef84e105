"""A controller as a library in C99: no warnings, the same steps, and as hard to upset."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from control.exported import COMPILERS, checked
from helicoid.control import DifferentialIK, PoseTask, PositionTask, PostureTask
from helicoid.errors import HelicoidError

pytestmark = pytest.mark.needs_compiler


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param(
            {"priorities": "strict", "acceleration": 5.0, "solver": "projection"}, marks=pytest.mark.slow
        ),
    ],
)
def test_it_builds_without_warnings_and_steps_as_python_does(options, compiler, tmp_path):
    robot = hc.load("planar_2r")
    tasks = [PositionTask("tip", [0.5, 0.2, 0.9], name="tip"), PostureTask(np.zeros(2), weight=1e-3)]
    ik = DifferentialIK(robot, tasks, 0.01, **options)
    files = ik.export_c(tmp_path, "reach")
    header = (tmp_path / "reach.h").read_text()
    assert f"#define REACH_TIP {ik.numbers['tip'].at.start}\n#define REACH_TIP_SIZE 3\n" in header
    assert ik.status == "not started"  # recording steps has not made any
    assert checked(files, compiler, "-O1") < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("priorities", ["weighted", "strict"])
def test_larger_robots_too(priorities, tmp_path, rng):
    robot = hc.load("quadruped", base="floating")
    q = robot.random(rng)
    feet = [PositionTask(name, robot.pose(name)(q)[:3, 3]) for name in robot.link_names[-2:]]
    base = PoseTask(robot.link_names[0], robot.pose(robot.link_names[0])(q))
    ik = DifferentialIK(robot, [feet, base, PostureTask(q, 1e-2)], 0.005, priorities)
    files = ik.export_c(tmp_path)
    assert checked(files, "cc", "-O2", "-fsanitize=undefined,address") < 1e-9


def test_files_of_others_are_left_alone(tmp_path):
    robot = hc.load("planar_2r")
    tasks = [PositionTask("tip", [0.5, 0.2, 0.9], name="tip"), PostureTask(np.zeros(2), weight=1e-3)]
    ik = DifferentialIK(robot, tasks, 0.01)
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    with pytest.raises(HelicoidError, match=r"main\.c: was not written by Helicoid"):
        ik.export_c(tmp_path)
