"""Small problems need no fast loop, but one that is there soon."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from helicoid.control.ik import engine


@pytest.fixture(autouse=True)
def quickly_compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The loop of inverse kinematics at a lower level of optimisation."""
    monkeypatch.setattr(engine, "OPTIMISED", "#pragma GCC optimize (1)\n")
    yield
