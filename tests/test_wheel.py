"""The wheel, installed away from the checkout, is a complete package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from test_docs import python_blocks

ROOT = Path(__file__).parents[1]


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


# The blocks of the README in the order in which a reader types them; what needs a compiler says so.
RUN_BLOCKS = """
import json, sys
import helicoid as hc

namespace, refused = {"__name__": "__main__"}, []
for line, code in json.load(open(sys.argv[1])):
    try:
        exec(compile("\\n" * (line - 1) + code, "README.md", "exec"), namespace)
    except hc.CompileError as error:
        refused.append(str(error))
print(json.dumps({"file": hc.__file__, "refused": refused}))
"""


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an empty environment into which the wheel was installed as a user would."""
    folder = tmp_path_factory.mktemp("environment")
    run("-m", "venv", folder)
    python = folder / "bin" / "python"
    command = [python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", f"{wheel}[identify]"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode and "No matching distribution" in done.stderr + done.stdout:
        pytest.skip("the packages that Helicoid needs cannot be had here")
    assert done.returncode == 0, done.stderr
    return python


@pytest.mark.slow
@pytest.mark.parametrize("compiler", [pytest.param(True, marks=pytest.mark.needs_compiler), False])
def test_the_readme_runs_from_the_installed_wheel(installed: Path, tmp_path: Path, compiler: bool) -> None:
    """Without the sources; without a compiler, too: what cannot work then says what to install."""
    blocks = tmp_path / "blocks.json"
    blocks.write_text(json.dumps(python_blocks(ROOT / "README.md")), encoding="utf-8")
    foreign = ("PYTHON", "HELICOID", "CC")
    keep = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    env = keep | {"HELICOID_CACHE": str(tmp_path / "cache"), "MPLBACKEND": "Agg"}
    env |= {} if compiler else {"PATH": str(installed.parent)}
    done = subprocess.run(
        [str(installed), "-c", RUN_BLOCKS, str(blocks)], capture_output=True, text=True, cwd=tmp_path, env=env
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert Path(result["file"]).is_relative_to(installed.parents[1])
    if compiler:
        assert result["refused"] == []
    else:
        assert all("gcc" in message for message in result["refused"]), result["refused"]
