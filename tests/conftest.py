"""Settings that every test shares: hypothesis profiles, seeded random numbers, one thread for BLAS."""

from __future__ import annotations

import gc
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

# One process per core (xdist) leaves no core for BLAS threads. BLAS reads these when NumPy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
# Thousands of small functions are called once or twice: compiling each would take hours. Tests of compiled
# code turn it on; those that take thousands of steps of one function carry the marker `compiled`.
os.environ["HELICOID_COMPILE"] = "0"
# Compilers take a third of the suite's time, and code that runs for milliseconds is not worth optimising. The
# long sweeps, and tests of the compiler itself, run what users run.
if os.environ.get("HYPOTHESIS_PROFILE") != "thorough":
    os.environ.setdefault("HELICOID_OPTIMISE", "0")
# Away from the user's own cache, and shared by the workers of one run.
_cache = None if "PYTEST_XDIST_WORKER" in os.environ else tempfile.TemporaryDirectory(prefix="helicoid-test-")
if _cache is not None:
    os.environ["HELICOID_CACHE"] = _cache.name

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from helicoid.compiler.build.toolchain import find_compiler
from helicoid.compiler.evaluation.compiled import set_compile
from helicoid.errors import CompileError

# Building a symbolic function inside an example is slow by nature, and no fault of the example.
settings.register_profile(
    "default",
    deadline=None,
    max_examples=6,
    derandomize="CI" in os.environ,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=50, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def _has_compiler() -> bool:
    try:
        find_compiler()
    except CompileError:
        return False
    return True


pytest_plugins = ["parts"]
HAS_COMPILER = _has_compiler()
SOLVE_IN_C = (
    "helicoid.mpc",
    "helicoid.control",
    "helicoid.aerial.control",
    "helicoid.walking",
    "helicoid.planning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where there is no C compiler, what is about compiled code is left out."""
    if not HAS_COMPILER:
        for item in items:
            controls = isinstance(item, pytest.DoctestItem) and any(
                name in item.nodeid for name in SOLVE_IN_C
            )
            if controls or item.get_closest_marker("needs_compiler"):
                item.add_marker(pytest.mark.skip(reason="there is no C compiler"))


def pytest_collection_finish() -> None:
    """Modules stay to the end: the collector of garbage need not go through them again and again."""
    gc.collect()
    gc.freeze()


@contextmanager
def _skipping() -> Iterator[None]:
    """A test that asks for compiled code has nothing to show where there is no C compiler."""
    try:
        yield
    except CompileError as error:
        if HAS_COMPILER:
            raise
        pytest.skip(f"there is no C compiler: {error}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    set_compile(HAS_COMPILER and item.get_closest_marker("compiled") is not None)
    with _skipping():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    with _skipping():
        yield


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the test's name alone, not on which tests run beside it."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(autouse=True)
def not_compiling() -> Iterator[None]:
    """What one test turns on, the next does not find on."""
    yield
    set_compile(False)
