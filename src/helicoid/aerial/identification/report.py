"""Report of an identification from flights: an HTML page with verdict, held-out errors, plots, parameters."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from helicoid.aerial.identification.flight_log import FlightLog
from helicoid.pages.charts import Axis, Chart, Curve
from helicoid.pages.html_page import html_document, packaged_text, write_page

if TYPE_CHECKING:
    from helicoid.aerial.identification.result import FlightIdentification, HeldOut

_UNITS = ("m/s²", "rad/s²")
_LINES = {"measured": 2.4, "predicted": 1.2}  # widths, in pixels
_MAX_SHOWN = 30.0  # s of a flight in a plot


def write_report(
    result: FlightIdentification, path: str | os.PathLike[str], flight: FlightLog | None = None
) -> None:
    """Write the page; `flight`, if given, is a log that was not fitted, whose channels are plotted."""
    (style,) = packaged_text("helicoid.identification.report", "page.css")
    title = f"Identification of {result.vehicle.robot.name} from flights"
    held = list(result.held_out) + ([result.score(flight)] if flight is not None else [])
    sections = [
        _head(result, title),
        _errors(held, flight is not None),
        *([_plots(result, flight)] if flight is not None else []),
        _parameters(result),
    ]
    write_page(path, html_document(title, f"<main>{''.join(sections)}</main>", style))


def _head(result: FlightIdentification, title: str) -> str:
    light = "good" if result.success else "bad"
    verdict = (
        "The vehicle predicts flights that were left out better than a constant."
        if result.success
        else result.message
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    delays = ", ".join(f"{escape(name)} {1e3 * x:.1f} ms" for name, x in result.pose_delays.items())
    return (
        f'<h1>{escape(title)}</h1><p class="soft">{len(result.names)} parameters; poses later than the '
        f"gyroscope: {delays}</p>"
        f'<div class="card verdict {light}"><span class="lamp {light}"></span>'
        f"<span>{escape(verdict)}</span></div>" + (f"<ul>{notes}</ul>" if notes else "")
    )


def _errors(held: list[HeldOut], scored: bool) -> str:
    rows = []
    for k, one in enumerate(held):
        kind = "given flight" if scored and k == len(held) - 1 else "left out of a fit"
        cells = ""
        for first in (0, 3):
            error, constant = one.total(first)
            cells += f"<td>{error:.3g}</td><td>{constant:.3g}</td><td>{error / max(constant, 1e-12):.0%}</td>"
        rows.append(f"<tr><td>{escape(one.flight)}</td><td>{kind}</td>{cells}</tr>")
    return (
        "<h2>Errors on flights that were not fitted</h2><div class='card'><table>"
        "<tr><th></th><th></th><th colspan='3'>specific force (m/s²)</th>"
        "<th colspan='3'>angular acceleration (rad/s²)</th></tr>"
        f"<tr><th>flight</th><th></th>{'<th>RMSE</th><th>constant</th><th>ratio</th>' * 2}</tr>"
        f"{''.join(rows)}</table></div>"
    )


def _plots(result: FlightIdentification, flight: FlightLog) -> str:
    from helicoid.aerial.identification.result import CHANNELS

    longest = max(result.predict(flight), key=lambda one: len(one.t))
    t = longest.t - longest.t[0]
    own = t <= _MAX_SHOWN
    charts = []
    for k, name in enumerate(CHANNELS):
        pair = longest.measured[own, k], longest.predicted[own, k]
        if not np.any(pair[0]):
            continue  # not measured
        curves = [
            Curve(t[own], y, f"var(--{style})", width=width)
            for y, (style, width) in zip(pair, _LINES.items(), strict=True)
        ]
        label = ("specific " if k < 3 else "") + name.replace("angular", "angular acceleration")
        across, up = Axis(0.0, float(t[own][-1]), "time (s)"), Axis.around(list(pair), _UNITS[k // 3], 0.05)
        drawn = Chart(f"{label} ({_UNITS[k // 3]})", across, up, curves, width=640.0, height=190.0).svg()
        charts.append(f'<figure class="card"><figcaption>{label}</figcaption>{drawn}</figure>')
    keys = "".join(f'<span class="key {style}"></span>{style}' for style in _LINES)
    return (
        f"<h2>{escape(flight.source)}: measured and predicted</h2><p class='soft'>{keys}, smoothed alike</p>"
        f"<div class='plots'>{''.join(charts)}</div>"
    )


def _parameters(result: FlightIdentification) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{x:.4g}</td><td>{s:.2g}</td><td>{d:.4g}</td></tr>"
        for name, x, s, d in zip(result.names, result.values, result.sigma, result.described, strict=True)
    )
    return (
        "<h2>Parameters</h2><div class='card'><table><tr><th>parameter (SI units)</th><th>identified</th>"
        f"<th>standard deviation</th><th>described</th></tr>{rows}</table></div>"
    )
