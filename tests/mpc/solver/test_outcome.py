"""What Python calls by name is what the C header calls so."""

from __future__ import annotations

import re

import pytest

from helicoid.mpc.solver import loop
from helicoid.mpc.solver.engine import ONCE, RESULTS, SETTINGS
from helicoid.mpc.solver.kernels import KERNELS, RUNTIME
from helicoid.mpc.solver.outcome import SolverStatus


def enumeration(first: str) -> list[str]:
    """The names of the enumeration in the header that begins with one of them."""
    text = re.sub(r"/\*.*?\*/", "", (RUNTIME / "layout.h").read_text(), flags=re.DOTALL)
    bodies = [re.findall(r"\w+", body) for body in re.findall(r"enum\s*\{(.*?)\}", text, flags=re.DOTALL)]
    return next(names for names in bodies if names[0] == first)


def test_status_has_the_names_and_numbers_of_the_header() -> None:
    assert {status.name: int(status) for status in SolverStatus} == {
        name: number for number, name in enumerate(enumeration("SOLVED"))
    }


def test_what_is_due_and_the_status_of_a_step_are_those_of_the_header() -> None:
    assert [due.name for due in loop.Due] == enumeration("NEW")
    steps = [name.removeprefix("STEP_").replace("_", " ").lower() for name in enumeration("STEP_OK")]
    assert steps == list(loop._STATUS)
    assert len(enumeration("PERIOD")) == len(loop._SETTINGS) + 1
    assert len(enumeration("PHASE")) == len(loop._OUTCOME) + 1
    assert f"PLAN_TOLERANCE {loop.TOLERANCE} " in (RUNTIME / "loop.h").read_text()


def test_fields_and_functions_are_those_of_the_header() -> None:
    text = (RUNTIME / "layout.h").read_text()
    once = re.search(r"#define ONCE_FIELDS\(F\)((?:.*\\\n)*.*)", text)
    assert once is not None and re.findall(r"F\((\w+),", once[1]) == list(ONCE)
    called = re.search(r"#define KERNELS\(F\)((?:.*\\\n)*.*)", text)
    assert called is not None and re.findall(r"F\((\w+)\)", called[1]) == list(KERNELS)


@pytest.mark.parametrize(("first", "names"), [("TOLERANCE", SETTINGS), ("STATUS", RESULTS)])
def test_settings_and_results_stand_where_the_header_has_them(first: str, names: tuple[str, ...]) -> None:
    *known, count = enumeration(first)
    assert count.startswith("N_") and [name.lower() for name in known] == list(names)


def test_every_status_says_something_of_its_own() -> None:
    assert len({status.text for status in SolverStatus}) == len(SolverStatus)
