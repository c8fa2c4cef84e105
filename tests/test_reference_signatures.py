"""Signatures on the reference pages show values: no default is a private constant."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    {
        name
        for page in (ROOT / "docs" / "reference").rglob("*.md")
        for name in re.findall(r"^::: (helicoid(?:\.[a-z_0-9]+)*)", page.read_text(), re.MULTILINE)
    }
)


def _private_defaults(tree: ast.Module) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name == "__init__"):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if isinstance(default, ast.Name) and default.id.startswith("_"):
                    found.append(f"{node.name}(... = {default.id}), line {node.lineno}")
    return found


def test_there_are_reference_pages() -> None:
    assert len(MODULES) > 20


@pytest.mark.parametrize("module", MODULES)
def test_no_default_is_a_private_name(module: str) -> None:
    path = ROOT / "src" / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    assert not _private_defaults(ast.parse(file.read_text()))
