"""The identified robot is the model that predicts: one friction, whoever evaluates it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from synthetic_logs import arm, recording, truth

import helicoid as hc
from helicoid import Robot
from helicoid.identification.linear.equations.regression import default_groups
from helicoid.identification.refinement.friction_models import MODELS
from helicoid.identification.refinement.nonlinear import fit_nonlinear

ROBOT = arm(2)
TRUTH = truth(ROBOT, 1).with_joints(load=0.1, root=0.2)
LOG = recording(TRUTH, 2, noise=0.05, seconds=4.0)
OPTIONS = {"cutoff": None, "lag": 0.0, "regularisation": 1.0}


def assert_same(result: hc.Identification, robot: Robot) -> None:
    test = recording(TRUTH, 3, seconds=1.0)
    expected = result.predict(test)
    found = robot.inverse_dynamics(test.q, test.v, test.a, friction=True)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("extra", [(), ("root",), ("root", "load", "spring"), ("coulomb_forward",)])
def test_the_robot_predicts_as_the_result_does(extra: tuple[str, ...], tmp_path: Path) -> None:
    result = hc.identify(ROBOT, LOG, groups=(*default_groups(), *extra), **OPTIONS)
    assert_same(result, result.robot)
    result.to_urdf(tmp_path / "found.urdf")
    assert_same(result, hc.load(tmp_path / "found.urdf"))


@pytest.mark.parametrize(
    "model", [m if m == "stribeck" else pytest.param(m, marks=pytest.mark.slow) for m in MODELS]
)
def test_friction_of_other_shapes_is_in_the_robot_too(model: str) -> None:
    linear = hc.identify(ROBOT, LOG, groups=(*default_groups(), "load"), **OPTIONS)
    result = fit_nonlinear(linear, LOG, model)
    assert_same(result, result.robot)


@pytest.mark.parametrize("groups", [default_groups(), (*default_groups(), "spring"), ("inertia", "viscous")])
def test_what_is_described_and_not_asked_for_stays(groups: tuple[str, ...]) -> None:
    """A spring with another rest position, static friction and armature of the description are in both."""
    stated = {"stiffness": 3.0, "rest": [0.4, -0.2], "offset": 0.3, "armature": 0.1}
    dry = {"friction": 0.4, "static_friction": 0.9, "stribeck_velocity": 0.3}
    described = ROBOT.with_joints(**stated, **dry)
    actual = TRUTH.with_joints(load=0, root=0, **stated, **dry)
    log = recording(actual, 2, seconds=4.0)
    result = hc.identify(described, log, groups=groups, **OPTIONS)
    assert_same(result, result.robot)
    if groups != ("inertia", "viscous"):  # the truth lies among what is fitted
        assert result.score(recording(actual, 5, seconds=2.0)).overall_relative < 1e-3
