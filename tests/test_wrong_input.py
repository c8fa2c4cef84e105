"""Arguments of a wrong type are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import helicoid as hc

ARM = hc.load("planar_2r")
REST = np.zeros(2)
WRONG: Any = "x"
MOTION = hc.simulate(ARM, [0.3, 0.2], duration=0.01)

CALLS: dict[str, Callable[[], Any]] = {
    "cut at": lambda: hc.simulate(ARM, duration=0.01).between("a", WRONG),
    "joint names with their Drive": lambda: ARM.with_drives(WRONG),
    "duration and rate": lambda: hc.excitation(ARM, duration=WRONG),
    "sensors measure a motion": lambda: hc.Sensors()(WRONG),
    "between two of": lambda: hc.mpc.Problem(ARM, horizon=2, dt=0.1).add_distance(WRONG, WRONG),
    "increasing times": lambda: hc.mpc.Problem(ARM, grid=WRONG),
    "radius": lambda: hc.mpc.PlacedSphere(WRONG, link="tip"),
    "progress is": lambda: hc.simulate(ARM, duration=0.01, progress=WRONG),
    "packages maps": lambda: hc.load("panda", packages=WRONG),
    "needs a folder": lambda: ARM.gravity.export_c(""),
    "input 'q' must have shape": lambda: ARM.joint_wrenches(np.zeros(3), REST, REST),
    "input 'a' must have shape": lambda: ARM.wrench_regressor("link_2")(REST, REST, np.zeros(6)),
    "elbow": lambda: ARM.joint_wrenches(REST, REST, REST, f_ext={"elbow": np.zeros(6)}),
    "'shoulder'": lambda: ARM.wrench_regressor("shoulder"),
    "expressed_in is": lambda: ARM.joint_wrenches(
        REST, REST, REST, f_ext={"tip": np.zeros(6)}, expressed_in=WRONG
    ),
    "noise takes finite numbers": lambda: hc.Sensors(noise={"wrench": WRONG}, wrenches=["tip"]),
    "wrenches is a list of links": lambda: hc.Sensors(wrenches=WRONG),
    "rate is positive": lambda: hc.Sensors(rate=WRONG),
    "seed is a whole number": lambda: hc.Sensors(seed=WRONG),
    "wrench of tip": lambda: hc.Log([0.0, 0.1], np.zeros((2, 2)), wrenches={"tip": np.zeros((3, 6))}),
    "dL_dq is an array of numbers": lambda: MOTION.gradient(WRONG),
    "dL_dv has the shape": lambda: MOTION.gradient(dL_dv=np.zeros((3, 2))),
    "by some of q0, v0, theta, tau, each once": lambda: MOTION.sensitivity("q0", "q0"),
    "contacts, stiction and variable steps": lambda: hc.simulate(
        ARM, [0.3, 0.2], duration=0.01, method="stiction"
    ).sensitivity(),
    "expected 6 numbers of wrenches": lambda: hc.OnlineIdentifier(ARM, wrenches=["link_2"]).update(
        REST, REST, REST, REST
    ),
    "cutoff is a frequency": lambda: hc.OnlineIdentifier(ARM, cutoff=WRONG),
    "a controller of a parametric robot": lambda: hc.mpc.Adaptive(WRONG, WRONG),
    "an elastic element has a name": lambda: ARM.with_spring("world", "tip", 1.0, name=3),  # type: ignore
}


@pytest.mark.parametrize("words", CALLS)
def test_wrong_kinds_are_refused(words: str) -> None:
    with pytest.raises(hc.HelicoidError, match=words):
        CALLS[words]()


@pytest.mark.parametrize("field", ["damping", "friction", "armature"])
def test_joints_that_would_give_energy_are_doubted(field: str) -> None:
    with pytest.warns(hc.DoubtfulModelWarning, match=f"{field} of joint 'joint_1' is negative"):
        ARM.with_joints(**{field: {"joint_1": -1.0}})
