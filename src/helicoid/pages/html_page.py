"""Self-contained HTML pages: the frame around what reports, fleets, demonstrations and the player show."""

from __future__ import annotations

import os
from html import escape
from importlib import resources
from pathlib import Path

from helicoid.errors import HelicoidError


def html_document(title: str, body: str, style: str = "", script: str = "") -> str:
    """A whole page that loads nothing; `title` is text, the others are HTML, CSS and JavaScript.

    >>> html_document("a & b", "<h1>c</h1>").startswith("<!DOCTYPE html>")
    True
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        + (f"<style>\n{style}</style>\n" if style else "")
        + f"</head>\n<body>\n{body}\n"
        + (f"<script>\n{script}</script>\n" if script else "")
        + "</body>\n</html>\n"
    )


def packaged_text(package: str, *names: str) -> list[str]:
    """Style sheets and scripts that lie in a package of ours."""
    folder = resources.files(package)
    return [(folder / name).read_text(encoding="utf-8") for name in names]


def write_page(path: str | os.PathLike[str], page: str) -> Path:
    """Write a page, into a folder that is made where there is none; where it lies.

    Raises:
        HelicoidError: it cannot be written there.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise HelicoidError(f"{os.fspath(path)}: the page cannot be written: {error}") from error
    return target
