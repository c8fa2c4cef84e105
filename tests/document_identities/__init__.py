"""Identities of the equations on the pages of documents: `value` is what the call of an entry returns.

The names are those of the block that a page begins with; `close` is `numpy.allclose`, `expm` SciPy's.
"""

from __future__ import annotations

from document_identities import caramizaru, course_slides, course_summary, garofalo, johannessen

IDENTITIES: dict[str, dict[str, tuple[str, ...]]] = {
    "Cărămizaru": caramizaru.IDENTITIES,
    "Johannessen": johannessen.IDENTITIES,
    "Garofalo, Ott and Albu-Schäffer": garofalo.IDENTITIES,
    "*Robot Dynamics*": course_summary.IDENTITIES,
    "*Robot Dynamics*, part 2": course_slides.IDENTITIES,
}
