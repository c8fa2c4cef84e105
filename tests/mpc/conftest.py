"""Small problems need no fast solver, but one that is there soon."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from helicoid.mpc.solver import kernels


@pytest.fixture(autouse=True)
def quickly_compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The solver at a lower level of optimisation; the benchmark's own task has it as users do."""
    if request.path.name != "test_panda.py":
        monkeypatch.setattr(kernels, "LEVEL", "O1")
    yield
