"""Arguments of a wrong type are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import helicoid as hc

ARM = hc.load("planar_2r")
WRONG: Any = "x"

CALLS: dict[str, Callable[[], Any]] = {
    "cut at": lambda: hc.simulate(ARM, duration=0.01).between("a", WRONG),
    "joint names with their Drive": lambda: ARM.with_drives(WRONG),
    "duration and rate": lambda: hc.excitation(ARM, duration=WRONG),
    "sensors measure a motion": lambda: hc.Sensors()(WRONG),
    "between two of": lambda: hc.mpc.Problem(ARM, horizon=2, dt=0.1).add_distance(WRONG, WRONG),
    "increasing times": lambda: hc.mpc.Problem(ARM, grid=WRONG),
    "radius": lambda: hc.mpc.Sphere(WRONG, link="tip"),
    "progress is": lambda: hc.simulate(ARM, duration=0.01, progress=WRONG),
    "packages maps": lambda: hc.load("panda", packages=WRONG),
    "needs a folder": lambda: ARM.gravity.export_c(""),
}


@pytest.mark.parametrize("words", CALLS)
def test_wrong_kinds_are_refused(words: str) -> None:
    with pytest.raises(hc.HelicoidError, match=words):
        CALLS[words]()


@pytest.mark.parametrize("field", ["damping", "friction", "armature"])
def test_joints_that_would_give_energy_are_doubted(field: str) -> None:
    with pytest.warns(hc.DoubtfulModelWarning, match=f"{field} of joint 'joint_1' is negative"):
        ARM.with_joints(**{field: {"joint_1": -1.0}})
