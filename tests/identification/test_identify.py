"""End to end: a synthetic twin of the real logs, and every method of a result."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_logs import arm, motion, recording, truth

import helicoid as hc
from helicoid import InputError, Robot
from helicoid._typing import Array
from helicoid.identification.identify import identify
from helicoid.identification.linear.equations.regression import Regression, default_groups
from helicoid.identification.logs.log import DoubtfulLogWarning, Log
from helicoid.identification.refinement.nonlinear import fit_nonlinear
from helicoid.identification.result import Identification

ROBOT = arm()
TRUTH = truth(ROBOT, 1)


@pytest.fixture(scope="module")
def twin() -> tuple[Identification, list[str]]:
    """As from a real robot: noisy torques, no accelerations, noisy velocities, defaults only."""
    log = recording(TRUTH, 2, noise=0.7, seconds=10.0)
    rng = np.random.default_rng(0)
    noisy = Log.from_arrays(log.t, log.q, log.v + 0.02 * rng.normal(size=log.v.shape), tau=log.tau)
    reported: list[str] = []
    return identify(ROBOT, noisy, progress=lambda what, done: reported.append(what)), reported


def test_the_twin_predicts_another_motion(twin: tuple[Identification, list[str]]) -> None:
    result, reported = twin
    test = recording(TRUTH, 77)
    before = ROBOT.inverse_dynamics(test.q, test.v, test.a)
    described = np.linalg.norm(before - test.tau) / np.linalg.norm(test.tau)
    score = result.score(test)
    assert score.overall_relative < 0.03 < 0.15 < described
    assert result.training.overall_relative <= result.held_out.overall_relative < 0.08
    assert result.cutoff is not None and result.lag == 0.0
    assert "overall" in str(score) and any("low-passed" in note for note in result.notes)
    assert {"Selecting the cut-off of the low-pass", "Fitting"} <= set(reported)


def test_predictions_have_a_row_for_each_sample(twin: tuple[Identification, list[str]]) -> None:
    result, _ = twin
    test = recording(TRUTH, 78, seconds=3.0)
    t = np.array(test.t) + np.random.default_rng(0).uniform(-0.002, 0.002, len(test))
    q, v, a = (np.column_stack([np.interp(t, test.t, c) for c in x.T]) for x in (test.q, test.v, test.a))
    t[200:] += 5.0  # a gap as well
    predicted = result.predict(Log.from_arrays(t, q, v, a))
    assert predicted.shape == (len(test), 3) and np.all(np.isfinite(predicted))


def test_a_robot_that_stands_still_is_predicted_too(twin: tuple[Identification, list[str]]) -> None:
    result, _ = twin
    still = Log.from_arrays(np.arange(50) / 100, np.tile([0.3, -0.4, 0.5], (50, 1)))
    expected = result.robot.inverse_dynamics([0.3, -0.4, 0.5], np.zeros(3), np.zeros(3), friction=True)
    np.testing.assert_allclose(result.predict(still), np.tile(expected, (50, 1)), atol=1e-6)


def test_the_urdf_read_back_is_the_identified_robot(
    twin: tuple[Identification, list[str]], tmp_path: Path
) -> None:
    result, _ = twin
    result.to_urdf(tmp_path / "identified.urdf")
    again = hc.load(tmp_path / "identified.urdf")
    _, q, v, a = motion(ROBOT, 5, 0.2)
    expected = result.robot.inverse_dynamics(q, v, a, friction=True)
    np.testing.assert_allclose(again.inverse_dynamics(q, v, a, friction=True), expected, rtol=1e-8, atol=1e-8)


def falling(robot: Robot, seconds: float = 0.5, dt: float = 1e-3) -> np.ndarray:
    q, v = np.array([0.3, -0.5, 0.8]), np.zeros(3)
    for _ in range(round(seconds / dt)):
        v = v + dt * robot.forward_dynamics(q, v, np.zeros(3), friction=True, smoothing=0.1)
        q = q + dt * v
    return q


def test_the_identified_robot_falls_as_the_true_one(twin: tuple[Identification, list[str]]) -> None:
    result, _ = twin
    expected, described = falling(TRUTH), falling(ROBOT)
    off = np.linalg.norm(falling(result.robot) - expected)
    assert off < 0.1 * np.linalg.norm(described - expected)


def test_identifiable_values_are_found(twin: tuple[Identification, list[str]]) -> None:
    plain = identify(ROBOT, recording(TRUTH, 2, noise=0.1), groups=default_groups(), cutoff=None, lag=0.0)
    names = [f"{joint}.damping" for joint in ROBOT.joint_names]
    damping = np.concatenate([b.joint.damping for b in TRUTH.model.bodies])
    np.testing.assert_allclose([plain.parameters[name] for name in names], damping, atol=0.05)
    assert plain.parameters.sigma.shape == (len(plain.parameters),)
    assert names[0] in str(plain.parameters) and "held out" in repr(plain)


@pytest.mark.slow
def test_a_lag_is_found_and_undone() -> None:
    log = recording(TRUTH, 2, noise=0.2, seconds=6.0)
    late = Log.from_arrays(log.t[:-6], log.q[:-6], log.v[:-6], log.a[:-6], log.tau[:-6])
    shifted = Log.from_arrays(log.t[:-6], log.q[6:], log.v[6:], log.a[6:], log.tau[:-6])
    assert identify(ROBOT, late, groups=default_groups(), cutoff=8.0, regularisation=1.0).lag == 0.0
    result = identify(ROBOT, shifted, groups=default_groups(), cutoff=8.0, regularisation=1.0)
    assert result.lag == pytest.approx(0.06, abs=0.004)
    assert result.score(shifted).overall_relative < 0.03


def test_the_evidence_of_a_term_follows_the_log() -> None:
    log = recording(TRUTH, 2, noise=0.3, seconds=6.0)
    quick = {"cutoff": None, "lag": 0.0}
    plain = identify(ROBOT, log, **quick)
    assert plain.evidence["spring"] < 0.7 and plain.evidence["load"] < 0.7
    if "spring" in plain.regression.groups:
        assert np.abs(plain.regression.parameters.of(plain.x, "spring")).max() < 0.7
    sprung = Log.from_arrays(log.t, log.q, log.v, log.a, log.tau + 30.0 * log.q)
    result = identify(ROBOT, sprung, **quick)
    assert result.evidence["spring"] > 0.99
    assert any(f"springs {result.evidence['spring']:.2f}" in note for note in result.notes)
    np.testing.assert_allclose([b.joint.stiffness[0] for b in result.robot.model.bodies], 30.0, rtol=0.05)


def test_the_average_changes_little_where_the_log_does() -> None:
    """Springs that the log hardly shows: terms that are taken or left whole would make jumps."""
    found, evidence = [], []
    test = recording(TRUTH, 77)
    log = recording(TRUTH, 2, noise=0.3, seconds=6.0)
    for stiffness in np.linspace(0.0, 2.0, 9):
        own = Log.from_arrays(log.t, log.q, log.v, log.a, log.tau + stiffness * log.q)
        result = identify(ROBOT, own, cutoff=None, lag=0.0)
        found.append(result.predict(test) - stiffness * np.asarray(test.q))
        evidence.append(result.evidence["spring"])
    size = np.linalg.norm(np.asarray(test.tau))
    steps = [np.linalg.norm(b - a) / size for a, b in pairwise(found)]
    assert evidence[0] < 0.7 and evidence[-1] > 0.95
    assert max(steps) < 0.04  # 0.08 where springs are taken or left


def test_slow_motions_excite_friction_at_high_speed_little() -> None:
    """Extrapolation to motions ten times as fast, by the average of both shapes of friction."""
    t, q, v, a = motion(ROBOT, 5, seconds=6.0)
    slow = 0.1 * np.median(ROBOT.limits.velocity) / np.abs(v).max()
    tau = TRUTH.inverse_dynamics(q, slow * v, slow**2 * a, friction=True)
    tau += 0.3 * np.random.default_rng(0).normal(size=tau.shape)
    log = Log.from_arrays(t / slow, q, slow * v, slow**2 * a, tau)
    result = identify(ROBOT, log, cutoff=None, lag=0.0)
    assert result.evidence["root"] < 0.7
    assert result.score(recording(TRUTH, 77)).overall_relative < 0.06


def test_samples_that_repeat_each_other_do_not_outweigh_the_description() -> None:
    """Five times as many samples of one error of the model are redundant: the regularisation grows with them.

    White noise averages out, so that with it they tell more.
    """
    log = recording(TRUTH, 3, seconds=6.0)
    quick = {"groups": default_groups(), "cutoff": None, "lag": 0.0}

    def ratio(noise: Array) -> float:
        many = Log.from_arrays(log.t, log.q, log.v, log.a, log.tau + noise)
        few = Log.from_arrays(log.t[::5], log.q[::5], log.v[::5], log.a[::5], (log.tau + noise)[::5])
        found, some = (identify(ROBOT, one, **quick).regularisation for one in (many, few))
        assert some > 5
        return found / some

    assert ratio(2.0 * np.sin(3 * np.asarray(log.q))) == pytest.approx(5, rel=0.1)
    assert 1.5 < ratio(0.3 * np.random.default_rng(0).normal(size=log.tau.shape)) < 4


def test_several_logs_are_one_problem() -> None:
    logs = [recording(TRUTH, seed, noise=0.3, seconds=4.0) for seed in (2, 3)]
    result = identify(ROBOT, logs, groups=default_groups(), cutoff=None, lag=0.0, regularisation=1.0)
    assert result.score(recording(TRUTH, 9)).overall_relative < 0.02


def test_wrenches_identify_what_torques_cannot() -> None:
    links = [body.name for body in ROBOT.model.bodies]
    t, q, v, a = motion(ROBOT, 2, 4.0)
    exact = TRUTH.parameters.values
    read = Regression(ROBOT, ("inertia",), wrenches=links[2:3]).predict(exact, q, v, a)
    log = Log.from_arrays(t, q, v, a, wrenches={links[2]: read})
    result = identify(ROBOT, log, estimator="ordinary", cutoff=None, lag=0.0)
    np.testing.assert_allclose(result.x[20:30], exact[20:30], atol=1e-8)
    assert result.score(log).overall_relative < 1e-8


def test_a_floating_robot_is_identified_from_joint_torques_and_an_unactuated_base() -> None:
    robot = hc.load(hc_floating(), base="floating")
    actual = robot.with_parameters(robot.parameters.values * 1.3)
    rng = np.random.default_rng(0)
    t = np.arange(600) / 200
    v = np.column_stack([np.sin(w * t + p) for w, p in rng.uniform(1.0, 6.0, (robot.nv, 2))])
    q = [robot.random(1)]
    for one, two in pairwise(v):
        q.append(np.asarray(robot.integrate(q[-1], (one + two) / 400)))
    a = np.gradient(v, t, axis=0, edge_order=2)
    tau = actual.inverse_dynamics(np.array(q), v, a)
    log = Log.from_arrays(t, np.array(q), v, a, tau)
    result = identify(robot, log, estimator="ordinary", groups=("inertia",), cutoff=None, lag=0.0)
    assert result.score(log).overall_relative < 1e-6
    assert result.x[0] + result.x[10] == pytest.approx(1.3 * 3.0, rel=1e-6)


def hc_floating() -> str:
    """Two bodies on a hinge."""
    body = (
        '<inertial><mass value="{}"/><origin xyz="0.1 0 0.2"/>'
        '<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    return (
        f'<robot name="hinge"><link name="a">{body.format(2)}</link><link name="b">{body.format(1)}</link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>'
        "</robot>"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimator": "magic"}, "no estimator is called 'magic'; there are: consistent"),
        ({"form": "impulse"}, "no form of equations is called 'impulse'"),
        ({"groups": ("drag",)}, "no group of unknowns is called 'drag'"),
    ],
)
def test_options_that_cannot_be_met_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        identify(ROBOT, recording(TRUTH, 1, seconds=2.0), **arguments)


def test_a_log_without_torques_is_refused() -> None:
    log = recording(TRUTH, 1, seconds=2.0)
    with pytest.raises(InputError, match="neither torques nor wrenches"):
        identify(ROBOT, Log.from_arrays(log.t, log.q, log.v))


@pytest.mark.parametrize("log", [7, ROBOT, [7]])
def test_what_is_no_log_is_refused(log: object) -> None:
    with pytest.raises(InputError, match=r"a log is made by hc.Log.from_csv\(path\)"):
        identify(ROBOT, log)  # type: ignore[arg-type]


@pytest.mark.parametrize("log", ["run.csv", ["run.csv"]])
def test_a_file_that_is_missing_is_named(log: object) -> None:
    with pytest.raises(InputError, match=r"run\.csv: there is no such file"):
        identify(ROBOT, log)


def test_files_are_read_where_no_workers_are_named(tmp_path: Path) -> None:
    log = recording(TRUTH, 1, seconds=2.0)
    np.savez(tmp_path / "run.npz", t=log.t, q=log.q, v=log.v, a=log.a, tau=log.tau)
    options: dict[str, Any] = {"groups": ("inertia",), "cutoff": None, "lag": 0.0, "regularisation": 1.0}
    of_file, of_log = (identify(ROBOT, one, **options) for one in (str(tmp_path / "*.npz"), log))
    np.testing.assert_array_equal(of_file.x, of_log.x)


@pytest.mark.parametrize(
    "ask",
    [
        lambda name: identify(name, recording(TRUTH, 1, seconds=2.0)),
        hc.identifiability,
        hc.excitation,
        hc.OnlineIdentifier,
    ],
)
def test_the_name_of_a_robot_is_not_a_robot(ask: Callable[[str], object]) -> None:
    with pytest.raises(InputError, match=r"takes a robot, such as hc.load\('panda'\); got 'ur5'"):
        ask("ur5")


def test_the_identified_robot_keeps_actuators_and_constraints() -> None:
    planar = hc.load("planar_2r")
    held = planar.with_actuators("joint_1").with_contact("tip", kind="normal")
    log = recording(truth(planar, 1), 1, seconds=4.0)
    linear = identify(held, log, groups=("inertia", "viscous", "coulomb"), cutoff=None, regularisation=1.0)
    for result in (linear, fit_nonlinear(linear, log, "stribeck")):
        assert result.robot.actuators == ("joint_1",)
        assert [one.name for one in result.robot.constraints] == ["tip_contact"]


def test_a_joint_that_stands_still_keeps_its_described_friction() -> None:
    described = ROBOT.with_joints(damping=0.3)
    t, q, v, a = motion(ROBOT, 2, 6.0)
    q[:, 1], v[:, 1], a[:, 1] = 0.4, 0.0, 0.0
    tau = TRUTH.inverse_dynamics(q, v, a, friction=True)
    log = Log.from_arrays(t, q, v, a, tau + 0.05 * np.random.default_rng(0).normal(size=tau.shape))
    with pytest.warns(DoubtfulLogWarning, match=r"'q\[1\]' moves by 0 only"):
        result = identify(described, log, cutoff=None, lag=0.0)
    name = ROBOT.joint_names[1]
    for unknown, value in (("damping", 0.3), ("friction", 0.0), ("armature", 0.0)):
        k = result.regression.parameters.index(f"{name}.{unknown}")
        assert result.x[k] == value and result.sigma[k] == np.inf
    joint = result.robot.model.joint(name)
    assert joint.damping[0] == 0.3 and joint.armature[0] == 0.0
    assert result.score(recording(TRUTH, 9)).overall_relative < 0.5


def test_friction_of_a_joint_at_rest_is_not_identified_from_its_noise() -> None:
    t, q, v, a = motion(ROBOT, 2, 6.0)
    q[:, 1], v[:, 1], a[:, 1] = 0.4, 0.0, 0.0
    tau = TRUTH.inverse_dynamics(q, v, a, friction=True)
    noisy = v + 0.005 * np.random.default_rng(0).normal(size=v.shape)
    with pytest.warns(DoubtfulLogWarning):
        result = identify(ROBOT, Log.from_arrays(t, q, noisy, a, tau), cutoff=None, lag=0.0)
    k = result.regression.parameters.index(f"{ROBOT.joint_names[1]}.friction")
    assert result.x[k] == 0.0 and result.sigma[k] == np.inf
    test = recording(TRUTH, 9)
    low, high = result.prediction_interval(test)
    assert np.mean((low <= test.tau) & (test.tau <= high), axis=0)[1] > 0.9


@pytest.mark.parametrize(("seconds", "short"), [(1.0, True), (6.0, False)])
def test_a_short_log_is_called_short(seconds: float, short: bool) -> None:
    log = recording(TRUTH, 2, noise=0.1, seconds=seconds)
    result = identify(ROBOT, log, groups=default_groups(), cutoff=None, lag=0.0, regularisation=1.0)
    assert any("too short" in note and note.startswith("Warning") for note in result.notes) == short
