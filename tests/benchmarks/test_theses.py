"""The command for the tables of the theses, on its smallest case."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.harness.subjects import QUANTITIES, bundled_subject
from benchmarks.peers import find
from benchmarks.report import published
from benchmarks.report.tables import Sheet
from benchmarks.theses import __main__ as command
from benchmarks.theses import in_c, pages
from benchmarks.theses.derivatives import DERIVED, JACOBIANS, measure
from benchmarks.theses.extent import Extent, snake

import helicoid as hc
from helicoid.compiler.build.toolchain import find_compiler
from helicoid.errors import CompileError

TINY = Extent(
    states=3,
    robots=("pan_tilt_pendulum",),
    heidelberg=("double pendulum",),
    snakes=(),
    chains=(1, 2),
    derivative_chains=(1, 2),
    libraries=("Pinocchio",),
    rounds=1,
    turn=1e-5,
    slow_libraries=False,
)
PARTS = ("correctness", "dynamics", "growth", "derivatives", "snakes", "ratios")


@pytest.fixture(scope="module")
def sheets() -> dict[str, Sheet]:
    peers, _ = find(TINY.libraries)
    return {sheet.title: sheet for sheet in command.sheets(TINY, peers, PARTS)}


def starting(sheets: dict[str, Sheet], start: str) -> Sheet:
    return next(sheet for title, sheet in sheets.items() if title.startswith(start))


def test_every_table_is_there_with_its_rows(sheets: dict[str, Sheet]) -> None:
    for start in ("Tables 5.1", "Table 5.2", "Table 6.1,", "Table 6.2", "Table 6.3", "Table 6.4"):
        assert len(starting(sheets, start).rows) == len(published.LABELS), start
    assert len(starting(sheets, "Tables 5.4 to 5.10").rows) == 2 * len(published.LABELS)
    assert len(starting(sheets, "Figure 6.7 (Heidelberg)").rows) == 2 * 4
    for sheet in sheets.values():
        assert all(len(row) == len(sheet.columns) for row in sheet.rows), sheet.title
        assert sheet.markdown().count("\n|") == 2 + len(sheet.rows)


def test_published_counts_stand_beside_ours(sheets: dict[str, Sheet]) -> None:
    robot = hc.load("pan_tilt_pendulum")
    rows = {row[1]: row for row in starting(sheets, "Table 6.3").rows}
    for label, derived in JACOBIANS.items():
        count = published.JACOBIANS["pan_tilt_pendulum"][published.LABELS.index(label)]
        ours = derived.make(robot).n_operations
        assert rows[f"∇{label}"][2:6] == (str(count), "–", str(ours), f"{ours / count:.0%}")


def test_differences_from_pinocchio_are_those_of_rounding(sheets: dict[str, Sheet]) -> None:
    sheet = starting(sheets, "Table 4.2")
    if "Pinocchio/Helicoid" not in sheet.columns:
        pytest.skip("Pinocchio is not installed")
    column = sheet.columns.index("Pinocchio/Helicoid")
    for row in sheet.rows:
        assert float(row[column]) <= 1e-12 * float(row[-1]), row


def test_written_functions_are_what_is_counted() -> None:
    """The column of functions is what a reader types."""
    robot = hc.load("pan_tilt_pendulum")
    for kind in DERIVED.values():
        for derived in kind.values():
            function: hc.Function = eval(f"robot.{derived.written}", {"robot": robot})
            assert function is derived.make(robot) or function.name == derived.make(robot).name


class Twin:
    """Helicoid as urdf2casadi, whose results can be spoilt."""

    def __init__(self, factor: float) -> None:
        self.subject, self._factor = bundled_subject("pan_tilt_pendulum"), factor

    def plain(self, label: str) -> Any:
        function = QUANTITIES[label].function(self.subject.robot).casadi
        return lambda *inputs: self._factor * function(*inputs)

    def options(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("kind", ["jacobian", "rate"])
def test_derivatives_that_differ_are_counted_and_not_timed(kind: Any) -> None:
    extent = replace(TINY, slow_libraries=True)
    for label in published.LABELS:
        twin, wrong = (
            measure(kind, label, bundled_subject("pan_tilt_pendulum"), Twin(factor), extent)
            for factor in (1.0, 1.0 + 1e-5)
        )
        assert twin.their_seconds is not None and twin.nodes, label
        assert wrong.their_seconds is None and wrong.nodes, label


def test_snake_of_32_joints_is_two_snakes() -> None:
    one, two = snake(1).robot, snake(2).robot
    assert two.nv == 32 and len(set(two.joint_names)) == 32
    assert two.mass == pytest.approx(2 * one.mass)
    # With the first snake straight and at rest, the second moves as one that stands alone.
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 16))
    still = np.zeros(16)
    tau = two.inverse_dynamics(*(np.r_[still, part] for part in (q, v, a)))
    np.testing.assert_allclose(tau[16:], one.inverse_dynamics(q, v, a), atol=1e-10)


def test_jacobians_run_in_c() -> None:
    try:
        find_compiler()
    except CompileError:
        pytest.skip("no C compiler")
    subject = bundled_subject("pan_tilt_pendulum")
    function = JACOBIANS["FD (ABA)"].make(subject.robot)
    assert in_c.seconds_in_c(function, subject.state(), TINY) >= 0.0


def test_missing_example_packages_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ImportError("No module named 'matplotlib'")

    monkeypatch.setattr("benchmarks.theses.growth._example", fail)
    (sheet,) = command.sheets(replace(TINY, identified=(1,)), {}, ("identification",))
    assert "matplotlib" in sheet.note and not sheet.rows


def test_command_prints_what_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], compiled: None, tmp_path: Path
) -> None:
    page = tmp_path / "correctness.md"
    page.write_text("# Correctness\n\nText.\n\n## Table 4.2: old\n\nold\n\n## Table 4.3: other\n\nkept\n")
    arguments = ["--quick", "--parts", "correctness", "--markdown", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["theses", *arguments])
    monkeypatch.setattr(command, "QUICK", TINY)
    command.main()
    printed = capsys.readouterr().out
    assert "Table 4.1" in printed and "Table 4.2" in printed and "Table 4.3" not in printed
    written = page.read_text(encoding="utf-8")
    headings = [line.partition(":")[0] for line in written.splitlines() if line.startswith("#")]
    assert headings == ["# Correctness", "## Table 4.2", "## Table 4.3", "## Table 4.1"]
    assert "Text." in written and "old" not in written and "kept" in written
    assert "Pinocchio" in (tmp_path / "index.md").read_text(encoding="utf-8")


def test_every_table_of_the_documentation_is_on_the_page_of_its_chapter() -> None:
    folder = Path(__file__).parents[2] / "docs" / "benchmarks" / "theses"
    titles = {
        page.name: re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        for page in folder.glob("*.md")
        if page.name != "index.md"
    }
    assert sum(map(len, titles.values())) >= 18
    for page, of_page in titles.items():
        assert [title for title in of_page if pages.page_of(title) != page] == []


@pytest.fixture
def compiled() -> None:
    """Functions that are compiled, which times need."""
    try:
        find_compiler()
    except CompileError:
        pytest.skip("no C compiler")
    hc.set_compile(True)
