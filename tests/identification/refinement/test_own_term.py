"""A friction term that Helicoid does not have works in every part of the library: one row of the table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from synthetic_logs import arm, recording, truth

import helicoid as hc
from helicoid.dynamics.friction import TERMS, FrictionTerm
from helicoid.identification.linear.equations.friction_columns import linear_terms
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.refinement.nonlinear import fit_nonlinear

CUBIC = FrictionTerm(
    "cubic",
    lambda j: j.v**3,
    "N·m·(s/rad)³",
    lambda effort, velocity: effort / velocity**3,
    selection="candidate",
    label="cubic friction",
)
SIZE = np.array([0.3, 0.2])
ROBOT = arm(2)


@pytest.fixture(autouse=True)
def cubic(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The table with one more row."""
    monkeypatch.setitem(TERMS, "cubic", CUBIC)  # type: ignore[arg-type]
    yield


def test_dynamics_and_description(tmp_path: Path) -> None:
    robot = ROBOT.with_joints(cubic=SIZE)
    q, v, a = np.random.default_rng(0).normal(size=(3, 5, 2))
    expected = ROBOT.inverse_dynamics(q, v, a) + SIZE * v**3
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a, friction=True), expected, atol=1e-12)
    robot.to_urdf(tmp_path / "robot.urdf")
    again = hc.load(tmp_path / "robot.urdf")
    np.testing.assert_allclose(again.inverse_dynamics(q, v, a, friction=True), expected, atol=1e-12)


def test_parameters_at_run_time() -> None:
    parametric = ROBOT.parametric("cubic")
    assert parametric.parameters.names == ("joint_1.cubic", "joint_2.cubic")
    q, v, a = np.random.default_rng(1).normal(size=(3, 2))
    expected = ROBOT.inverse_dynamics(q, v, a) + SIZE * v**3
    np.testing.assert_allclose(parametric.inverse_dynamics(q, v, a, SIZE), expected, atol=1e-12)


def test_regressor() -> None:
    q, v, a = np.random.default_rng(2).normal(size=(3, 5, 2))
    Y = Regression(ROBOT, ("cubic",)).regressor(q, v, a)
    np.testing.assert_allclose(Y, v[:, :, None] ** 3 * np.eye(2), atol=1e-12)


def test_simulation_dissipates_what_the_term_takes() -> None:
    robot = ROBOT.with_joints(cubic=SIZE)
    run = hc.simulate(robot, [1.0, 0.5], [0.0, 0.0], duration=1.0, dt=1e-3, friction=True)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    taken = np.trapezoid(np.sum(SIZE * run.v**4, axis=1), run.t)
    assert taken > 0.1
    np.testing.assert_allclose(energy[0] - energy[-1], taken, rtol=1e-3)


def test_identification_finds_it(tmp_path: Path) -> None:
    actual = truth(ROBOT, 1).with_joints(cubic=SIZE)
    result = hc.identify(ROBOT, recording(actual, 2, noise=0.05), cutoff=None, lag=0.0, progress=False)
    assert "cubic" in result.regression.groups
    found = [result.parameters[f"joint_{k}.cubic"] for k in (1, 2)]
    np.testing.assert_allclose(found, SIZE, rtol=0.1)
    assert any("cubic friction" in note for note in result.notes)
    result.to_urdf(tmp_path / "found.urdf")
    test = recording(actual, 3, seconds=1.0)
    predicted = hc.load(tmp_path / "found.urdf").inverse_dynamics(test.q, test.v, test.a, friction=True)
    np.testing.assert_allclose(predicted, result.predict(test), atol=1e-9)
    # A friction model is a function of velocity and takes the place of this one too.
    assert "cubic" not in fit_nonlinear(result, test, "stribeck").regression.groups


def test_a_log_without_it_does_not_ask_for_it() -> None:
    log = recording(truth(ROBOT, 1), 2, noise=0.05)
    result = hc.identify(ROBOT, log, cutoff=None, lag=0.0, progress=False)
    assert result.evidence["cubic"] < 0.7
    found = result.regression.parameters.of(result.x, "cubic")
    assert np.abs(found).max(initial=0.0) < 0.05 * SIZE.max()


def test_structural_identifiability() -> None:
    """The first axis is upright and carries no load; all else of friction is identifiable alone."""
    terms = [name for name in linear_terms() if not name.endswith(("forward", "backward"))]
    found = hc.identifiability(ROBOT, groups=("inertia", *terms, "armature"))
    assert found.method == "structural"
    for name in ("cubic", "root", "spring", "damping", "friction", "load"):
        kinds = [kind for key, kind in found.status.items() if key.endswith(f".{name}")]
        assert kinds == (["none", "alone"] if name == "load" else ["alone", "alone"]), name


def test_structural_identifiability_agrees_with_samples(subtests: pytest.Subtests) -> None:
    rng = np.random.default_rng(3)
    for robot in (ROBOT, hc.load("panda")):
        regression = Regression(robot, ("inertia", *linear_terms(), "armature"))
        q = np.array([robot.random(rng) for _ in range(400)])
        v, a = rng.normal(size=(2, 400, robot.nv))
        samples = type("Motion", (), {"q": q, "v": v, "a": a})
        with subtests.test(robot.name):
            assert hc.identifiability(regression).status == hc.identifiability(regression, samples).status
