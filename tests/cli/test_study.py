"""`helicoid study FILE.py`: the study that a file makes, run from a shell."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

import helicoid as hc
from helicoid.cli.app import app

FILE = """
import helicoid as hc

def episode(case):
    return {"double": 2 * case["mass"]}

study = hc.Study(episode, seed=4)
study.vary("mass", hc.study.uniform(1, 2))
if __name__ == "__main__":
    raise SystemExit("not when it is a study that is asked for")
"""


def test_a_study_runs_and_prints_its_table(tmp_path: Path) -> None:
    file, out = tmp_path / "file.py", tmp_path / "out"
    file.write_text(FILE)
    words = ["study", str(file), "-n", "12", "--workers", "1", "-o", str(out)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "12 episodes" in result.output
    table = hc.study.read(out)
    assert (table["double"] == 2 * table["mass"]).all()


def test_an_invalid_file_is_reported_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    for text, message in (
        ("", "defines no hc.Study"),
        ("1 / 0", "ZeroDivisionError"),
        (None, "no such file"),
    ):
        file.unlink(missing_ok=True)
        if text is not None:
            file.write_text(text)
        result = CliRunner().invoke(app, ["study", str(file), "-n", "3"])
        assert result.exit_code == 1
        assert message in " ".join(result.stderr.split())
