"""One thread for BLAS while many small matrices are factored.

OpenBLAS wakes all its threads for a matrix of 60 columns and lets them wait in loops: where the cores are
taken, that costs a hundred times what the factorisation does (measured: 283 ms against 1.4 ms for a QR of
1024 × 62). NumPy and SciPy bring a library each.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy

_FORMS = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """OpenBLAS, where NumPy and SciPy use it, computes in the calling thread only; as before afterwards."""
    before = [(setter, getter()) for getter, setter in _controls()]
    try:
        for setter, _ in before:
            setter(1)
        yield
    finally:
        for setter, count in before:
            setter(count)


@cache
def _controls() -> tuple[tuple[Any, Any], ...]:
    """How to read and set the number of threads of each OpenBLAS that NumPy and SciPy bring along."""
    found = []
    for package in (np, scipy):
        root = Path(str(package.__file__)).parent
        folders = (root.parent / f"{root.name}.libs", root / ".dylibs")
        for path in (path for folder in folders if folder.is_dir() for path in folder.glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(path))
            except OSError:
                continue
            for form in _FORMS:
                getter = getattr(library, form.format("get_num_threads"), None)
                setter = getattr(library, form.format("set_num_threads"), None)
                if getter is not None and setter is not None:
                    found.append((getter, setter))
                    break
    return tuple(found)
