"""The command line: its output fits a terminal of 80 columns, and mistakes are reported."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import helicoid as hc
from helicoid.cli import console as shared
from helicoid.cli.app import app
from helicoid.identification.linear.options import ESTIMATORS

NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[+-]\d+)?(?![\w.])")


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consoles exist since the module was imported."""
    monkeypatch.setattr(shared.console, "_width", 80)
    monkeypatch.setattr(shared.error_console, "_width", 80)


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version") == f"helicoid {hc.__version__}\n"


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "helicoid", "--version"]
    assert hc.__version__ in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_help_names_all_estimators() -> None:
    assert set(ESTIMATORS) <= set(re.findall(r"\w+", run("identify", "--help")))


def test_masses_of_the_list_are_those_of_the_robots() -> None:
    rows = [line.split() for line in run("robots").splitlines()[1:] if line.strip()]
    assert [row[0] for row in rows] == hc.robots()
    assert [float(row[3]) for row in rows] == [pytest.approx(hc.load(r[0]).mass, rel=1e-3) for r in rows]


@pytest.mark.parametrize("name", ["panda", "quadruped"])
def test_no_number_is_cut_at_80_columns(name: str) -> None:
    robot = hc.load(name, base="floating")
    text = run("info", name, "--floating")
    assert max(map(len, text.splitlines())) <= 80
    printed = {float(number) for number in NUMBER.findall(text)}
    values = [x for body in robot.model.bodies for x in (body.inertia.mass, *body.inertia.com)]
    for value in (*values, *robot.limits.lower[7:], *robot.limits.upper[7:]):
        assert any(value == pytest.approx(one, rel=1e-3, abs=1e-12) for one in printed), value


def test_a_table_breaks_names_before_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(width=30)
    monkeypatch.setattr(shared, "console", console)
    table = shared.Columns("", "name", "values", "more")
    table.add("a_very_long_name_of_a_joint", "0.123456 -1.23456e-05", "12345.678")
    with console.capture() as captured:
        table.show()
    assert {"0.123456", "-1.23456e-05", "12345.678"} <= set(captured.get().split())


def test_bundled_names_and_files_are_checked(tmp_path: Path) -> None:
    assert "no warnings" in run("check", "panda")
    hc.load("planar_2r").to_urdf(tmp_path / "arm.urdf")
    assert "planar_2r" in run("check", str(tmp_path / "arm.urdf"))
    failed = CliRunner().invoke(app, ["check", "pandas"])
    assert failed.exit_code == 1 and "error" in failed.stderr


def test_codegen_names_public_functions_alone(tmp_path: Path) -> None:
    failed = CliRunner().invoke(app, ["codegen", "planar_2r", "nothing", "-o", str(tmp_path)])
    assert failed.exit_code == 1 and "inverse_dynamics" in failed.stderr
    assert not re.search(r"\b_[a-z]", failed.stderr)


MESHED = """<robot name="m"><link name="base"><visual><geometry>
  <mesh filename="package://shapes/box.stl"/></geometry></visual></link></robot>"""


def test_view_finds_meshes_in_packages(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "folder").mkdir()
    trimesh.creation.box((1, 2, 3)).export(tmp_path / "folder" / "box.stl")
    (tmp_path / "m.urdf").write_text(MESHED)
    page, arguments = str(tmp_path / "m.html"), ["view", str(tmp_path / "m.urdf"), "--record"]
    lost = CliRunner().invoke(app, [*arguments, page])
    assert "box.stl: not found" in lost.stderr
    found = CliRunner().invoke(app, [*arguments, page, "--package", f"shapes={tmp_path / 'folder'}"])
    assert found.exit_code == 0 and found.stderr == ""


@pytest.mark.parametrize("given", ["shapes", "=x", "shapes=/no/such/folder"])
def test_an_invalid_package_is_reported(given: str) -> None:
    failed = CliRunner().invoke(app, ["view", "panda", "--package", given])
    assert failed.exit_code == 1 and "--package" in failed.stderr


def test_the_cache_says_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELICOID_CACHE", str(tmp_path))
    assert "0 libraries" in run("cache", "info")
    assert "removed 0 libraries" in run("cache", "clear")


SCENE = """<mujoco model="cart"><worldbody><body name="cart"><joint name="drive" type="slide" axis="1 0 0"/>
<geom type="box" size="0.1 0.1 0.1"/></body></worldbody>
<keyframe><key name="home" qpos="0.5"/></keyframe></mujoco>"""


def test_convert_writes_urdf_and_mjcf_and_says_what_is_lost(tmp_path: Path) -> None:
    scene, urdf, back = tmp_path / "scene.xml", tmp_path / "cart.urdf", tmp_path / "back.xml"
    scene.write_text(SCENE)
    assert "URDF cannot state keyframe 'home'" in run("convert", str(scene), str(urdf))
    run("convert", str(urdf), str(back))
    first, last = hc.load(scene), hc.load(back)
    assert first.joint_names == last.joint_names
    assert abs(float(first.mass_matrix([0.1])[0, 0] - last.mass_matrix([0.1])[0, 0])) < 1e-12
    result = CliRunner().invoke(app, ["convert", "panda", str(tmp_path / "panda.obj")])
    assert result.exit_code == 1 and "ending is one of" in result.stderr


def test_commands_take_all_formats_and_their_options(tmp_path: Path) -> None:
    xacro, sdf, urdf = tmp_path / "a.urdf.xacro", tmp_path / "a.sdf", tmp_path / "a.urdf"
    xacro.write_text(
        '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="n" default="b"/>'
        '<link name="$(arg n)"/></robot>'
    )
    run("convert", str(xacro), str(urdf), "--argument", "n=c")
    assert hc.load(urdf).link_names == ["c"]
    sdf.write_text(
        '<sdf version="1.9"><model name="one"><link name="l"/></model>'
        '<model name="two"><link name="m"/></model></sdf>'
    )
    assert "valid" in run("check", str(sdf), "--model", "two")
    assert "error" in CliRunner().invoke(app, ["check", str(sdf)]).stderr
    assert CliRunner().invoke(app, ["check", str(xacro), "--argument", "n"]).exit_code == 1
