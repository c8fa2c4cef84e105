"""What Python calls by name is what the C header calls so."""

from __future__ import annotations

import re

import pytest

from helicoid.mpc.solver.engine import RESULTS, SETTINGS
from helicoid.mpc.solver.kernels import RUNTIME
from helicoid.mpc.solver.outcome import Status


def enumeration(first: str) -> list[str]:
    """The names of the enumeration in the header that begins with one of them."""
    text = re.sub(r"/\*.*?\*/", "", (RUNTIME / "layout.h").read_text(), flags=re.DOTALL)
    bodies = [re.findall(r"\w+", body) for body in re.findall(r"enum\s*\{(.*?)\}", text, flags=re.DOTALL)]
    return next(names for names in bodies if names[0] == first)


def test_status_has_the_names_and_numbers_of_the_header() -> None:
    assert {status.name: int(status) for status in Status} == {
        name: number for number, name in enumerate(enumeration("SOLVED"))
    }


@pytest.mark.parametrize(("first", "names"), [("TOLERANCE", SETTINGS), ("STATUS", RESULTS)])
def test_settings_and_results_stand_where_the_header_has_them(first: str, names: tuple[str, ...]) -> None:
    *known, count = enumeration(first)
    assert count.startswith("N_") and [name.lower() for name in known] == list(names)


def test_every_status_says_something_of_its_own() -> None:
    assert len({status.text for status in Status}) == len(Status)
    assert [status for status in Status if status.is_useless] == [Status.BROKEN, Status.STUCK]
