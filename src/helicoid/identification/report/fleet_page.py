"""Report of a fleet: units that differ significantly, and by how much."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from helicoid.pages.html_page import html_document, packaged_text, write_page
from helicoid.pages.tables import table

if TYPE_CHECKING:
    from helicoid.identification.fleet import Difference, Fleet


def write_fleet_page(fleet: Fleet, path: str | os.PathLike[str]) -> None:
    """Write a self-contained HTML page about a fleet."""
    write_page(path, fleet_page(fleet))


def fleet_page(fleet: Fleet) -> str:
    """The page as text; it loads nothing, and names are escaped."""
    (style,) = packaged_text("helicoid.identification.report", "page.css")
    title = f"A fleet of {fleet.common.nominal.name}"
    out = fleet.standing_out
    names = ", ".join(map(escape, out)) or "no unit"
    verdict = f"<p><b>{len(out)} of {len(fleet.units)} units stand out:</b> {names}</p>"
    notes = "".join(f"<li>{escape(note)}</li>" for note in fleet.common.notes)
    sections = [
        f"<h1>{escape(title)}</h1>{verdict}",
        f"<section><h2>What differs</h2>{_found(fleet)}</section>",
        f"<section><h2>All units</h2>{_map(fleet)}</section>",
        f"<section><h2>Prediction</h2>{_errors(fleet)}</section>",
        f"<section><h2>Notes</h2><ul>{notes}</ul></section>",
    ]
    style += "td,th{padding:.15em .5em;text-align:right}.map{overflow-x:auto;font-size:.8em}"
    return html_document(title, f"<main>{''.join(sections)}</main>", style)


def _found(fleet: Fleet) -> str:
    rows = []
    for unit, differences in fleet.standing_out.items():
        for one in differences:
            low, high = fleet.interval(one)
            rows.append([unit, one.name, f"{one.value:+.4g}", f"{low:.4g} to {high:.4g}", f"{one.z:+.1f}"])
    chance = "of a hundred fleets of equal robots one has any such"
    title = f"Beyond {fleet.limit:.1f} standard deviations: {chance}. Compared with {', '.join(fleet.usual)}."
    return table(title, ["unit", "parameter", "from the usual", "interval", "in σ"], rows)


def _map(fleet: Fleet) -> str:
    """Units by parameters, coloured by standard deviations."""
    names = list(dict.fromkeys(one.name for one in fleet.differences))
    by = {(one.unit, one.name): one for one in fleet.differences}
    head = "".join(f"<th>{escape(unit)}</th>" for unit in fleet.units)
    lines = [
        f"<tr><th>{escape(name)}</th>"
        + "".join(_cell(by[unit, name], fleet.limit) for unit in fleet.units)
        + "</tr>"
        for name in names
    ]
    return f'<div class="map"><table><tr><th></th>{head}</tr>{"".join(lines)}</table></div>'


def _cell(one: Difference, limit: float) -> str:
    if not np.isfinite(one.sigma):
        return "<td>–</td>"
    opacity = min(1.0, abs(one.z) / (2 * limit)) if abs(one.z) > limit else 0.1 * abs(one.z) / limit
    color = f"rgba({'200,60,40' if one.z > 0 else '40,90,200'},{opacity:.2f})"
    return f'<td style="background:{color}" title="{one.value:+.4g} ± {one.sigma:.2g}">{one.z:+.1f}</td>'


def _errors(fleet: Fleet) -> str:
    rows = [
        [unit, _percent(result.training.overall_relative), _percent(result.held_out.overall_relative)]
        for unit, result in {**fleet.units, "all together": fleet.common}.items()
    ]
    return table("Relative error of the torques", ["unit", "fitted", "held out"], rows)


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %" if np.isfinite(value) else "–"
