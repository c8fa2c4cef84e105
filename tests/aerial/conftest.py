"""Published numbers that flight is held against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

_DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def published() -> Any:
    """`published("graupner_6x3")`: what a file of `data/` holds."""
    return lambda name: json.loads((_DATA / f"{name}.json").read_text())
