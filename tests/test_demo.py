"""The demonstration: its path, its charts, its page, and once the whole of it."""

from __future__ import annotations

import functools
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from rich.live import Live

import helicoid as hc
from helicoid.demo.demonstration import LiveTable, summary
from helicoid.demo.plan import BRAKING, sort_parcels, write_plan
from helicoid.demo.report import write_report
from helicoid.demo.results import Results
from helicoid.demo.scenario import (
    DURATION,
    HOME,
    MASS,
    PERIOD,
    PICKED_UP,
    TOOL,
    WAYPOINTS,
    Scenario,
    position,
)
from helicoid.mpc.loop.closed_loop import Run, Sample
from helicoid.mpc.loop.comparison import LABELS, Comparison
from helicoid.simulation import Trajectory
from view.browser import CHROMIUM, browser


@functools.cache
def scenario() -> Scenario:
    return Scenario()


def made_up(label: str, error: float) -> Run:
    """A run in which the arm stands still, with a load that is known half a second after it was picked up."""
    n = round(DURATION / PERIOD)
    t = PERIOD * np.arange(n + 1)
    true = np.where((t[:-1] >= PICKED_UP)[:, None], scenario().load, 0.0)
    known = np.where((t[:-1] >= PICKED_UP + 0.5)[:, None], 1.001 * scenario().load, 0.0)
    motion = Trajectory(
        t, np.tile(HOME, (n + 1, 1)), np.zeros((n + 1, 7)), np.ones((n + 1, 7)), scenario().robot
    )
    return Run(
        label, motion, np.full(n, error), np.full(n, 2e-4), np.full(n, 2e-5), known, true, t[:-1:10],
        known[::10], np.full((len(known[::10]), 10), 0.01), np.ones(n, dtype=bool), [(0.0, "solved")],
    )  # fmt: skip


@functools.cache
def results() -> Results:
    return Results(
        Comparison(*(made_up(label, e) for label, e in zip(LABELS, (0.02, 1e-3, 1.01e-3), strict=True)))
    )


def test_the_path_starts_at_the_arm_and_rests_at_every_waypoint() -> None:
    robot = scenario().robot
    np.testing.assert_allclose(robot.pose(TOOL)(np.array(HOME))[:3, 3], position(np.zeros(1))[0], atol=1e-3)
    times, h = WAYPOINTS[:, 0], 1e-4
    np.testing.assert_allclose(position(times), WAYPOINTS[:, 1:], atol=1e-12)
    np.testing.assert_allclose((position(times + h) - position(times - h)) / (2 * h), 0.0, atol=1e-5)


def test_the_tool_is_at_rest_when_it_picks_up() -> None:
    around = PICKED_UP + np.linspace(-0.2, 0.3, 6)
    np.testing.assert_allclose(position(around), np.tile(WAYPOINTS[1, 1:], (6, 1)), atol=1e-12)


def test_the_targets_are_those_of_the_nodes_ahead() -> None:
    rows = scenario().targets(1.0)["tool"].reshape(-1, 4, 4)
    np.testing.assert_allclose(rows[:, :3, 3], position(1.0 + scenario().problem.times))
    np.testing.assert_allclose(rows[0, :3, :3] @ [0.0, 0.0, 1.0], [0.0, 0.0, -1.0], atol=1e-3)


def test_the_figures_are_those_of_the_runs() -> None:
    assert results().identified_after == pytest.approx(0.5, abs=0.011)
    assert results().mass == pytest.approx((1.001 * MASS, 0.02))
    assert [cells[2] for _, cells in results().rows] == ["20.0 mm", "1.0 mm", "1.0 mm"]
    assert results().recovered_after == 0.0
    assert results().handed_over_after == pytest.approx(0.5, abs=0.011)
    assert "received the estimate after 0.50 s" in results().sentences[1]
    assert results().comparison.overhead() == pytest.approx(1 / 9)


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    path = write_report(scenario(), results(), tmp_path / "new")
    text = path.read_text(encoding="utf-8")
    assert path.name == "report.html" and len(text) < 3e6
    assert not re.search(r'(?:src|href)="(?!data:)', text) and "@import" not in text and "url(" not in text
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', text, re.S)[1])
    assert len(data["motions"]) == 2


def test_the_live_table_fills_as_samples_come() -> None:
    text = io.StringIO()
    with Live(console=Console(file=text, width=80)) as live:
        table = LiveTable(live, PICKED_UP)
        for label, run in zip(LABELS, results().comparison.runs, strict=True):
            for k in range(0, 2200, 10):
                row = run.theta[k], run.theta[k], np.full(10, 0.01)
                table(
                    label,
                    Sample(run.t[k], run.error[k], run.true_theta[k], *row, 2e-4, "solved", np.array(HOME)),
                )
        live.update(table.table())
    lines = text.getvalue().splitlines()
    row = next(line for line in lines if "2.5 s" in line)
    assert "20.0 mm" in row and "1.0 mm" in row and "2.500 kg" in row and "200 µs" in row
    assert max(map(len, lines)) <= 80


def test_the_summary_fits_a_terminal() -> None:
    text = io.StringIO()
    Console(file=text, width=80).print(summary(results()))
    assert all(label in text.getvalue() for label in LABELS)
    assert text.getvalue().count("200 µs") == 6


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: the page is not looked at")
def test_the_page_plays_and_charts_move_it(tmp_path: Path) -> None:
    path = write_report(scenario(), results(), tmp_path)
    cursor = "Number(document.querySelector('.cursor').getAttribute('x1'))"
    with browser() as tab:
        tab.open(path.as_uri(), 900, 1400, 0.5)
        tab.wait("document.querySelector('.helicoid-player')?.dataset.time !== undefined")
        touched = (  # again and again: the charts may begin to listen later than the player to play
            "(() => { const svg = document.querySelector('.chart > svg'), box = svg.getBoundingClientRect();"
            "return svg.dispatchEvent("
            "new PointerEvent('pointerdown', { clientX: box.left + box.width / 2 })); })()"
        )
        tab.wait(f"{touched} && Math.abs({cursor} - 280) < 1")
        tab.wait("Math.abs(document.querySelector('.helicoid-player').dataset.time - 3.71) < 0.05")
        assert tab.pixels().std() > 10
        assert tab.errors == []


@pytest.mark.slow
def test_the_whole_demonstration(tmp_path: Path) -> None:
    from helicoid.demo import run

    hc.set_compile(True)
    text = io.StringIO()
    path = run(tmp_path, console=Console(file=text, width=80))
    assert path.exists()
    found = re.search(r"estimated to 2 % ([\d.]+) s after", text.getvalue().replace("\n", " "))
    assert found is not None and float(found[1]) < 1.0


def test_flights_are_flown_and_shown(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from helicoid.cli.app import app
    from helicoid.demo.flight import fly_eight

    flown = fly_eight(tmp_path, seed=3, duration=2.0)
    assert flown.largest < 0.05 and flown.page.read_text().startswith("<!DOCTYPE html>")
    assert "http" not in flown.page.read_text().replace("http://www.w3.org", "")
    result = CliRunner().invoke(app, ["demo", "swim"])
    assert result.exit_code != 0


@pytest.mark.slow
def test_demo_fly_from_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from helicoid.cli.app import app

    result = CliRunner().invoke(app, ["demo", "fly", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "figure_eight.html").exists() and (tmp_path / "mission.html").exists()


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_demo_walk_from_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from helicoid.cli.app import app

    result = CliRunner().invoke(app, ["demo", "walk", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "walk.html").read_text()
    assert "without a fall" in text and text.count("<svg") >= 4
    assert "http" not in text.replace("http://www.w3.org", "")


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_parcels_are_sorted_around_obstacles(tmp_path: Path) -> None:
    """All samples are free in the scene of their time, and the page has the objects with their times."""
    record = sort_parcels()
    motion, starts = record.trajectory, sorted(record.scenes)
    assert [leg.name for leg in record.legs][2] == "parcel 1 to the bin, planned again"
    assert np.all(np.diff(motion.t) > 0) and np.all(np.abs(motion.v) < 1.02 * record.robot.limits.velocity)
    planner = hc.planning.Planner(record.robot)
    for start, end in zip(starts, [*starts[1:], np.inf], strict=True):
        planner.update(record.scenes[start])
        assert not planner.in_collision(motion.q[(motion.t > start) & (motion.t <= end)]).any()
    text = write_plan(record, tmp_path).read_text()
    header = json.loads(re.search(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)[1])  # type: ignore[index]
    times = {(part["from"], part["until"]) for part in header["parts"]}
    moved = record.legs[2].begins - BRAKING
    assert (-1e9, 1e9) in times and (0.0, moved) in times and (moved, 1e9) in times


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_demo_plan_from_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from helicoid.cli.app import app

    result = CliRunner().invoke(app, ["demo", "plan", "-o", str(tmp_path)], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert len(lines) == 8 and all(len(line) <= 80 for line in lines[:7])
    assert "Least distance from an obstacle" in lines[-1] and (tmp_path / "plan.html").exists()
