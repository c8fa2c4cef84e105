"""The examples run, each in a program of its own and compiled, as users run them."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import helicoid as hc

EXAMPLES = Path(__file__).parents[1] / "examples"


def _run(folder: Path, *command: str | Path) -> None:
    environment = {**os.environ, "HELICOID_COMPILE": "1", "MPLBACKEND": "Agg"}
    subprocess.run([sys.executable, *command], check=True, cwd=folder, env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tour", "control_tour", "flight", "planning"])
def test_a_tour_runs_from_top_to_bottom(name: str, tmp_path: Path) -> None:
    cells = json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 6
    program = tmp_path / "tour.py"
    program.write_text("\n\n".join(code), encoding="utf-8")
    _run(tmp_path, program)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "falling_chain",
        "four_bar",
        "trot",
        "reach",
        "press_and_turn",
        "grasp",
        "pick_and_place",
        ("identification_growth", "2"),
    ],
    ids=lambda command: command if isinstance(command, str) else command[0],
)
def test_example_draws_its_picture(command: str | tuple[str, ...], tmp_path: Path) -> None:
    name, *arguments = [command] if isinstance(command, str) else command
    picture = tmp_path / "picture.png"
    _run(tmp_path, EXAMPLES / f"{name}.py", picture, *arguments)
    assert picture.stat().st_size > 10_000


@pytest.mark.slow
def test_arm_is_identified_from_its_recording(tmp_path: Path) -> None:
    """The torques of the second run are predicted by the robot that the first one identified."""
    _run(tmp_path, EXAMPLES / "identify_arm.py", tmp_path / "arm")
    files = {file.name for file in (tmp_path / "arm").iterdir()}
    assert files >= {"run1.csv", "run2.csv", "report.html", "identified.urdf", "identify_arm.png"}
    described, identified = (
        hc.load(tmp_path / "arm" / f"{name}.urdf") for name in ("described", "identified")
    )
    log = hc.Log.from_csv(tmp_path / "arm" / "run2.csv")
    a = np.gradient(log.v, log.t, axis=0)

    def rms(robot: hc.Robot) -> float:
        return float(
            np.sqrt(np.mean((robot.inverse_dynamics(log.q, log.v, a, friction=True) - log.tau) ** 2))
        )

    assert rms(identified) < 0.2 * rms(described)


def test_arm_is_identified_from_a_short_recording(tmp_path: Path) -> None:
    example = runpy.run_path(str(EXAMPLES / "identify_arm.py"))
    described = hc.load("ur5")
    motion = hc.excitation(described, 2.0, acceleration=4.0, harmonics=3, iterations=1)
    log = example["recorded"](example["real_arm"](described), described, motion, 1)
    example["save"](log, tmp_path / "run.csv")
    again = hc.Log.from_csv(tmp_path / "run.csv")
    result = hc.identify(described, again)
    plain = described.inverse_dynamics(again.q, again.v, np.gradient(again.v, again.t, axis=0))
    assert np.std(result.predict(again) - again.tau) < 0.5 * np.std(plain - again.tau)


def test_identification_costs_are_compared_for_one_joint() -> None:
    example = runpy.run_path(str(EXAMPLES / "identification_growth.py"))
    compared = example["compared"]
    compared.__globals__.update(SECONDS=1.0, TURNS=1)
    linear, shooting, linear_error, shooting_error = compared(1)
    assert linear > 0 and shooting > 0
    assert linear_error < 0.05 and shooting_error < 0.05
    figure = example["draw"](np.array([[linear, shooting, linear_error, shooting_error]]))
    assert len(figure.axes) == 2


@pytest.mark.slow
def test_the_gripper_holds_its_box() -> None:
    motion = runpy.run_path(str(EXAMPLES / "grasp.py"))["lifted"]()
    assert motion.q[-1, 11] - motion.q[0, 11] > 0.2
    assert np.abs(motion.v[-1]).max() < 0.05


@pytest.mark.slow
def test_the_box_is_carried_past_a_post_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    example = runpy.run_path(str(EXAMPLES / "pick_and_place.py"))
    motion, control = example["moved"]()
    q = motion.q[-1]
    np.testing.assert_allclose(q[10:13], [*example["PLACE"], 0.04], atol=0.03)
    assert control.replanned and control.name in ("aside", "rest")
    np.testing.assert_allclose(q[9], example["SLIDE"], atol=1e-3)
    post = motion.contact_forces[:, motion.contact_names.index("post")]
    assert not post.any()  # in MuJoCo nothing touches it
    assert np.mean(control.fine) > 0.95
