"""The examples run, each in a program of its own and compiled, as users run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def _run(folder: Path, *command: str | Path) -> None:
    environment = {**os.environ, "HELICOID_COMPILE": "1", "MPLBACKEND": "Agg"}
    subprocess.run([sys.executable, *command], check=True, cwd=folder, env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tour", "control_tour", "flight"])
def test_a_tour_runs_from_top_to_bottom(name: str, tmp_path: Path) -> None:
    cells = json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 6
    program = tmp_path / "tour.py"
    program.write_text("\n\n".join(code), encoding="utf-8")
    _run(tmp_path, program)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["falling_chain", "four_bar", "trot", "reach", "press_and_turn"])
def test_example_draws_its_picture(name: str, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    _run(tmp_path, EXAMPLES / f"{name}.py", picture)
    assert picture.stat().st_size > 10_000
