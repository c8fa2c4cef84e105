"""The wheel, installed away from the checkout, is a complete package."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

USE_IT = """
import numpy as np
import helicoid as hc

print(hc.__file__)
assert hc.robots(), "the wheel carries no robots"
robot = hc.load("panda")
torque = robot.inverse_dynamics(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv))
assert torque.shape == (7,) and np.isfinite(torque).all() and np.abs(torque).max() > 1.0, torque
"""


def run(*command: str | Path, **options: object) -> str:
    """Run a command of this Python; its output on success, a failed test that shows it otherwise."""
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from this checkout, without touching the network."""
    folder = tmp_path_factory.mktemp("dist")
    run("-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_holds_every_source_file_and_robot(wheel: Path) -> None:
    source = ROOT / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.suffix in {".py", ".urdf", ".c", ".h", ".js", ".css"} or path.name == "py.typed"
    }
    assert "helicoid/py.typed" in expected
    assert "helicoid/model/bundled/panda.urdf" in expected
    assert expected <= set(zipfile.ZipFile(wheel).namelist())


def test_wheel_declares_the_command_and_license(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    names = [name for name in archive.namelist() if ".dist-info/" in name]
    texts = {Path(name).name: archive.read(name).decode() for name in names}
    assert "helicoid = helicoid.cli.app:app" in texts["entry_points.txt"]
    assert "License-Expression: Apache-2.0" in texts["METADATA"]
    assert texts["LICENSE"] == (ROOT / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.slow
def test_installed_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    elsewhere.mkdir()
    run("-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", target, wheel)
    output = run("-c", USE_IT, cwd=elsewhere, env={**os.environ, "PYTHONPATH": str(target)})
    assert Path(output.splitlines()[0]).is_relative_to(target)
