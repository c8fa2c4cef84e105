"""Report of a commissioning: one HTML page with what a person must know before the robot moves faster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning.delay import MIN_PEAK
from helicoid.commissioning.margins import (
    MIN_GAIN_MARGIN,
    MIN_PHASE_MARGIN,
    integral_gain,
)
from helicoid.pages.charts import Axis, Band, Chart, Curve, Level
from helicoid.pages.html_page import html_document, packaged_text

if TYPE_CHECKING:
    from helicoid.commissioning.result import Commissioning
    from helicoid.commissioning.validation import Validation

_GOOD_COVERAGE = 0.9
_DRAWN_SAMPLES = 600
_FRICTION = {"friction": "Coulomb", "damping": "viscous", "armature": "rotor inertia", "offset": "offset"}
_STYLE = """ol li, ul li { margin: 6px 0; } pre { overflow-x: auto; margin: 0; }
div.card + div.card { margin-top: 12px; }
.plots .card { margin-top: 0; } td.name, th.name { text-align: left; } td.reason { text-align: left; }
.band { opacity: 0.25; }
"""


def report_page(result: Commissioning) -> str:
    """The page as text, with whatever was completed; names from files are escaped."""
    (style,) = packaged_text("helicoid.identification.report", "page.css")
    sections = [
        _verdict(result),
        _before_faster(result),
        _steps(result),
        _joints(result),
        _ranges(result),
        _signals(result),
        _loop(result),
        _parameters(result),
        _use(result),
        _notes(result),
    ]
    title = f"Commissioning of {result.nominal.name}"
    return html_document(title, f"<main>{''.join(sections)}</main>", style + _STYLE)


def _verdict(result: Commissioning) -> str:
    light = "good" if result.success else "bad"
    word = "Ready up to the validated velocities" if result.success else f"Stopped: {result.status}"
    if result.success and result.validation is not None and result.validation.coverage.min() < _GOOD_COVERAGE:
        light, word = "doubtful", "Ready with a doubt: prediction intervals are too narrow"
    if result.simulated:
        word = f"Rehearsal in simulation. {word}"
    return (
        f"<h1>Commissioning of {escape(result.nominal.name)}</h1>{_settings(result)}"
        f'<div class="card verdict {light}"><span class="lamp {light}"></span>'
        f"<span>{escape(word)}. {escape(_sentence(result.message))}</span></div>"
        + ("" if result.success else f'<p class="card"><b>Remedy.</b> {escape(result.remedy)}</p>')
    )


def _settings(result: Commissioning) -> str:
    """The conditions of the motions."""
    given = result.settings
    text = (
        f"Sampled every {1e3 * result.period:g} ms; motions of up to {given['duration']:g} s within "
        f"{100 * given['speed']:.0f} % of the velocity limits; seed {given['seed']}"
    )
    return f"<p class='soft'>{escape(text)}</p>"


def _before_faster(result: Commissioning) -> str:
    """Facts in sentences, the most important first; where it stopped, the doubts until then."""
    valid, margins, delay = result.validation, result.margins, result.delay
    if valid is None or margins is None or delay is None or result.identification is None:
        return _listed("Doubts until then", [_sentence(note) for note in result.notes])
    limits = result.nominal.limits
    share = valid.speeds / limits.velocity
    slowest, worst = int(np.argmin(share)), int(np.argmax(valid.relative))
    used = np.abs(valid.measured).max(axis=0) / limits.effort
    facts = [
        f"The model was validated up to {100 * share[slowest]:.0f} % ({valid.names[slowest]}) to "
        f"{100 * share.max():.0f} % of the velocity limits, in the range of positions below. Faster motions, "
        "other positions, other loads and other temperatures were not.",
        f"The error of the predicted torque is {100 * valid.relative[worst]:.1f} % RMS at worst "
        f"({valid.names[worst]}; by the description {100 * valid.described[worst]:.0f} %).",
        *_narrow(valid),
        f"The validation took up to {100 * used.max():.0f} % of the effort limit "
        f"({valid.names[int(np.argmax(used))]}).",
        f"Delay of the loop: {delay.text}. With {1e3 * margins.delay:.1f} ms more, or with gains "
        f"{margins.gain:.1f} times as large, the joint loops may be unstable.",
        "Contacts are detected by joint torques above those in the table below; a lighter touch is not. The "
        "thresholds are from noise and errors of the model: no contact was made to try them.",
        "Elastic joints and structural resonances are not modelled: listen for them, and lower the frequency "
        "of the loops if the arm hums.",
    ]
    if result.simulated:
        facts.insert(0, "The plant was a simulation: nothing here holds for a real robot.")
    facts += [_sentence(note) for note in result.notes]
    return _listed("Before the robot moves faster", facts)


def _listed(title: str, texts: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<h2>{escape(title)}</h2><div class="card"><ul>{items}</ul></div>' if texts else ""


def _narrow(valid: Validation) -> list[str]:
    """A sentence on joints whose prediction intervals held too few samples."""
    few = [
        f"{name} ({100 * share:.0f} %)"
        for name, share in zip(valid.names, valid.coverage, strict=True)
        if share < _GOOD_COVERAGE
    ]
    text = (
        f"Too few samples were within their 95 % interval: {', '.join(few)}. Errors are larger than stated."
    )
    return [text] if few else []


def _steps(result: Commissioning) -> str:
    rows = [
        f"<li><b>{escape(one.name.capitalize())}.</b> {escape(_sentence(one.outcome))}</li>"
        for one in result.steps
    ]
    if not result.success:
        rows.append(f"<li><b>Stopped here.</b> {escape(_sentence(result.message))}</li>")
    files = ["identified.urdf", "identification.html", *(f"{name}.npz" for name in result.recordings)]
    links = ", ".join(
        f'<a href="{escape(name)}">{escape(name)}</a>' for name in files if (result.out / name).exists()
    )
    return (
        f"<h2>Steps</h2><div class='card'><ol>{''.join(rows)}</ol>"
        + (f"<p class='soft'>Files beside this page: {links}</p>" if links else "")
        + "</div>"
    )


def _joints(result: Commissioning) -> str:
    valid = result.validation
    if valid is None:
        return ""
    rows: list[list[str | tuple[str, str]]] = []
    for k, name in enumerate(valid.names):
        lamp = "good" if valid.coverage[k] >= _GOOD_COVERAGE else "doubtful"
        rows.append(
            [
                escape(name),
                f"{100 * valid.described[k]:.1f} %",
                f"{100 * valid.relative[k]:.1f} %",
                (lamp, f"{100 * valid.coverage[k]:.0f} %"),
                f"{1e3 * valid.tracking[k]:.2f}",
                f"{1e3 * valid.largest_error[k]:.2f}",
            ]
        )
    head = [
        "joint", "torque error, description", "torque error, identified", "within 95 % interval",
        "tracking error, RMS (mrad, mm)", "tracking error, largest (mrad, mm)",
    ]  # fmt: skip
    return (
        "<h2>Validation on a motion that was not fitted</h2><div class='card'>"
        + _table(head, rows)
        + "<p class='soft'>RMS of the error of the predicted torque over RMS of the measured torque, both "
        "low-passed. Tracking by computed torque, as the encoders measure it.</p></div>"
    )


def _ranges(result: Commissioning) -> str:
    """What the validation motion reached, the noise, and the thresholds of the observer."""
    valid, recording = result.validation, result.recordings.get("validation")
    if valid is None or recording is None:
        return ""
    limits, low, high = result.nominal.limits, recording.q.min(axis=0), recording.q.max(axis=0)
    rows = [
        [
            escape(name),
            f"{low[k]:.2f} to {high[k]:.2f}",
            f"{valid.speeds[k]:.2f} of {limits.velocity[k]:.2f}",
            f"{np.abs(valid.measured[:, k]).max():.3g} of {limits.effort[k]:.3g}",
            f"{valid.noise_v[k]:.2g}",
            f"{valid.noise_tau[k]:.2g}",
            f"{result.detects[k]:.3g}" if len(result.detects) else "–",
        ]
        for k, name in enumerate(valid.names)
    ]
    head = [
        "joint", "positions (rad, m)", "velocity, of its limit (rad/s, m/s)", "torque, of its limit (N·m, N)",
        "noise of velocity", "noise of torque", "contact above (N·m, N)",
    ]  # fmt: skip
    return (
        "<h2>Validated range, noise and contact thresholds</h2><div class='card'>"
        + _table(head, rows)
        + "<p class='soft'>Noise: standard deviation of single samples. Contact: the least torque from "
        "outside, on average, that the momentum observer detects.</p></div>"
    )


def _signals(result: Commissioning) -> str:
    valid = result.validation
    if valid is None:
        return ""
    figures = "".join(
        f'<figure class="card"><figcaption>{escape(name)}</figcaption>{_signal(valid, k)}</figure>'
        for k, name in enumerate(valid.names)
    )
    keys = (
        '<span class="key measured"></span>measured<span class="key predicted"></span>predicted, with its '
        "95 % prediction interval"
    )
    head = f"<h2>Torques of the validation motion</h2><p class='soft'>{keys}</p>"
    return f"{head}<div class='plots'>{figures}</div>"


def _signal(valid: Validation, k: int) -> str:
    """Block means of the measured torque, so that noise does not hide the prediction."""
    n = max(len(valid.t) // _DRAWN_SAMPLES, 1)

    def thin(x: Array) -> Array:
        return np.asarray(x[: len(x) // n * n].reshape(-1, n).mean(axis=1))

    t, measured, predicted = (thin(x) for x in (valid.t, valid.measured[:, k], valid.predicted[:, k]))
    lower, upper = thin(valid.lower[:, k]), thin(valid.upper[:, k])
    parts: list[Curve | Band] = [
        Band(t, lower, upper, "var(--predicted)"),
        Curve(t, measured, "var(--measured)", width=2.4),
        Curve(t, predicted, "var(--predicted)", width=1.2),
    ]
    across = Axis.around([t], "t (s)")
    up = Axis.around([measured, predicted, lower, upper], "torque (N·m, N)", margin=0.05)
    return Chart("torque", across, up, parts, width=640.0, height=190.0).svg()


def _loop(result: Commissioning) -> str:
    margins, delay = result.margins, result.delay
    if delay is None:
        return ""
    m = np.arange(len(delay.response), dtype=np.float64)
    chart = Chart(
        "response",
        Axis.around([m], "lag (samples)"),
        Axis.around([delay.response], "response (σ)", margin=0.1),
        [Curve(m, delay.response, "var(--predicted)")],
        [Level(MIN_PEAK, "significant")],
        width=640.0,
        height=190.0,
    )
    table = ""
    if margins is not None:
        rows = [
            ["frequency ω of the joint loops", f"{result.frequency:.1f} rad/s", ""],
            ["phase margin", f"{margins.phase:.0f}°", f"at least {MIN_PHASE_MARGIN:.0f}°"],
            ["gain margin", f"{margins.gain:.1f}", f"at least {MIN_GAIN_MARGIN:g}"],
            [
                "delay margin",
                f"{1e3 * margins.delay:.1f} ms",
                f"beyond the {1e3 * delay.seconds:.1f} ms of the loop",
            ],
            ["crossover", f"{margins.crossover:.0f} rad/s", f"sampled every {1e3 * result.period:g} ms"],
        ]
        table = (
            "<div class='card'>"
            + _table(["joint loops", "worst case", "wanted"], rows)
            + "<p class='soft'>Of the identified model with the measured delay and the zero-order hold, for "
            f"an inertia {100 * result.uncertainty:.0f} % larger or smaller than identified.</p></div>"
        )
    figure = (
        '<figure class="card"><figcaption>Response of the velocities to a random torque</figcaption>'
        f"{chart.svg()}</figure>"
    )
    return f"<h2>Delay and margins</h2><div class='plots'>{table}{figure}</div>"


def _parameters(result: Commissioning) -> str:
    found = result.identification
    if found is None:
        return ""
    own = found.parameters
    at = {name: k for k, name in enumerate(own.names)}

    def cells(name: str) -> list[str]:
        k = at.get(name)
        if k is None:
            return ["–", "–", "–"]
        spread = f"± {2 * own.sigma[k]:.2g}" if np.isfinite(own.sigma[k]) else "not identifiable"
        return [f"{own.nominal[k]:.4g}", f"{own.values[k]:.4g}", spread]

    masses = [[escape(body.name), *cells(f"{body.name}.m")] for body in result.nominal.model.bodies]
    head = ["joint"] + [text for word in _FRICTION.values() for text in (word, "")]
    joints = [
        [escape(joint), *(text for suffix in _FRICTION for text in cells(f"{joint}.{suffix}")[1:])]
        for joint in result.nominal.model.velocity_names
    ]
    return (
        "<h2>Identified parameters</h2><div class='card'>"
        + _table(["mass (kg)", "described", "identified", "95 %"], masses)
        + "</div><div class='card'>"
        + _table(head, joints)
        + "<p class='soft'>SI units, with two standard deviations. Masses of single links are rarely "
        "identifiable alone: torques depend on combinations, which identification.html lists. Links without "
        "an interval keep values near the description.</p></div>"
    )


def _use(result: Commissioning) -> str:
    if not result.success:
        return ""
    code = (
        f'robot = hc.load("{result.out / "identified.urdf"}")\n'
        f"law = hc.control.ComputedTorque(robot, frequency={result.frequency:.1f}, dt={result.period:g}, "
        f'integral={integral_gain(result.frequency):.0f}, friction="reference")\n'
        "following = law.following(motion)    # tau = following.step(q, v, t) once a period"
    )
    return f"<h2>Use</h2><div class='card'><pre><code>{escape(code)}</code></pre></div>"


def _notes(result: Commissioning) -> str:
    if result.identification is None:
        return ""
    items = "".join(
        f"<li{' class=warning' if note.startswith('Warning') else ''}>{escape(note)}</li>"
        for note in result.identification.notes
    )
    return f"<h2>Notes of the identification</h2><div class='card'><ul>{items}</ul></div>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str | tuple[str, str]]]) -> str:
    """A table; a cell may be a light and its text."""
    cells = "".join(f"<th>{escape(text)}</th>" for text in head)
    lines = []
    for row in rows:
        parts = [f"<td>{x}</td>" if isinstance(x, str) else f'<td class="{x[0]}">{x[1]}</td>' for x in row]
        lines.append(f"<tr>{''.join(parts)}</tr>")
    return f"<table><tr>{cells}</tr>{''.join(lines)}</table>"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""
