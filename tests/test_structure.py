"""Sizes that keep the sources readable: files, folders, and the list of packages in CONTRIBUTING.md."""

from __future__ import annotations

from pathlib import Path

import helicoid as hc

SOURCES = Path(hc.__file__).parent
CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"
MAX_LINES, MAX_ENTRIES = 400, 13


def entries(folder: Path) -> list[str]:
    """Names of modules, packages and data in a folder, without what Python and editors leave behind."""
    return [path.name for path in folder.iterdir() if path.name[0] not in "._"] + [
        path.name for path in folder.glob("_[!_]*.py")
    ]


def test_files_stay_below_their_largest_size() -> None:
    files = (path for kind in ("*.py", "*.[ch]") for path in SOURCES.rglob(kind))
    lines = {str(path.relative_to(SOURCES)): len(path.read_text("utf-8").splitlines()) for path in files}
    assert lines
    assert {name: n for name, n in lines.items() if n > MAX_LINES} == {}


def test_folders_hold_about_a_dozen_entries() -> None:
    folders = [path for path in SOURCES.rglob("*") if path.is_dir() and path.name != "__pycache__"]
    assert folders
    found = {str(path.relative_to(SOURCES)): len(entries(path)) for path in folders}
    assert {name: n for name, n in found.items() if n > MAX_ENTRIES} == {}


def test_contributing_names_every_package_and_shared_module() -> None:
    text = CONTRIBUTING.read_text("utf-8")
    packages = [f"`{path.parent.name}/`" for path in SOURCES.glob("*/__init__.py")]
    modules = [f"`{path.name}`" for path in SOURCES.glob("*.py") if not path.name.startswith("_")]
    assert [name for name in packages + modules if name not in text] == []
