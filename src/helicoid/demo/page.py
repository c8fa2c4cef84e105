"""The frame of a demonstration's page: figures, a stage for the motion, charts, words; all in one file."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib import resources

from helicoid.charts import Chart


def document(
    title: str,
    lead: str,
    figures: Iterable[tuple[str, str]],
    motion: str,
    charts: Iterable[tuple[Chart, str]],
    words: str,
) -> str:
    """The whole page; `figures` are numbers and what they mean, `motion` and `words` are HTML."""
    files = resources.files("helicoid.demo")
    style, program = ((files / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    told = "".join(f"<div><b>{number}</b><span>{meaning}</span></div>" for number, meaning in figures)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>Helicoid: {escape(title[0].lower() + title[1:])}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<div class="brand">Helicoid</div>\n<h1>{escape(title)}</h1>\n'
        f'<p class="lead">{lead}</p>\n<div class="figures">{told}</div>\n'
        f'<div class="stage">\n{motion}\n</div>\n'
        f'<div class="charts">\n{"".join(_figure(*chart) for chart in charts)}\n</div>\n'
        f"{words}\n</main>\n<script>\n{program}</script>\n</body>\n</html>\n"
    )


def _figure(chart: Chart, note: str) -> str:
    """A chart with its title, legend and a sentence below."""
    return (
        f'<figure class="chart"><figcaption><b>{escape(chart.title)}</b></figcaption>'
        f'<div class="keys">{chart.legend}</div>{chart.svg()}<p>{escape(note)}</p></figure>'
    )
