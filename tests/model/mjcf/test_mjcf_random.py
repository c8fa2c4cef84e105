"""Random models of MuJoCo: the robots read from them agree with it, and are the same after a round trip."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import casadi as ca
import mujoco
import numpy as np
import pytest
from benchmarks.mjcf import TOLERANCE, Comparison, relative
from hypothesis import given, settings
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid.dynamics.forces.actuation import actuator_torque
from helicoid.dynamics.kinematics.tendons import tendon_lengths
from helicoid.dynamics.physics import nominal
from helicoid.dynamics.recursions.rnea import inverse_dynamics
from random_mjcf import FEATURES, random_spec, specifications
from random_trees import fewest

pytestmark = pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")


def agrees(model: Any) -> None:
    rng = np.random.default_rng(0)
    comparison = Comparison(hc.load(model), model)
    for _ in range(2):
        errors = comparison.errors(rng)
        assert max(errors.values()) < TOLERANCE, errors


def is_the_same_when_read_back(model: Any, folder: Path) -> None:
    """Of what MJCF cannot state, only the spring of a body that moves freely can occur here."""
    robot = hc.load(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot.to_mjcf(folder / "back.xml")
    lost = [str(one.message) for one in caught]
    assert all("the spring of joint" in one and "which is ball" in one for one in lost), lost
    again = hc.load(folder / "back.xml")
    assert (again.nq, again.nv) == (robot.nq, robot.nv)
    assert len(again.model.couplings) == len(robot.model.couplings)
    assert len(again.model.loops) == len(robot.model.loops)
    for name, key in robot.keyframes.items():
        assert_allclose(again.keyframes[name].q, key.q, atol=1e-12)
    rng, ours, theirs = np.random.default_rng(0), _function(robot), _function(again)
    state = robot.random(rng), *rng.normal(size=(2, robot.nv)), rng.normal(size=len(robot.model.actuators))
    if not lost:
        for one, other in zip(ours.call(state), theirs.call(state), strict=True):
            assert relative(np.array(one), np.array(other)) < TOLERANCE


def _function(robot: hc.Robot) -> ca.Function:
    model = robot.model
    q, v, a = (ca.SX.sym(name, n) for name, n in (("q", model.nq), ("v", model.nv), ("a", model.nv)))
    u = ca.SX.sym("u", len(model.actuators))
    dynamics = inverse_dynamics(model, nominal(model), q, v, a)
    outputs = [dynamics, actuator_torque(model, q, v, u), tendon_lengths(model, q)]
    return ca.Function("f", [q, v, a, u], outputs)


@given(specifications())
@fewest
def test_random_models_agree_with_mujoco(spec: mujoco.MjSpec) -> None:
    model = spec.compile()
    if model.nv:
        agrees(model)


@given(specifications())
@fewest
def test_random_models_are_the_same_when_read_back(
    tmp_path_factory: pytest.TempPathFactory, spec: mujoco.MjSpec
) -> None:
    model = spec.compile()
    if model.nv:
        is_the_same_when_read_back(model, tmp_path_factory.mktemp("random"))


@pytest.mark.slow
@given(specifications())
@settings(max_examples=200)
def test_many_random_models_agree_with_mujoco(spec: mujoco.MjSpec) -> None:
    model = spec.compile()
    if model.nv:
        agrees(model)


@pytest.mark.slow
@given(specifications())
@settings(max_examples=200)
def test_many_random_models_are_the_same_when_read_back(
    tmp_path_factory: pytest.TempPathFactory, spec: mujoco.MjSpec
) -> None:
    model = spec.compile()
    if model.nv:
        is_the_same_when_read_back(model, tmp_path_factory.mktemp("random"))


@pytest.mark.slow
def test_every_element_at_once(tmp_path: Path) -> None:
    models = [random_spec(np.random.default_rng(seed), FEATURES).compile() for seed in range(3)]
    assert all(sum(getattr(one, n) for one in models) for n in ("neq", "ntendon", "nu", "nkey", "nsite"))
    for model in models:
        agrees(model)
        is_the_same_when_read_back(model, tmp_path)
