"""Printed representations: short, complete, and escaped in notebooks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synthetic_logs import arm, recording, truth

import helicoid as hc
from helicoid.identification.logs.log import Log

ROBOT = arm(2)


@pytest.fixture(scope="module")
def result() -> hc.Identification:
    robot = arm(2)
    log = replace(recording(truth(robot, 1), 2, noise=0.02, seconds=4.0), source="<b>run</b>")
    return hc.identify(robot, log, groups=("inertia", "viscous"), cutoff=None, lag=0.0, regularisation=1.0)


def test_reprs_are_short(result: hc.Identification) -> None:
    base = hc.identifiability(result.nominal)
    own = result.regression, result.parameters, result.training, result.logs[0], base
    for value in (result, *own):
        text = repr(value)
        assert text.startswith(f"{type(value).__name__}(") and len(text) < 160 and "array(" not in text


def test_tables_for_notebooks(result: hc.Identification) -> None:
    page = replace(result, notes=("<i>a note</i>",))._repr_html_()
    assert page.count("<tr>") == 1 + 2 + 1 and "joint_2" in page
    assert "&lt;i&gt;a note" in page and "<i>" not in page
    unknown = replace(result.held_out, rmse=np.full(2, np.nan))
    assert replace(result, held_out=unknown)._repr_html_().count("–") == 3
    assert result.training._repr_html_().count("<tr>") == 4
    log = result.logs[0]._repr_html_()
    assert "&lt;b&gt;run" in log and log.count("<tr>") == 1 + 4 * 2
    wrench = Log.from_arrays([0.0, 1.0], [[0.0], [1.0]], wrenches={"hand": np.ones((2, 6))})
    assert wrench._repr_html_().count("wrench of hand") == 2 * 6


def test_success_and_message() -> None:
    log = recording(truth(ROBOT, 1), 2, noise=0.05, seconds=4.0)
    result = hc.identify(ROBOT, log, groups=("inertia", "viscous", "coulomb"), cutoff=None, lag=0.0)
    assert result.success and result.message.startswith("identified")
    wrong = replace(result, x=-result.x)
    assert not wrong.success and "no body can have" in wrong.message
    likely = replace(result, diagnosis="the torque of joint_1 has the other sign")
    assert not likely.success and "other sign" in likely.message


def test_former_names_warn() -> None:
    log = recording(truth(ROBOT, 1), 2, noise=0.05, seconds=4.0)
    with pytest.warns(DeprecationWarning, match="regularisation"):
        result = hc.identify(ROBOT, log, groups=("inertia",), cutoff=None, lag=0.0, strength=1.0)
    for former, now in {"strength": "regularisation", "doubt": "diagnosis", "lacking": "coloured"}.items():
        with pytest.warns(DeprecationWarning, match=now):
            assert getattr(result, former) is getattr(result, now)
    with pytest.warns(DeprecationWarning, match="validity"):
        assert result.trust(log).names == result.validity(log).names
