"""`helicoid commission`: a plant from a file, a stop with its remedy, mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from helicoid.cli.app import app

PLANT = '''
class Dead:
    """A plant whose bus is down."""

    period = 0.005

    def __init__(self, robot):
        self.robot = robot

    def measure(self):
        raise OSError("the bus is down")

    def apply(self, tau):
        pass
'''


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["commission", *arguments], env={"COLUMNS": "200"})
    return result.exit_code, result.output


def test_a_plant_that_fails_ends_with_reason_and_remedy(tmp_path: Path) -> None:
    (tmp_path / "dead.py").write_text(PLANT, encoding="utf-8")
    code, output = run("ur5", "--plant", f"{tmp_path / 'dead.py'}:Dead", "--output", str(tmp_path / "out"))
    assert code == 1
    assert "plant failed" in output and "the bus is down" in output and "CommissioningPlant" in output
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("plant", "text"),
    [("nowhere.py:Arm", "no such file"), ("no_such_module:Arm", "no_such_module"), ("arm", "module:name")],
)
def test_a_plant_that_is_not_there_is_an_error(plant: str, text: str, tmp_path: Path) -> None:
    code, output = run("ur5", "--plant", plant, "--output", str(tmp_path))
    assert code == 1 and text in output


def test_help_names_the_options() -> None:
    code, output = run("--help")
    assert code == 0
    assert all(option in output for option in ("--plant", "--output", "--speed", "--resume"))
