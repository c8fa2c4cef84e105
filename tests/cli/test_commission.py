"""`helicoid commission`: a plant from a file, a stop with its remedy, mistakes."""

from __future__ import annotations

import signal
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

INTERRUPTED = """
import signal
from helicoid.commissioning.rehearsal import rehearsal_plant

class Interrupted:
    '''A simulated arm; Ctrl-C comes during its first motion.'''

    period, count = 0.001, 0

    def __init__(self, robot):
        self.inner = rehearsal_plant(robot)
        self.measure = self.inner.measure

    def apply(self, tau):
        self.count += 1
        if self.count == 700:
            signal.raise_signal(signal.SIGINT)
        self.inner.apply(tau)
"""


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["commission", *arguments], env={"COLUMNS": "200"})
    return result.exit_code, result.output


def test_a_plant_that_fails_ends_with_reason_and_remedy(tmp_path: Path) -> None:
    (tmp_path / "dead.py").write_text(PLANT, encoding="utf-8")
    code, output = run("ur5", "--plant", f"{tmp_path / 'dead.py'}:Dead", "--output", str(tmp_path / "out"))
    assert code == 1
    assert "plant failed" in output and "the bus is down" in output and "CommissioningPlant" in output
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.slow
@pytest.mark.compiled
def test_an_interrupt_ends_with_where_the_arm_is_and_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "arm.py").write_text(INTERRUPTED, encoding="utf-8")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite may inherit it ignored
    try:
        plant = f"{tmp_path / 'arm.py'}:Interrupted"
        code, output = run("ur5", "--plant", plant, "-o", str(tmp_path / "out"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 130
    assert "interrupted after 0.7 s of a motion; the arm was left where it came to rest" in output
    assert "--resume" in output
    assert all((tmp_path / "out" / name).exists() for name in ("report.html", "stopped.npz"))


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
