"""SDF as libsdformat reads it, where it is installed (Debian's libsdformat-dev): poses, inertia, axes."""

from __future__ import annotations

import shutil
import subprocess
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid._typing import Array
from helicoid.geometry import quaternion

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")]
SOURCE = Path(__file__).with_name("libsdformat.cc")
LINK = """<link name="{0}"><pose {2}>{1}</pose><inertial><pose>.1 .2 .3 .4 .5 .6</pose><mass>2</mass><inertia>
<ixx>.3</ixx><iyy>.4</iyy><izz>.5</izz><ixy>.01</ixy></inertia></inertial></link>"""
POSES = f"""<sdf version="1.9"><model name="m"><pose>.1 .2 .3 .3 .2 .1</pose>
{LINK.format("base", "0 0 1 .1 0 0", "")}{LINK.format("arm", "1 2 3 .1 .2 .3", 'relative_to="tilted"')}
{LINK.format("hand", "0 0 0 0 .5 0", 'relative_to="wrist"')}
<frame name="tilted" attached_to="base"><pose degrees="true">.1 0 0 30 20 10</pose></frame>
<frame name="tip" attached_to="hand"><pose relative_to="tilted">.4 .1 0 0 .3 .2</pose></frame>
<joint name="shoulder" type="revolute"><pose>0 .1 0 .2 .3 .4</pose><parent>base</parent><child>arm</child>
<axis><xyz expressed_in="tilted">0 .6 .8</xyz><limit><lower>-1</lower><upper>2</upper><effort>5</effort>
<velocity>3</velocity></limit><dynamics><damping>.4</damping><friction>.2</friction></dynamics></axis></joint>
<joint name="wrist" type="prismatic"><pose relative_to="shoulder">.1 .2 0 .1 .2 .3</pose><parent>arm</parent>
<child>hand</child><axis><xyz>1 0 0</xyz></axis></joint>
<model name="tool"><pose relative_to="hand">.5 0 0 0 0 .7</pose>{LINK.format("plate", "0 0 .1 .3 0 0", "")}
<frame name="center"><pose>.1 .1 .1 0 0 1</pose></frame></model>
<joint name="held" type="fixed"><parent>hand</parent><child>tool::plate</child></joint></model></sdf>"""


@pytest.fixture(scope="module")
def read_by_libsdformat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of `libsdformat.cc`."""
    if not (shutil.which("pkg-config") and shutil.which("g++")):
        pytest.skip("needs g++ and pkg-config")
    for version in (14, 13, 12):
        asked = ["pkg-config", "--cflags", "--libs", f"sdformat{version}"]
        found = subprocess.run(asked, capture_output=True, text=True)
        if found.returncode == 0:
            break
    else:
        pytest.skip("needs libsdformat-dev")
    program = tmp_path_factory.mktemp("libsdformat") / "read"
    subprocess.run(["g++", "-O0", SOURCE, "-o", program, *found.stdout.split()], check=True)
    return program


def _pose(numbers: Array) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = quaternion.to_matrix(numbers[3:7]), numbers[:3]
    return T


def agrees(robot: hc.Robot, program: Path, file: Path) -> int:
    """Compare at the zero configuration; the number of lines."""
    lines = subprocess.run([program, file], capture_output=True, text=True, check=True).stdout.splitlines()
    q, joints = robot.neutral(), {joint.name: joint for joint in robot.model.joints}
    origins: list[Array] = []
    for line in lines:
        kind, name, *rest = line.split()
        x = np.array(rest, dtype=float)
        if kind == "axis":
            joint = joints.get(name)
            if joint is None or joint.type.nq != joint.type.nv:  # of a loop, or a ball
                continue
            slot = robot.index(name)[1]
            J = robot.jacobian(joint.child, "world_aligned")(q)[:, slot][:, int(x[0])]
            turning = np.linalg.norm(J[:3]) > 0.5
            direction = origins[0][:3, :3] @ x[1:4]
            assert_allclose(J[:3] if turning else J[3:], direction, atol=1e-9, err_msg=name)
            stated = joint.range.lower[0], joint.range.upper[0], *x[8:10]
            assert_allclose([*np.clip(stated[:2], -1e16, 1e16)], x[4:6], rtol=1e-12)
            assert_allclose([joint.damping[0], joint.friction[0]], x[8:10])
            continue
        T, there = np.asarray(robot.pose(name)(q)), _pose(x)
        if not origins:  # a root that is the base of the robot stands at its origin
            origins.append(T @ np.linalg.inv(there))
        assert_allclose(T, origins[0] @ there, atol=1e-9)
        inertia = robot.model.link(name).inertia if kind == "link" else None
        if inertia is not None and x[7] > 0:
            assert_allclose(inertia.mass, x[7])
            assert_allclose(inertia.com, x[8:11], atol=1e-12)
            assert_allclose(inertia.at_com.ravel(), x[11:20], atol=1e-12)
    return len(lines)


def test_poses_frames_and_nested_models(read_by_libsdformat: Path, tmp_path: Path) -> None:
    file = tmp_path / "robot.sdf"
    file.write_text(POSES)
    assert agrees(hc.load(file), read_by_libsdformat, file) == 9


def test_cassie(read_by_libsdformat: Path) -> None:
    found = [Path(str(one.locate())) for one in files("example-robot-data") or () if one.suffix == ".sdf"]
    readable = [one for one in found if not subprocess.run([read_by_libsdformat, one]).returncode]
    assert len(readable) > 3
    for file in readable:
        assert agrees(hc.load(file), read_by_libsdformat, file) > 40
