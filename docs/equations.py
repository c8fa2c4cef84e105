"""Equations of pages: LaTeX becomes MathML when the pages are built, so that no script has to run in the browser.

A hook of mkdocs, after `pymdownx.arithmatex` has marked `$...$` and `$$...$$`.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

INLINE = re.compile(
    r'<span class="arithmatex">\\\((?P<latex>.*?)\\\)</span>', re.DOTALL
)
DISPLAY = re.compile(
    r'<div class="arithmatex">\s*\\\[(?P<latex>.*?)\\\]\s*</div>', re.DOTALL
)


def on_page_content(content: str, **kwargs: Any) -> str:
    """Replace every marked equation of a page by MathML."""
    content = INLINE.sub(lambda found: _mathml(found, "inline"), content)
    scrolled = '<div class="equation">{}</div>'  # sideways, where the screen is narrower
    return DISPLAY.sub(
        lambda found: scrolled.format(_mathml(found, "block")), content
    )


def _mathml(found: re.Match[str], display: str) -> str:
    latex = html.unescape(found["latex"]).strip()
    return str(convert(latex, display=display))
