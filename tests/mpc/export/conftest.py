"""Exported C is compared with Python to the last digits, so both are compiled alike."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def alike() -> Iterator[None]:
    """At -O3 compilers contract products and sums differently in C99 and in GNU C, by 1e-10 of a torque."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("HELICOID_OPTIMISE") != "0":
            patch.setenv("HELICOID_OPTIMISE", "1")
        yield
