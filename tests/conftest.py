"""Settings that every test shares: hypothesis profiles, seeded random numbers, one thread for BLAS."""

from __future__ import annotations

import os
import zlib

# One process per core (xdist) leaves no core for BLAS threads. BLAS reads these when NumPy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
# Thousands of small functions are called once or twice: compiling each would take hours. Tests of compiled
# code turn it on.
os.environ["HELICOID_COMPILE"] = "0"

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Building a symbolic function inside an example is slow by nature, and no fault of the example.
settings.register_profile(
    "default",
    deadline=None,
    max_examples=40,
    derandomize="CI" in os.environ,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=500, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the test's name alone, not on which tests run beside it."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))
