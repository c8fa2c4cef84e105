"""One thread for BLAS while many small matrices are factored.

OpenBLAS wakes all its threads for a matrix of 60 columns and lets them wait in loops: where the cores are
taken, that costs a hundred times what the factorisation does (measured: 283 ms against 1.4 ms for a QR of
1024 × 62).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401 - NumPy and SciPy bring a BLAS each, and only loaded ones are found
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


@cache
def _controller() -> ThreadpoolController:
    """Looking for the libraries takes milliseconds, setting their threads a tenth of one."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """BLAS, where NumPy and SciPy use it, computes in the calling thread only; as before afterwards."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited
