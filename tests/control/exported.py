"""Controllers as libraries in C99: built without warnings, and asked whether they step as Python does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

COMPILERS = [name for name in ("cc", "clang") if shutil.which(name)]
_STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")


def checked(files: list[Path], compiler: str, *flags: str) -> float:
    """By how much the steps of an exported program differ, as it says itself."""
    program = files[0].parent / "check"
    sources = [str(path) for path in files if path.suffix == ".c"]
    subprocess.run([compiler, *_STRICT, *flags, *sources, "-o", str(program), "-lm"], check=True)
    told = subprocess.run([program], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout
    return float(told.stdout.split()[-1])
