"""What the compiler makes is tested optimised, with products and sums contracted, as users run it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def optimised() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("HELICOID_OPTIMISE") == "0":
            patch.setenv("HELICOID_OPTIMISE", "1")
        yield
