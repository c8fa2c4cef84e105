"""`helicoid codegen`: arguments name functions, and mistakes are reported with a remedy."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import helicoid as hc
from helicoid.cli.app import app
from helicoid.cli.codegen import find_function, generate
from helicoid.errors import HelicoidError


def test_specifications_name_functions() -> None:
    robot = hc.load("ur5")
    q = robot.random(0)
    assert find_function(robot, "mass_matrix") is robot.mass_matrix
    for specification, function in {
        "pose:tool0": robot.pose("tool0"),
        "jacobian:tool0": robot.jacobian("tool0"),
        "jacobian:tool0:body": robot.jacobian("tool0", "body"),
    }.items():
        np.testing.assert_array_equal(find_function(robot, specification)(q), function(q))


def test_a_frame_may_have_a_colon_in_its_name() -> None:
    urdf = """<robot name="r"><link name="base"/><link name="arm:tip"/>
      <joint name="j" type="fixed"><parent link="base"/><child link="arm:tip"/></joint></robot>"""
    robot = hc.load(urdf)
    assert find_function(robot, "pose:arm:tip") is robot.pose("arm:tip")
    assert find_function(robot, "jacobian:arm:tip:body") is robot.jacobian("arm:tip", "body")


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("inverse_dynamic", "has no function 'inverse_dynamic'. It has inverse_dynamics, .*pose, jacobian"),
        ("random", "has no function 'random'"),
        ("_functions", "has no function '_functions'"),
        ("", "has no function ''"),
        ("gravity:tool0", "gravity takes no frame; write 'gravity'"),
        ("jacobian", "needs a frame, as in 'jacobian:tool0'; the frames are base_link, .*tool0"),
        ("jacobian:", "needs a frame"),
        ("jacobian:tool1", "no frame of 'ur5' is called 'tool1'"),
        ("jacobian:tool0:base", "reference must be one of world, world_aligned, body; got 'base'"),
        ("pose:tool0:body", "pose takes no reference; write 'pose:tool0'"),
    ],
)
def test_mistakes_are_reported_with_a_remedy(specification: str, message: str) -> None:
    with pytest.raises(HelicoidError, match=message):
        find_function(hc.load("ur5"), specification)


def test_files_are_called_after_robot_and_function(tmp_path: Path) -> None:
    robot = hc.load("ur5")
    files = generate(robot, ["gravity", "jacobian:tool0", "jacobian:tool0:body", "gravity"], tmp_path)
    assert [path.name for path in files] == [
        *("ur5.h", "ur5_gravity.c", "ur5_jacobian_tool0.c", "ur5_jacobian_tool0_body.c"),
        *("main.c", "CMakeLists.txt"),
    ]


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_command_writes_a_library_that_checks_itself(tmp_path: Path) -> None:
    arguments = ["codegen", "quadruped", "gravity", "center_of_mass", "-o", str(tmp_path)]
    result = CliRunner().invoke(app, [*arguments, "--floating", "--single"])
    assert result.exit_code == 0, result.output
    files = [Path(line) for line in result.output.split()]
    assert all(path.exists() for path in files) and len(files) == 5
    header = (tmp_path / "quadruped.h").read_text()
    assert f"const float q[{hc.load('quadruped', base='floating').nq}]" in header
    sources = [str(path) for path in files if path.suffix == ".c"]
    subprocess.run(["cc", "-std=c99", *sources, "-o", str(tmp_path / "check"), "-lm"], check=True)
    subprocess.run([str(tmp_path / "check")], check=True)


def test_command_reports_mistakes_in_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["codegen", "ur5", "gravity:tool0", "-o", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert not (tmp_path / "out").exists()
