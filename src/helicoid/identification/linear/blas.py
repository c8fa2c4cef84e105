"""One thread for BLAS while many small matrices are factored.

OpenBLAS wakes all its threads for a matrix of 60 columns and lets them spin: on busy cores that costs a
hundred times as much as the factorisation (measured: 283 ms against 1.4 ms for a QR of 1024 × 62).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401 - NumPy and SciPy bring a BLAS each, and only loaded ones are found
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


@cache
def _controller() -> ThreadpoolController:
    """BLAS libraries of this process; cached, since finding them takes milliseconds."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """Restrict the BLAS of NumPy and SciPy to the calling thread within a `with` block."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited
