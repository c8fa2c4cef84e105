"""Enumerations of Python have the names and numbers of the C header."""

from __future__ import annotations

import helicoid as hc
from helicoid.mpc.solver.engine import ONCE, RESULTS, SETTINGS
from helicoid.mpc.solver.kernels import KERNELS, LAYOUT
from helicoid.mpc.solver.outcome import SolverStatus
from helicoid.mpc.solver.receding_horizon import loop


def test_enumerations_have_the_names_and_numbers_of_the_header() -> None:
    for enumeration, first in ((SolverStatus, "SOLVED"), (loop.Due, "NEW")):
        names = [one.name.lower() for one in enumeration]
        assert names == list(LAYOUT.enumeration(first)) and list(enumeration) == list(range(len(names)))
    assert loop._STATUS[0] is hc.Status.OK and loop._STATUS[-1] is hc.Status.NOT_STARTED


def test_names_are_read_from_the_header() -> None:
    assert "regularisation" in SETTINGS and "stationarity" in RESULTS and "n_settings" not in SETTINGS
    assert {"theta", "settings", "restart"} <= ONCE and "x" not in ONCE
    assert KERNELS[0] == "stage" and "second_order" in KERNELS and loop.TOLERANCE == 0.01


def test_every_status_says_something_of_its_own() -> None:
    assert len({status.text for status in SolverStatus}) == len(SolverStatus)
