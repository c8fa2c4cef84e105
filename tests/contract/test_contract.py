"""Every controller keeps every promise of the protocol; `python -m tests.contract` prints the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.contract.controllers import CASES
from tests.contract.promises import PROMISES


def _pairs() -> Iterator[Any]:
    for controller, case in CASES.items():
        for promise in PROMISES:
            slow = case.slow or (case.slow_c and promise == "C equals Python")
            marks = [pytest.mark.needs_compiler, *([pytest.mark.slow] if slow else [])]
            yield pytest.param(controller, promise, id=f"{controller}: {promise}", marks=marks)


@pytest.mark.parametrize(("controller", "promise"), list(_pairs()))
def test_promise(controller: str, promise: str) -> None:
    PROMISES[promise](CASES[controller])
