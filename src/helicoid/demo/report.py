"""Report of the adaptive MPC demonstration: figures, the motion in 3-D and charts in one HTML file."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

from helicoid._typing import Array
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
from helicoid.mpc.loop.comparison import ADAPTIVE, FIXED, INFORMED
from helicoid.pages.charts import Axis, Band, Chart, Curve, Level
from helicoid.pages.html_page import write_page
from helicoid.view.player import Marker, motion_html

COLORS = {FIXED: "var(--fixed)", INFORMED: "var(--true-model)", ADAPTIVE: "var(--adaptive)"}
_EVENT = (PICKED_UP, "picks up the load")
_TIME = Axis(0.0, DURATION, "t (s)")
_STEEL, _TARGET = (0.36, 0.40, 0.46, 1.0), (0.78, 0.20, 0.29, 1.0)


def write_report(scenario: Scenario, results: Results, folder: Path) -> Path:
    """Write `report.html` into a folder and return its path."""
    return write_page(folder / "report.html", page(scenario, results))


def page(scenario: Scenario, results: Results) -> str:
    """HTML page of the report."""
    charts = tracking(results), payload(results), torques(scenario, results), step_times(results)
    text = f"{_table(results)}\n{_text(results)}"
    title = "Adaptive MPC with an unknown payload"
    return document(title, _lead(), _figures(results), _motion(scenario, results), charts, text)


def _lead() -> str:
    return (
        f"A Panda follows a path by model predictive control at {1 / PERIOD / 1000:g} kHz. At "
        f"{PICKED_UP:g} s it picks up a {MASS:g} kg steel ball that its model does not contain. An online "
        "identifier estimates the payload from noisy joint sensors alone and updates the controller's model."
    )


def _figures(results: Results) -> list[tuple[str, str]]:
    fixed, informed, adaptive = (results.error_after(run) for run in results.comparison.runs)
    mass, two_sigma = results.mass
    step = float(np.median(results.comparison.adaptive.seconds))
    return [
        (f"{results.identified_after:.2f} s", f"until the estimated mass stays within 2 % of {MASS:g} kg"),
        (f"{mass:.3f} kg", f"estimated at the end, ± {two_sigma:.3f} (two standard deviations)"),
        (f"{1e3 * adaptive:.1f} mm", f"rms tracking error with the payload; {1e3 * fixed:.0f} mm "
         f"with the fixed model, {1e3 * informed:.1f} with the true model"),
        (f"{1e3 * step:.2f} ms", f"median step, identification included; period {1e3 * PERIOD:g} ms"),
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
    """Tracking errors of the three controllers."""
    runs = results.comparison
    lines = [
        Curve(
            run.t, 1e3 * run.error, COLORS[run.label], run.label, dash="6 4" if run is runs.informed else ""
        )
        for run in (runs.fixed, runs.adaptive, runs.informed)
    ]
    top = 1.1e3 * max(float(run.error.max()) for run in runs.runs)
    note = "All runs have the same noise. After convergence the adaptive controller matches the true model."
    return Chart("Tracking error of the tool", _TIME, Axis(0.0, top, "mm"), lines, event=_EVENT), note


def payload(results: Results) -> tuple[Chart, str]:
    """Estimated mass with its confidence band, the controller's value and the true one."""
    run = results.comparison.adaptive
    t, mean, two_sigma = run.watched, run.estimate[:, 0], 2 * run.deviation[:, 0]
    parts: list[Curve | Band] = [
        Band(t, mean - two_sigma, mean + two_sigma, "var(--adaptive)"),
        Curve(run.t, run.true_theta[:, 0], "var(--event)", "true", 1.4, "6 4"),
        Curve(run.t, run.theta[:, 0], "var(--true-model)", "used by the controller", 1.4),
        Curve(t, mean, "var(--adaptive)", "estimated, ± 2σ"),
    ]
    near = t > PICKED_UP
    zoomed: list[Curve | Band] = [
        Band(t[near], (mean - two_sigma)[near], (mean + two_sigma)[near], "var(--adaptive)"),
        Curve([PICKED_UP, DURATION], [MASS, MASS], "var(--event)", width=2.0, dash="8 6"),
        Curve(t[near], mean[near], "var(--adaptive)"),
    ]
    near_truth = Axis(0.96 * MASS, 1.04 * MASS)
    inset = Chart("zoomed in", Axis(PICKED_UP, DURATION), near_truth, zoomed)
    note = "A change is detected within milliseconds; the controller uses the estimate once it is reliable."
    return Chart("Payload", _TIME, Axis(-0.3, 1.35 * MASS, "kg"), parts, (), _EVENT, inset), note


def torques(scenario: Scenario, results: Results) -> tuple[Chart, str]:
    """Motor torques relative to their limits."""
    run = results.comparison.adaptive
    effort = scenario.robot.limits.effort
    share = 100 * run.trajectory.tau[:-1] / effort
    lines = [
        Curve(run.t, share[:, k], f"var(--j{k + 1})", f"joint {k + 1}", 1.3) for k in range(scenario.robot.nv)
    ]
    levels = Level(100.0, "limit"), Level(-100.0, "limit")
    limits = ", ".join(f"{x:g}" for x in effort)
    note = f"Torque limits of joints 1 to 7: {limits} N·m; the controller plans within them."
    return Chart("Torques", _TIME, Axis(-118.0, 118.0, "% of the limit"), lines, levels, _EVENT), note


def step_times(results: Results) -> tuple[Chart, str]:
    """Computation time of a step: median and 95th percentile over windows."""
    run = results.comparison.adaptive
    n = max(1, round(0.1 / PERIOD))
    t, total = _windows(run.t, n), 1e3 * _windows(run.seconds, n)
    learning = 1e3 * _windows(run.learning_seconds, n)
    middle = t.mean(axis=1)
    parts: list[Curve | Band] = [
        Curve(middle, np.percentile(total, 95, axis=1), "var(--fixed)", "95th percentile", 1.3),
        Curve(middle, np.median(total, axis=1), "var(--adaptive)", "median"),
        Curve(middle, learning.mean(axis=1).clip(1e-6), "var(--true-model)", "identification (mean)", 1.3),
    ]
    levels = (Level(1e3 * PERIOD, "one period"),)
    more = 100 * results.comparison.overhead()
    note = (
        f"Over windows of 0.1 s. Identification and model updates add {more:.0f} % to the time for control."
    )
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


def _text(results: Results) -> str:
    noise = f"{1e3 * NOISE['q']:g} mrad, {1e3 * NOISE['v']:g} mrad/s and {NOISE['tau']:g} N·m"
    summary = " ".join(results.sentences)
    how = (
        "Tracking errors: rms distance of the tool from its path. Sensors have noise of "
        f"{noise} (standard deviations of joint positions, velocities and torques); accelerations are not "
        "measured. This page was written by <code>helicoid demo</code>."
    )
    return f'<div class="words"><p>{escape(summary)}</p><p>{how}</p></div>'
