"""Files of an export: each written at once, never over files that no export wrote."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path

from helicoid.errors import HelicoidError

# In the first line of every file: such files may be replaced.
_MARK = "Written by Helicoid"


def write_files(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write files by their names, each at once; nothing if one exists that an export did not write.

    Raises:
        HelicoidError: there is such a file, or the folder cannot be written to.
    """
    if folder == Path():
        raise HelicoidError("an export needs a folder; for the current one pass Path.cwd()")
    paths = {folder / name: f"{_first_line(name)}\n{text}" for name, text in texts.items()}
    try:
        for parent in {path.parent for path in paths}:
            parent.mkdir(parents=True, exist_ok=True)
        for path in paths:
            if path.exists() and not _is_ours(path):
                raise HelicoidError(
                    f"{path}: was not written by Helicoid and is not replaced; export to another folder"
                )
        for path, text in paths.items():
            temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
            try:
                temporary.write_text(text, encoding="utf-8", newline="\n")
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        raise HelicoidError(f"{folder}: cannot be exported to: {error}") from error
    return list(paths)


def runtime_files(folder: Path, pattern: str = "*.h") -> dict[str, str]:
    """The C of a runtime, all of it as headers in the folder `runtime`, for `write_files`."""
    paths = {path.relative_to(folder).with_suffix(".h"): path for path in sorted(folder.rglob(pattern))}
    return {f"runtime/{name.as_posix()}": path.read_text(encoding="utf-8") for name, path in paths.items()}


def _is_ours(path: Path) -> bool:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.readline(200).rstrip("\n") == _first_line(path.name)


def _first_line(name: str) -> str:
    return f"/* {_MARK}. */" if name.endswith((".c", ".h")) else f"# {_MARK}."
