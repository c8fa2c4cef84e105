"""Page of a demonstration: figures, the motion in 3-D, charts and text in one file."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from helicoid.pages.charts import Chart
from helicoid.pages.html_page import html_document, packaged_text


def document(
    title: str,
    lead: str,
    figures: Iterable[tuple[str, str]],
    motion: str,
    charts: Iterable[tuple[Chart, str]],
    text: str,
) -> str:
    """HTML page of a demonstration; `figures` are numbers with captions, `motion` and `text` are HTML."""
    style, script = packaged_text("helicoid.demo", "page.css", "page.js")
    cards = "".join(f"<div><b>{number}</b><span>{caption}</span></div>" for number, caption in figures)
    body = (
        f'<main>\n<div class="brand">Helicoid</div>\n<h1>{escape(title)}</h1>\n'
        f'<p class="lead">{lead}</p>\n<div class="figures">{cards}</div>\n'
        f'<div class="stage">\n{motion}\n</div>\n'
        f'<div class="charts">\n{"".join(_figure(*chart) for chart in charts)}\n</div>\n'
        f"{text}\n</main>"
    )
    return html_document(f"Helicoid: {title[0].lower() + title[1:]}", body, style, script)


def _figure(chart: Chart, note: str) -> str:
    """Chart with its title, legend and a note."""
    return (
        f'<figure class="chart"><figcaption><b>{escape(chart.title)}</b></figcaption>'
        f'<div class="keys">{chart.legend}</div>{chart.svg()}<p>{escape(note)}</p></figure>'
    )
