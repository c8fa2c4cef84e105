"""Pages of the tables: one per chapter, in which a run replaces the sections that it measured."""

from __future__ import annotations

import re
from pathlib import Path

CHAPTERS = {"4": "correctness.md", "5": "functions.md", "6": "derivatives.md"}
"""Pages of the chapters of the urdf2casadi thesis; a title begins with the number of its table or figure."""


def page_of(title: str) -> str:
    """The page on which a table stands."""
    if "(Heidelberg)" in title:
        return "heidelberg.md"
    number = re.match(r"(?:Tables?|Figures?) (\d)", title)
    return CHAPTERS[number[1] if number else "6"]  # derivatives in C are ours, without a number


def replace_section(page: Path, section: str) -> None:
    """Write a section of level two in place of the one with the same number, or at the end of the page."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    for k, part in enumerate(parts):
        if part.startswith("## ") and _number(part) == _number(section):
            parts[k] = section
            break
    else:
        parts.append(section)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n", encoding="utf-8")


def _number(section: str) -> str:
    """The heading up to its colon: "## Table 4.2"."""
    return section.partition("\n")[0].partition(":")[0]
