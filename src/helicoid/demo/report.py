"""The page that is left of a demonstration: figures, the motion in 3-D, charts; one file, no server."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

from helicoid._typing import Array
from helicoid.charts import Axis, Band, Chart, Curve, Level
from helicoid.demo.page import document
from helicoid.demo.results import Results
from helicoid.demo.scenario import (
    CENTER,
    DURATION,
    MASS,
    NOISE,
    PERIOD,
    PICKED_UP,
    RADIUS,
    TOOL,
    WAYPOINTS,
    Scenario,
)
from helicoid.html_page import write_page
from helicoid.mpc.loop.comparison import ADAPTIVE, FIXED, INFORMED
from helicoid.view.player import Marker, motion_html

COLORS = {FIXED: "var(--fixed)", INFORMED: "var(--told)", ADAPTIVE: "var(--adaptive)"}
_EVENT = (PICKED_UP, "picks up the load")
_TIME = Axis(0.0, DURATION, "t (s)")
_STEEL, _TARGET = (0.36, 0.40, 0.46, 1.0), (0.78, 0.20, 0.29, 1.0)


def write_report(scenario: Scenario, results: Results, folder: Path) -> Path:
    """`report.html` in a folder; returns its path."""
    return write_page(folder / "report.html", page(scenario, results))


def page(scenario: Scenario, results: Results) -> str:
    """The whole page."""
    charts = tracking(results), payload(results), torques(scenario, results), step_times(results)
    words = f"{_table(results)}\n{_words(results)}"
    title = "A robot that learns what it carries"
    return document(title, _lead(), _figures(results), _motion(scenario, results), charts, words)


def _lead() -> str:
    return (
        f"A Panda follows a path by model predictive control at {1 / PERIOD / 1000:g} kHz. After "
        f"{PICKED_UP:g} s it picks up a {MASS:g} kg ball of steel that nobody told it about. From noisy "
        "joint sensors alone it finds out what it carries, hands that to its controller, and goes on."
    )


def _figures(results: Results) -> list[tuple[str, str]]:
    fixed, informed, adaptive = (results.error_after(run) for run in results.comparison.runs)
    mass, doubt = results.mass
    step = float(np.median(results.comparison.adaptive.seconds))
    return [
        (f"{results.identified_after:.2f} s", f"until the mass is known to 2 %, and stays so: {MASS:g} kg"),
        (f"{mass:.3f} kg", f"estimated in the end, ± {doubt:.3f} (two standard deviations)"),
        (f"{1e3 * adaptive:.1f} mm", f"tracking error with the load; {1e3 * fixed:.0f} mm had it not "
         f"learned, {1e3 * informed:.1f} had it been told"),
        (f"{1e3 * step:.2f} ms", f"for a step of control and learning; there is {1e3 * PERIOD:g} ms"),
    ]  # fmt: skip


def _motion(scenario: Scenario, results: Results) -> str:
    runs = results.comparison
    x, y, z = WAYPOINTS[1, 1:]
    below = (float(x), float(y), float(z - CENTER[2]))
    markers = [Marker(below, RADIUS, _STEEL, end=PICKED_UP), Marker(CENTER, RADIUS, _STEEL, TOOL, PICKED_UP)]
    markers += [
        Marker(tuple(point), 0.008, _TARGET) for point in np.unique(WAYPOINTS[:, 1:], axis=0).tolist()
    ]
    return motion_html(
        scenario.robot,
        runs.adaptive.trajectory,
        label=ADAPTIVE,
        ghosts={FIXED: runs.fixed.trajectory},
        trace=TOOL,
        markers=markers,
    )


def tracking(results: Results) -> tuple[Chart, str]:
    """Distance of the tool from its path, of all three."""
    runs = results.comparison
    lines = [
        Curve(
            run.t, 1e3 * run.error, COLORS[run.label], run.label, dash="6 4" if run is runs.informed else ""
        )
        for run in (runs.fixed, runs.adaptive, runs.informed)
    ]
    top = 1.1e3 * max(float(run.error.max()) for run in runs.runs)
    note = (
        "All meet the same noise. Once it has learned, the adaptive controller tracks like one that was told."
    )
    return Chart("Tracking error of the tool", _TIME, Axis(0.0, top, "mm"), lines, event=_EVENT), note


def payload(results: Results) -> tuple[Chart, str]:
    """The estimated mass with its confidence, what the controller used, and the truth."""
    run = results.comparison.adaptive
    t, mean, doubt = run.watched, run.estimate[:, 0], 2 * run.deviation[:, 0]
    parts: list[Curve | Band] = [
        Band(t, mean - doubt, mean + doubt, "var(--adaptive)"),
        Curve(run.t, run.true_theta[:, 0], "var(--event)", "true", 1.4, "6 4"),
        Curve(run.t, run.theta[:, 0], "var(--told)", "used by the controller", 1.4),
        Curve(t, mean, "var(--adaptive)", "estimated, ± 2σ"),
    ]
    near = t > PICKED_UP
    closer: list[Curve | Band] = [
        Band(t[near], (mean - doubt)[near], (mean + doubt)[near], "var(--adaptive)"),
        Curve([PICKED_UP, DURATION], [MASS, MASS], "var(--event)", width=2.0, dash="8 6"),
        Curve(t[near], mean[near], "var(--adaptive)"),
    ]
    near_truth = Axis(0.96 * MASS, 1.04 * MASS)
    inset = Chart("the same, closer", Axis(PICKED_UP, DURATION), near_truth, closer)
    note = "A change is noticed within milliseconds; the estimate is handed over once it is trustworthy."
    return Chart("Payload", _TIME, Axis(-0.3, 1.35 * MASS, "kg"), parts, (), _EVENT, inset), note


def torques(scenario: Scenario, results: Results) -> tuple[Chart, str]:
    """What the motors give, as parts of what they can."""
    run = results.comparison.adaptive
    effort = scenario.robot.limits.effort
    share = 100 * run.trajectory.tau[:-1] / effort
    lines = [
        Curve(run.t, share[:, k], f"var(--j{k + 1})", f"joint {k + 1}", 1.3) for k in range(scenario.robot.nv)
    ]
    levels = Level(100.0, "limit"), Level(-100.0, "limit")
    limits = ", ".join(f"{x:g}" for x in effort)
    note = f"Joints 1 to 7 can give {limits} N·m; the controller plans within these limits."
    return Chart("Torques", _TIME, Axis(-118.0, 118.0, "% of the limit"), lines, levels, _EVENT), note


def step_times(results: Results) -> tuple[Chart, str]:
    """How long steps took: the middle one and the slowest but for one in a hundred, in windows."""
    run = results.comparison.adaptive
    n = max(1, round(0.1 / PERIOD))
    t, total = _windows(run.t, n), 1e3 * _windows(run.seconds, n)
    learning = 1e3 * _windows(run.learning_seconds, n)
    middle = t.mean(axis=1)
    parts: list[Curve | Band] = [
        Curve(middle, np.percentile(total, 95, axis=1), "var(--fixed)", "slowest of twenty", 1.3),
        Curve(middle, np.median(total, axis=1), "var(--adaptive)", "median"),
        Curve(middle, learning.mean(axis=1).clip(1e-6), "var(--told)", "of this, learning (mean)", 1.3),
    ]
    levels = (Level(1e3 * PERIOD, "one period"),)
    more = 100 * results.comparison.overhead()
    note = f"Over windows of 0.1 s. Learning and handing over take {more:.0f} % on top of control."
    return Chart("Time for a step", _TIME, Axis(0.01, 20.0, "ms", log=True), parts, levels, _EVENT), note


def _windows(values: Array, n: int) -> Array:
    return values[: len(values) // n * n].reshape(-1, n)


def _table(results: Results) -> str:
    head = "".join(f"<th>{escape(name.replace(', ', ' '))}</th>" for name in results.columns)
    rows = "".join(
        f'<tr><td style="--mark:{COLORS[label]}">{escape(label)}</td>'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
        for label, cells in results.rows
    )
    return f'<section class="table"><table><tr><th>controller</th>{head}</tr>{rows}</table></section>'


def _words(results: Results) -> str:
    noise = f"{1e3 * NOISE['q']:g} mrad, {1e3 * NOISE['v']:g} mrad/s and {NOISE['tau']:g} N·m"
    told = " ".join(results.sentences)
    how = (
        "Tracking errors: root mean squares of the distance of the tool from its path. Sensors have noise of "
        f"{noise} (standard deviations of joint positions, velocities and torques); accelerations are not "
        "measured. This page was written by <code>helicoid demo</code>."
    )
    return f'<div class="words"><p>{escape(told)}</p><p>{how}</p></div>'
