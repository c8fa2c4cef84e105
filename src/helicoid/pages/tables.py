"""Tables in HTML, with which notebooks show robots, functions, logs, motions, problems and plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]], more: Iterable[str] = ()) -> str:
    """A title, a table with a head, and a list below it; texts may come from files and are escaped.

    >>> table("log", ["kind"], [["<q>"]])
    '<p>log</p><table><tr><th>kind</th></tr><tr><td>&lt;q&gt;</td></tr></table>'
    """
    lines = [_row("th", head), *(_row("td", cells) for cells in rows)]
    items = "".join(f"<li>{escape(text)}</li>" for text in more)
    below = f"<ul>{items}</ul>" if items else ""
    return f"<p>{escape(title)}</p><table>{''.join(lines)}</table>{below}"


def _row(tag: str, cells: Sequence[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
