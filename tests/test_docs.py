"""The documentation is true: its Python runs, its links lead somewhere, its menu is complete.

A Python block that must not run (it needs hardware, or shows an error) has `<!-- no-run -->` just above,
one that needs a package which is seldom installed `<!-- needs torch -->`: where that is missing, the page
counts as skipped.
"""

from __future__ import annotations

import calendar
import importlib.util
import pkgutil
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from helicoid import Status, errors
from helicoid.commissioning import CommissioningStatus

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
GENERATED = ("reference",)  # the reference is written by mkdocstrings
RUNNABLE = [
    ROOT / "README.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if page.relative_to(DOCS).parts[0] not in GENERATED),
]
# Pages that identify, solve optimal control problems, compile or differentiate a lot: for the long suite.
LONG = {
    "adaptive-mpc.md",
    "chain.md",
    "commissioning.md",
    "contact.md",
    "control-laws.md",
    "derivatives.md",
    "differential-kinematics.md",
    "drives.md",
    "export.md",
    "fixed-wing.md",
    "friction.md",
    "identification-diagnosis.md",
    "identification-refinement.md",
    "identification.md",
    "identify-an-arm.md",
    "identify-payload.md",
    "inverse-kinematics.md",
    "legged.md",
    "mpc-collision.md",
    "mpc-controller.md",
    "mpc-problem.md",
    "mpc-solver.md",
    "mpc.md",
    "reach-and-track.md",
    "rotorcraft.md",
    "time-optimal.md",
    "whole-body.md",
}

BLOCK = re.compile(
    r"^(?P<skip> *<!-- no-run -->\n+)?(?: *<!-- needs (?P<needs>\w+) -->\n+)?"
    r"(?P<indent> *)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
FENCED = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)[^)]*\)|(?:src|href)=\"(?P<attribute>[^\"]+)\"")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def missing_packages(path: Path) -> list[str]:
    """Packages that blocks of this page need, and that are not installed here."""
    needed = {match["needs"] for match in BLOCK.finditer(path.read_text(encoding="utf-8")) if match["needs"]}
    return sorted(package for package in needed if importlib.util.find_spec(package) is None)


def python_blocks(path: Path) -> list[tuple[int, str]]:
    """Line number of the first line of code, and code, of each Python block that is to run."""
    text, missing = path.read_text(encoding="utf-8"), missing_packages(path)
    return [
        (text.count("\n", 0, match.start("code")) + 1, textwrap.dedent(match["code"]))
        for match in BLOCK.finditer(text)
        if not match["skip"] and match["needs"] not in missing
    ]


def menu_pages(entry: Any) -> list[str]:
    """Every page that an entry of mkdocs' `nav` names, however deep."""
    if isinstance(entry, str):
        return [entry]
    children = entry.values() if isinstance(entry, dict) else entry
    return [page for child in children for page in menu_pages(child)]


@pytest.mark.parametrize("path", RUNNABLE, ids=name)
def test_python_blocks_can_be_read(path: Path) -> None:
    for line, code in python_blocks(path):
        compile("\n" * (line - 1) + code, str(path), "exec")


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] * (path.name in LONG), id=name(path)) for path in RUNNABLE],
)
def test_python_blocks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page share their names, as a reader who types them one after another would have."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for line, code in python_blocks(path):
        # Blank lines in front make a traceback point at the line of the page.
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), namespace)
    if missing := missing_packages(path):
        pytest.skip(f"blocks of {path.name} did not run: {' and '.join(missing)} not installed")


@pytest.mark.parametrize("path", RUNNABLE, ids=name)
def test_code_fits_the_column(path: Path) -> None:
    """A page shows about 80 characters of code; beyond, a reader has to scroll sideways."""
    blocks = [match["code"] for match in BLOCK.finditer(path.read_text(encoding="utf-8"))]
    lines = [line for block in blocks for line in textwrap.dedent(block).splitlines()]
    assert not [line for line in lines if len(line) > 80]


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_within_the_repository_exist(path: Path) -> None:
    prose = FENCED.sub("", path.read_text(encoding="utf-8"))
    targets = [match["target"] or match["attribute"] for match in LINK.finditer(prose)]
    local = [target for target in targets if not re.match(r"[a-z]+:|#", target)]
    broken = [target for target in local if not (path.parent / target.split("#")[0]).exists()]
    assert not broken


def test_menu_lists_every_page_once() -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = menu_pages(config["nav"])
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def test_list_of_how_to_pages_is_complete() -> None:
    """The first page leads to the list, and the list to every page of the menu's group."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    group = next(group["How-to"] for group in config["nav"] if "How-to" in group)
    pages = [page.removeprefix("how-to/") for page in menu_pages(group) if page != "how-to/index.md"]
    listed = (DOCS / "how-to" / "index.md").read_text(encoding="utf-8")
    assert [page for page in pages if f"]({page})" not in listed] == []
    assert "](how-to/index.md)" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_reference_names_what_exists() -> None:
    """An API page that names a module or class which has moved would break the build of the documentation."""
    texts = [page.read_text(encoding="utf-8") for folder in GENERATED for page in DOCS.glob(f"{folder}/*.md")]
    named = [identifier for text in texts for identifier in re.findall(r"^::: (\S+)$", text, re.MULTILINE)]
    assert named
    for identifier in named:
        pkgutil.resolve_name(identifier)


def test_troubleshooting_has_every_status_and_warning() -> None:
    rows = (DOCS / "how-to" / "troubleshooting.md").read_text(encoding="utf-8").splitlines()
    for status in Status:
        row = next((row for row in rows if row.startswith(f'| `"{status}"` |')), "")
        assert row.endswith(f"| {status.remedy} |"), f"{status}: {status.remedy}"
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    for warning in re.findall(r"^class (\w+)\(\w*Warning\)", sources, re.MULTILINE):
        assert any(row.startswith(f"| `{warning}` |") for row in rows), warning
    for error in re.findall(
        r"^class (\w+)\(HelicoidError\b", Path(errors.__file__).read_text(), re.MULTILINE
    ):
        assert any(row.startswith(f"| `{error}` |") for row in rows), error


def test_the_page_of_commissioning_has_every_status() -> None:
    page = (DOCS / "how-to" / "commissioning.md").read_text(encoding="utf-8")
    stops = [str(status) for status in CommissioningStatus if status is not CommissioningStatus.OK]
    assert [status for status in stops if f'| `"{status}"` |' not in page] == []


CITATION = re.compile(r"\b(?P<author>[A-Z][a-zäöüé]+)(?: et al\.| and others)? \(?(?P<year>(?:19|20)\d\d)\b")


def test_references_list_every_citation() -> None:
    """A citation is "Author year" in the code or on a page; its row has both."""
    sources = [path for ending in ("py", "h", "c") for path in (ROOT / "src").rglob(f"*.{ending}")]
    cited = {
        (match["author"].replace("Waechter", "Wächter"), match["year"])
        for path in [*sources, *DOCS.rglob("*.md")]
        if path.name != "references.md"
        for match in CITATION.finditer(path.read_text(encoding="utf-8"))
        if match["author"] not in calendar.month_name  # a date
    }
    rows = (DOCS / "about" / "references.md").read_text(encoding="utf-8").splitlines()
    assert len(cited) > 30
    assert not {one for one in cited if not any(f"{one[0]}" in row and f"{one[1]}." in row for row in rows)}


def test_version_is_the_same_everywhere() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.+)"$', project, re.MULTILINE)
    latest = re.search(r"^## (\d\S*)", changes, re.MULTILINE)
    assert version and latest
    assert version[1] == citation["version"] == latest[1]


def test_a_block_marked_no_run_is_left_out(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- no-run -->\n```python\nb\n```\n\n=== tab\n\n    ```python\n    c = 1\n    ```\n")
    assert python_blocks(page) == [(10, "c = 1\n")]
