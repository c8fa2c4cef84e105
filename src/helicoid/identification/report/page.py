"""Report of a result: one HTML page with its assessment, errors, plots and parameters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helicoid._typing import Array
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import measured
from helicoid.identification.report.assessment import Assessment
from helicoid.identification.report.score import Score
from helicoid.pages.charts import Axis, Chart, Curve
from helicoid.pages.html_page import html_document, packaged_text, write_page

if TYPE_CHECKING:
    from helicoid.identification.result import Identification

_MAX_RELATIVE_ERROR = (0.10, 0.30)  # of a joint: up to the first good, up to the second doubtful
_WIDTHS = {"measured": 2.4, "predicted": 1.2, "residual": 1.0}  # of lines, in pixels
_MAX_SIGMA = 0.3  # relative to the value


def write_report(
    result: Identification,
    path: str | os.PathLike[str],
    training: Log | Sequence[Log],
    validation: Log | None = None,
) -> None:
    """Write a self-contained HTML page about a result; see `report_page`."""
    write_page(path, report_page(result, training, validation))


def report_page(result: Identification, training: Log | Sequence[Log], validation: Log | None = None) -> str:
    """The page as text: verdict, errors, measured against predicted, residuals, parameters, notes.

    `training` is what the result was fitted to; `validation`, if given, a log that it was not. The page loads
    nothing: plots are SVG, and names from files are escaped.
    """
    logs = [training] if isinstance(training, Log) else list(training)
    assessment = Assessment(result, logs, validation)
    (style,) = packaged_text("helicoid.identification.report", "page.css")
    title = f"Identification of {result.nominal.name}"
    sections = [
        _head(assessment, title),
        _errors(assessment),
        *([_validity(result, validation)] if validation else []),
        *([_signals(result, validation, "Validation log, not fitted")] if validation else []),
        _signals(result, logs[0], "Training log"),
        _parameters(assessment),
        _identifiability(assessment),
        _notes(assessment),
    ]
    return html_document(title, f"<main>{''.join(sections)}</main>", style)


def _head(assessment: Assessment, title: str) -> str:
    checks = "".join(
        f'<div class="card check"><span class="lamp {check.light}"></span>'
        f"<div><b>{escape(check.question)}</b>{escape(check.answer)}</div></div>"
        for check in assessment.checks
    )
    names = [escape(_file(log)) for log in assessment.training]
    logs = f"fitted to {', '.join(names)}" + (
        f", validated on {escape(_file(assessment.validation))}" if assessment.validation is not None else ""
    )
    return (
        f'<h1>{escape(title)}</h1><p class="soft">{logs}; estimator: {escape(assessment.result.estimator)}, '
        f"{len(assessment.result.x)} parameters</p>"
        f'<div class="card verdict {assessment.light}"><span class="lamp {assessment.light}"></span>'
        f"<span>{escape(assessment.verdict)}</span></div>"
        f'<div class="checks">{checks}</div>'
    )


def _errors(assessment: Assessment) -> str:
    scores = [("fitted log", assessment.fitted)]
    if np.isfinite(assessment.result.held_out.overall_relative):
        scores.append(("cross-validation", assessment.result.held_out))
    if assessment.validation is not None:
        scores.append(("validation log", assessment.unseen))
    head = "<th></th>" + "".join(f'<th colspan="3">{name}</th>' for name, _ in scores)
    head2 = "<th>joint</th>" + "<th>RMSE</th><th>relative</th><th>NRMS</th>" * len(scores)
    rows = []
    for k, name in enumerate(assessment.fitted.names):
        cells = "".join(_cells(score, k) for _, score in scores)
        rows.append(f"<tr><td>{escape(name)}</td>{cells}</tr>")
    total = "".join(
        f"<td></td>{_percent_cell(score.overall_relative)}<td>{_percent(score.overall_nrms)}</td>"
        for _, score in scores
    )
    return (
        "<h2>Errors of the predicted torques</h2><div class='card'><table>"
        f"<tr>{head}</tr><tr>{head2}</tr>{''.join(rows)}"
        f"<tr class='total'><td>all</td>{total}</tr></table>"
        "<p class='soft'>RMSE in N·m (N); relative: ‖τ − τ̂‖ / ‖τ‖; NRMS: RMSE over twice the effort limit."
        "</p></div>"
    )


def _validity(result: Identification, log: Log) -> str:
    """Validity for the motion of a log; nothing for results without uncertainty."""
    if result.posterior is None or result.unexplained is None or not result.logs:
        return ""
    found = result.validity(log)
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="{"good" if ok else "bad"}">{"yes" if ok else "no"}</td>'
        f"<td>{size:.2f}</td><td>{escape(reason)}</td></tr>"
        for name, ok, size, reason in zip(
            found.names, found.ok, found.uncertainty, found.reasons, strict=True
        )
    )
    return (
        "<h2>Does the motion of the validation log lie within what was excited?</h2><div class='card'><table>"
        f"<tr><th>joint</th><th>valid</th><th>uncertainty</th><th>beyond what was recorded</th></tr>{rows}"
        "</table><p class='soft'>Uncertainty: σ of the prediction due to the parameters, relative to the "
        "held-out residual.</p></div>"
    )


def _cells(score: Score, k: int) -> str:
    return f"<td>{score.rmse[k]:.3g}</td>{_percent_cell(score.relative[k])}<td>{_percent(score.nrms[k])}</td>"


def _percent_cell(value: float) -> str:
    light = (
        "good"
        if value <= _MAX_RELATIVE_ERROR[0]
        else "doubtful"
        if value <= _MAX_RELATIVE_ERROR[1]
        else "bad"
    )
    return f'<td class="{light}">{_percent(value)}</td>'


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %" if np.isfinite(value) else "–"


def _signals(result: Identification, log: Log, title: str) -> str:
    y, predicted, t = measured(log), result.predict(log), log.t - log.t[0]
    figures = []
    for k, name in enumerate(result.regression.row_names):
        residual = y[:, k] - predicted[:, k]
        over_time = [_line(t, y[:, k], "measured"), _line(t, predicted[:, k], "predicted")]
        both = {"measured": y[:, k], "residual": residual}
        spectra = [_line(*spectrum(values, log.rate), style) for style, values in both.items()]
        drawn = (
            _drawn(over_time, "t (s)", "torque (N·m)", 190),
            _drawn([_line(t, residual, "residual")], "t (s)", "residual (N·m)", 130),
            _drawn(spectra, "frequency (Hz)", "density (N·m/√Hz)", 170, log=True),
        )
        caption = f"<figcaption>{escape(name)}</figcaption>"
        figures.append(f'<figure class="card">{caption}{"".join(drawn)}</figure>')
    keys = "".join(
        f'<span class="key {style}"></span>{text}'
        for style, text in (
            ("measured", "measured"),
            ("predicted", "predicted"),
            ("residual", "residual (measured − predicted)"),
        )
    )
    return (
        f"<h2>{title}: {escape(_file(log))}</h2><p class='soft'>{keys}</p>"
        f"<div class='plots'>{''.join(figures)}</div>"
    )


def _line(x: Array, y: Array, style: str) -> Curve:
    return Curve(x, y, f"var(--{style})", width=_WIDTHS[style])


def _drawn(lines: Sequence[Curve], x: str, y: str, height: float, log: bool = False) -> str:
    across = Axis.around([np.asarray(line.x) for line in lines], x, log=log)
    up = Axis.around([np.asarray(line.y) for line in lines], y, margin=0.05, log=log)
    return Chart(y, across, up, lines, width=640.0, height=height).svg()


def spectrum(signal: Array, rate: float) -> tuple[Array, Array]:
    """Frequencies (Hz) and amplitude density (unit/√Hz) of a signal, by Welch's averages."""
    from scipy.signal import welch

    frequency, power = welch(signal - signal.mean(), rate, nperseg=min(len(signal), 512))
    return frequency[1:], np.sqrt(power[1:])


def _parameters(assessment: Assessment) -> str:
    parameters = assessment.result.parameters
    status = assessment.identifiability.status
    words = {"alone": "alone", "combination": "in combination", "none": "not at all"}
    owners: dict[str, list[str]] = {}
    for name, value, sigma, stated in zip(
        parameters.names, parameters.values, parameters.sigma, parameters.nominal, strict=True
    ):
        change = f"{100 * (value - stated) / abs(stated):+.3g} %" if abs(stated) > 1e-12 else "new"
        spread = f"{sigma:.2g}" if np.isfinite(sigma) else "∞"
        light = "good" if sigma < _MAX_SIGMA * abs(value) else ""
        owner, _, own = name.rpartition(".")
        owners.setdefault(owner, []).append(
            f"<tr><td>{escape(own)}</td><td>{stated:.5g}</td><td>{value:.5g}</td>"
            f'<td class="{light}">{spread}</td><td>{change}</td><td>{words[status[name]]}</td></tr>'
        )
    head = (
        "<tr><th>parameter</th><th>described</th><th>identified</th><th>σ</th><th>change</th>"
        "<th>identifiable</th></tr>"
    )
    tables = "".join(
        f"<details><summary>{escape(owner)} ({len(rows)})</summary>"
        f"<table>{head}{''.join(rows)}</table></details>"
        for owner, rows in owners.items()
    )
    return (
        "<h2>Parameters</h2><div class='card'><p class='soft'>SI units; inertia about the frame of each "
        "body, h = m·centre of mass. σ is green where it is less than 30 % of the value; values whose σ is "
        f"large are mostly those of the description.</p>{_masses(assessment.result)}{tables}</div>"
    )


def _masses(result: Identification) -> str:
    own = result.regression.parameters.of(result.x, "inertia").reshape(-1, 10)
    if not len(own):
        return ""
    rows = []
    for body, pi in zip(result.nominal.model.bodies, own, strict=True):
        com = pi[1:4] / pi[0] if pi[0] else np.zeros(3)
        rows.append(
            f"<tr><td>{escape(body.name)}</td><td>{body.inertia.mass:.4g}</td><td>{pi[0]:.4g}</td>"
            f"<td>{_vector(body.inertia.com)}</td><td>{_vector(com)}</td></tr>"
        )
    head = (
        "<tr><th>body</th><th>mass described (kg)</th><th>identified</th>"
        "<th>centre of mass described (m)</th><th>identified</th></tr>"
    )
    return f"<table>{head}{''.join(rows)}</table>"


def _vector(values: Array) -> str:
    return ", ".join(f"{x:.3f}" for x in values)


def _identifiability(assessment: Assessment) -> str:
    found = assessment.identifiability
    kinds = list(found.status.values())
    items = "".join(f"<li><code>{escape(words)}</code></li>" for words in found.combinations)
    return (
        "<h2>What can be identified</h2><div class='card'>"
        f"<p>Torques of this robot identify {found.rank} base parameters of {len(found.names)} unknowns: "
        f"{kinds.count('alone')} unknowns alone, {kinds.count('combination')} only in combinations, "
        f"{kinds.count('none')} not at all. On this log, the condition number of the bodies' regressor "
        f"(whitened by each body) is {assessment.condition:.3g}.</p>"
        f"<details><summary>Base parameters</summary><ol>{items}</ol></details></div>"
    )


def _notes(assessment: Assessment) -> str:
    warnings = set(assessment.warnings)
    ordered = sorted(assessment.result.notes, key=lambda note: note not in warnings)
    items = "".join(
        f"<li{' class=warning' if note in warnings else ''}>{escape(note)}</li>" for note in ordered
    )
    return f"<h2>Notes</h2><div class='card'><ul>{items or '<li>None.</li>'}</ul></div>"


def _file(log: Log) -> str:
    return Path(log.source).name or log.source
