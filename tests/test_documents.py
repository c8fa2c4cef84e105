"""The page of the five documents: every call on it runs, its identities hold, and its misprints are ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from document_identities import IDENTITIES
from document_misprints import MISPRINTS
from test_docs import python_blocks

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "documents.md"


def _tables() -> dict[str, dict[str, str]]:
    """By heading: first cell of each row, and the code of the second, or the text where it is none."""
    found: dict[str, dict[str, str]] = {}
    heading = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("| ") and not line.endswith(("| page |", "identity |")):
            first, second, *_ = (cell.strip() for cell in line.strip("|").split(" | "))
            found.setdefault(heading, {})[first] = second.strip("`")
    return found


TABLES = _tables()
ENTRIES = [
    pytest.param(heading, entry, code, id=f"{heading[:14]}: {entry}")
    for heading, rows in TABLES.items()
    if heading != "Misprints"
    for entry, code in rows.items()
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Names of the block that the page begins with."""
    names: dict[str, Any] = {"folder": tmp_path_factory.mktemp("page")}
    for _, code in python_blocks(PAGE):
        exec(code, names)
    return names


def _assert_finite(value: Any) -> None:
    if isinstance(value, tuple):
        for part in value:
            _assert_finite(part)
    elif isinstance(value, np.ndarray) and value.dtype == np.float64:
        assert value.size and np.isfinite(value).all()


@pytest.mark.filterwarnings("ignore:chain:helicoid.DoubtfulModelWarning")
@pytest.mark.parametrize(("heading", "entry", "code"), ENTRIES)
def test_entry_runs(
    heading: str, entry: str, code: str, page: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(page["folder"])
    names = {**page}
    value = eval(code, names)
    _assert_finite(value)
    for identity in IDENTITIES.get(heading.partition(":")[0], {}).get(entry, ()):
        assert eval(identity, {**names, "value": value, "close": np.allclose, "expm": expm}), identity


def test_identities_are_of_entries_of_the_page() -> None:
    for heading, identities in IDENTITIES.items():
        rows = next(rows for title, rows in TABLES.items() if title.partition(":")[0] == heading)
        assert not set(identities) - set(rows)


def test_every_misprint_of_the_page_is_checked() -> None:
    assert set(TABLES["Misprints"]) == set(MISPRINTS)


@pytest.mark.parametrize("where", MISPRINTS)
def test_misprint(where: str, rng: np.random.Generator) -> None:
    """The right formula holds, and what is printed does not."""
    right, printed = MISPRINTS[where](rng)
    assert right
    assert not printed


WORDS = (
    "Plücker",
    "exponential coordinates",
    "geometric Jacobian",
    "body Jacobian",
    "inertia matrix",
    "bias force",
    "spatial force",
    "virtual work",
    "structural sparsity",
    "level turn",
    "load factor",
    "slipstream",
    "disc loading",
    "figure of merit",
    "selection matrix",
    "RNEA",
    "ABA",
    "CRBA",
    "jtimes",
    "six-axis",
    "Rodrigues",
)


@pytest.mark.parametrize("word", WORDS)
def test_word_of_the_documents_is_explained(word: str) -> None:
    """On a page other than the list of documents, the references and the measurements."""
    pages = [page for part in ("explanation", "how-to", "tutorials") for page in (DOCS / part).glob("*.md")]
    assert any(word.lower() in page.read_text(encoding="utf-8").lower() for page in pages)
