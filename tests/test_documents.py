"""The pages of five documents: every call runs, the identities hold, and the misprints are ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from document_identities import IDENTITIES
from document_misprints import MISPRINTS
from test_docs import python_blocks

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [page for page in sorted((DOCS / "documents").glob("*.md")) if page.name != "index.md"]


def _table(page: Path) -> tuple[str, dict[str, str]]:
    """Title of a page; first cell of each row of its table, and the code of the second, or its text."""
    lines = page.read_text(encoding="utf-8").splitlines()
    rows: dict[str, str] = {}
    for line in lines:
        if line.startswith("| ") and not line.endswith(("| page |", "identity |")):
            first, second, *_ = (cell.strip() for cell in line.strip("|").split(" | "))
            rows[first] = second.strip("`")
    return lines[0].removeprefix("# "), rows


TABLES = dict(map(_table, PAGES))
MISPRINTED = "Misprints of the documents"
ENTRIES = [
    pytest.param(title, entry, code, id=f"{title[:14]}: {entry}")
    for title, rows in TABLES.items()
    if title != MISPRINTED
    for entry, code in rows.items()
]


@pytest.fixture(scope="module")
def names_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    """Names of the block that a page begins with, by its title; each page runs once."""
    pages = {_table(page)[0]: page for page in PAGES}

    @functools.cache
    def run(title: str) -> dict[str, Any]:
        names: dict[str, Any] = {"folder": tmp_path_factory.mktemp("page")}
        for _, code in python_blocks(pages[title]):
            exec(code, names)
        return names

    return run


def _assert_finite(value: Any) -> None:
    if isinstance(value, tuple):
        for part in value:
            _assert_finite(part)
    elif isinstance(value, np.ndarray) and value.dtype == np.float64:
        assert value.size and np.isfinite(value).all()


@pytest.mark.filterwarnings("ignore:chain:helicoid.DoubtfulModelWarning")
@pytest.mark.parametrize(("title", "entry", "code"), ENTRIES)
def test_entry_runs(
    title: str,
    entry: str,
    code: str,
    names_of: Callable[[str], dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = {**names_of(title)}
    monkeypatch.chdir(names["folder"])
    value = eval(code, names)
    _assert_finite(value)
    for identity in IDENTITIES.get(title.partition(":")[0], {}).get(entry, ()):
        assert eval(identity, {**names, "value": value, "close": np.allclose, "expm": expm}), identity


def test_every_entry_has_an_identity() -> None:
    for heading, identities in IDENTITIES.items():
        rows = next(rows for title, rows in TABLES.items() if title.partition(":")[0] == heading)
        assert set(identities) == set(rows)


def test_every_misprint_of_the_page_is_checked() -> None:
    assert set(TABLES[MISPRINTED]) == set(MISPRINTS)


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
    "apparent derivative",
    "Chasles",
    "control surface",
    "end-effector",
    "external force",
    "heading rate",
    "home position",
    "inertial frame",
    "inverse dynamics control",
    "Lagrange multiplier",
    "Lie algebra",
    "linear in the parameters",
    "Moore-Penrose",
    "number of operations",
    "open chain",
    "passivity",
    "pseudo-inverse",
    "rudder",
    "screw axis",
    "singularity",
    "spatial acceleration",
    "spatial momentum",
    "virtual control",
    "active, passive rotation",
    "aspect ratio",
    "Cardan",
    "closed chain",
    "course angle",
    "damped least squares",
    "Euler differentiation rule",
    "exciting trajectory",
    "Hamiltonian",
    "inertia tensor",
    "Jacobian transpose",
    "Kronecker",
    "linear momentum",
    "mean geometric chord",
    "physically plausible",
    "proper Euler",
    "reference frame",
    "Tait-Bryan",
    "thrust coefficient",
    "workless",
)


@pytest.mark.parametrize("word", WORDS)
def test_word_of_the_documents_is_explained(word: str) -> None:
    """On a page other than the list of documents, the references and the measurements."""
    pages = [page for part in ("explanation", "how-to", "tutorials") for page in (DOCS / part).glob("*.md")]
    pages.append(DOCS / "about" / "glossary.md")
    assert any(word.lower() in page.read_text(encoding="utf-8").lower() for page in pages)
