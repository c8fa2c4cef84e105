"""Adaptive MPC: identified parameters, bad samples, and the tracking error beside that without adaptation."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helicoid as hc
from helicoid.errors import InputError
from helicoid.model.inertia import Inertia
from helicoid.mpc.loop.closed_loop import Run
from helicoid.mpc.loop.comparison import Comparison
from helicoid.mpc.loop.handover import possible
from helicoid.simulation import Trajectory

PERIOD = 2e-3  # s
START = np.array([0.4, 0.9])
LOAD = hc.payload(1.5, [0.05, 0.0, 0.0], 1e-3 * np.eye(3))
NOISE = {"q": 1e-5, "v": 2e-4, "tau": 0.05}


@functools.cache
def robot() -> hc.Robot:
    return hc.load("planar_2r")


@functools.cache
def parametric() -> hc.Robot:
    return robot().parametric("payload", payload_link="tip")


@functools.cache
def problem() -> hc.mpc.Problem:
    """Follow a swing of both joints."""
    made = hc.mpc.Problem(parametric(), grid=[0.0, PERIOD, *(PERIOD + 0.03 * np.arange(1, 9))])
    made.add_posture_cost(START, 300.0, end_weight=30.0)
    made.add_velocity_cost(0.01)
    made.add_control_cost(1e-2)
    made.add_limits(position=None)
    return made


def reference(t: np.ndarray) -> np.ndarray:
    return START + np.column_stack([0.5 * np.sin(2.0 * t), 0.6 * np.sin(3.1 * t)])


def targets(t: float) -> dict[str, np.ndarray]:
    return {"posture": reference(t + problem().times)}


def error(t: float, q: np.ndarray) -> float:
    return float(np.linalg.norm(q - reference(np.array([t]))[0]))


def plant(seed: int = 0, theta=None, noise=NOISE) -> hc.Plant:
    moving = hc.jump({0.0: np.zeros(10), 0.5: LOAD}) if theta is None else theta
    return hc.Plant(
        parametric(), START, [1.0, 1.86], theta=moving, noise=noise, period=PERIOD, friction=False, seed=seed
    )


def identifier() -> hc.OnlineIdentifier:
    return hc.OnlineIdentifier(
        robot(), ("payload",), payload_link="tip", noise=0.05, cutoff=80.0, forgetting=0.998
    )


def controller() -> hc.mpc.Controller:
    return hc.mpc.Controller(problem(), period=PERIOD)


# What is handed over ----------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 1.0))
def test_estimates_passed_on_are_physically_consistent(seed: int, size: float) -> None:
    theta = np.random.default_rng(seed).normal(size=10) * np.array([2.0, *[size] * 3, *[size**2] * 6])
    result = possible(theta)
    smallest = np.linalg.eigvalsh(Inertia.from_parameters(result).pseudo)[0]
    assert smallest >= -1e-12
    assert result[0] == max(theta[0], 0.0)
    if theta[0] > 0 and np.linalg.norm(theta[1:4]) <= 0.5 * theta[0]:
        np.testing.assert_array_equal(result[1:4], theta[1:4])


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 5.0))
def test_a_physically_consistent_body_is_passed_on_unchanged(seed: int, mass: float) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 3)) * 0.05
    second = A @ A.T + 1e-4 * np.eye(3)  # second moments about the center, per mass
    inertia = mass * (np.trace(second) * np.eye(3) - second)
    theta = hc.payload(mass, rng.uniform(-0.2, 0.2, 3), inertia)
    np.testing.assert_allclose(possible(theta), theta, atol=1e-9 * mass)


# The loop ---------------------------------------------------------------------------------------------------


@functools.cache
def comparison(seed: int) -> Comparison:
    return hc.mpc.compare(problem(), plant(seed), identifier(), 2.5, targets=targets, error=error)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_load_is_found_and_tracking_recovers(seed: int) -> None:
    result = comparison(seed)
    assert all(run.ok.all() for run in result.runs)
    assert result.adaptive.settled(0, 0.02, since=0.5) < 1.0
    assert result.ratio(1.5) < 1.1
    assert result.fixed.rms(1.5) > 3 * result.informed.rms(1.5)


@pytest.mark.slow
def test_unidentified_parameters_are_not_passed_on() -> None:
    run = comparison(0).adaptive
    soon = (run.t > 0.5) & (run.t < 0.54)
    assert np.all(np.abs(run.theta[soon, 0]) < 0.1)


@pytest.mark.slow
def test_all_estimates_passed_on_are_physically_consistent() -> None:
    handed = np.unique(comparison(0).adaptive.theta, axis=0)
    assert len(handed) > 20
    smallest = [np.linalg.eigvalsh(Inertia.from_parameters(theta).pseudo)[0] for theta in handed]
    assert min(smallest) > -1e-12


@pytest.mark.slow
def test_a_drift_is_followed() -> None:
    moving = hc.drift(np.zeros(10), LOAD, 0.3, 1.5)
    adaptive = hc.mpc.Adaptive(controller(), identifier())
    run = hc.mpc.run_on_plant(adaptive, plant(0, moving), 2.5, targets=targets, error=error)
    assert abs(run.theta[-1, 0] - 1.5) < 0.03


def test_measured_accelerations_may_be_used() -> None:
    adaptive = hc.mpc.Adaptive(controller(), identifier(), hand_over_every=1, time_constant=0.0)
    rng = np.random.default_rng(0)
    for _ in range(150):
        q, v, a = rng.normal(size=(3, 2))
        tau = parametric().inverse_dynamics(q, v, a, LOAD)
        adaptive.step(q, v, tau, a)
    assert adaptive.n_handed_over > 0
    np.testing.assert_allclose(adaptive.theta[0], 1.5, rtol=0.02)


def test_measured_wrenches_may_be_used() -> None:
    """A six-axis sensor in the second joint finds the load; without accelerations a sample is left out."""
    at_wrist = hc.OnlineIdentifier(robot(), ("payload",), payload_link="tip", wrenches=["link_2"], noise=0.05)
    adaptive = hc.mpc.Adaptive(controller(), at_wrist, hand_over_every=1, time_constant=0.0)
    rng = np.random.default_rng(0)
    for _ in range(150):
        q, v, a = rng.normal(size=(3, 2))
        adaptive.step(q, v, a=a, wrenches=parametric().joint_wrenches(q, v, a, LOAD)[1:])
    np.testing.assert_allclose(adaptive.theta[0], 1.5, rtol=0.02)
    adaptive.step(q, v, wrenches=np.zeros((1, 6)))
    assert "left out" in adaptive.message


def test_bad_samples_are_left_out_and_nothing_raises() -> None:
    adaptive, true = hc.mpc.Adaptive(controller(), identifier()), plant()
    bad = {
        20: lambda q, v, tau: (q, v, tau * np.nan),
        40: lambda q, v, tau: (q * np.nan, v, tau),
        60: lambda q, v, tau: (q, v, tau[:1]),
        80: lambda q, v, tau: (q, v, {}),
        90: lambda q, v, tau: (q, v, "no torque"),
    }
    for k in range(600):
        adaptive.set(**targets(true.time))
        seen = (sample := true.measure()).q, sample.v, sample.tau
        tau = adaptive.step(*(bad[k](*seen) if k in bad else seen))
        assert tau.shape == (2,) and np.isfinite(tau).all()
        assert ("left out" in adaptive.message) == (k in bad)
        true.apply(tau)
    np.testing.assert_allclose(adaptive.theta[0], 1.5, rtol=0.03)


def test_the_controller_has_the_parameters_that_are_shown() -> None:
    adaptive = hc.mpc.Adaptive(controller(), identifier())
    seen = []
    for k in range(150):
        tau = parametric().gravity(START, LOAD)
        adaptive.step(START + 0.1 * np.sin(0.3 * k), np.zeros(2), tau)
        seen.append(adaptive.theta)
    np.testing.assert_array_equal(adaptive.controller._memory.theta, adaptive.theta)


def test_what_does_not_fit_together_is_refused() -> None:
    other = hc.OnlineIdentifier(robot(), ("inertia",))
    with pytest.raises(InputError, match="must be the same"):
        hc.mpc.Adaptive(controller(), other)
    with pytest.raises(InputError, match="at least 1"):
        hc.mpc.Adaptive(controller(), identifier(), learn_every=0)
    slow = hc.Plant(parametric(), START, period=0.01)
    with pytest.raises(InputError, match="period"):
        hc.mpc.run_on_plant(controller(), slow, 1.0)
    plain = hc.Plant(robot(), START, period=PERIOD)
    with pytest.raises(InputError, match="informed"):
        hc.mpc.run_on_plant(controller(), plain, 1.0, informed=True)


# Figures of a run -------------------------------------------------------------------------------------------


def made_up(error: np.ndarray, mass: np.ndarray) -> Run:
    n = len(error)
    t = 0.1 * np.arange(n + 1)
    empty = np.zeros((n + 1, 0))
    return Run(
        "", Trajectory(t, empty, empty, empty), error, np.ones(n), np.full(n, 0.2), np.zeros((n, 1)),
        np.full((n, 1), 2.0), t[:-1], mass[:, None], np.ones((n, 1)), np.ones(n, dtype=bool),
    )  # fmt: skip


def test_settled_counts_from_the_last_miss() -> None:
    run = made_up(np.ones(6), np.array([0.0, 2.0, 1.0, 1.97, 2.0, 2.0]))
    assert run.settled(0, 0.02) == pytest.approx(0.3)
    assert run.settled(0, 0.02, since=0.2) == pytest.approx(0.1)
    assert run.settled(0, 0.6) == pytest.approx(0.1)
    assert made_up(np.ones(2), np.array([2.0, 0.0])).settled(0, 0.02) == np.inf


def test_recovery_counts_from_the_last_window_that_was_worse() -> None:
    base = made_up(np.ones(8), np.ones(8))
    learned = made_up(np.array([1.0, 5.0, 5.0, 1.0, 1.0, 1.0, 1.05, 1.0]), np.ones(8))
    result = Comparison(base, base, learned)
    assert result.recovered(0.1, window=0.1) == pytest.approx(0.2)
    assert result.ratio(0.3) == pytest.approx(np.sqrt((4 + 1.05**2) / 5))
    assert result.overhead() == pytest.approx(0.25)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_the_panda_finds_its_load(seed: int) -> None:
    from helicoid.demo.scenario import PICKED_UP, Scenario

    hc.set_compile(True)
    result = Scenario(seed, 5.0).compare()
    assert all(run.ok.all() for run in result.runs)
    assert result.adaptive.settled(0, 0.02, since=PICKED_UP) < 1.0
    assert result.ratio(PICKED_UP + 2.0) < 1.1
    assert result.fixed.rms(PICKED_UP + 2.0) > 5 * result.informed.rms(PICKED_UP + 2.0)


@pytest.mark.slow
def test_two_samples_of_wrenches_identify_the_panda_while_it_is_controlled() -> None:
    """What the thesis of the example claims, in its configuration."""
    import runpy

    example = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "thesis_adaptive_mpc.py"))
    hc.set_compile(True)
    record = example["run"](hc.load("panda"))
    for changed in (0, 100, 200):
        assert record.theta_error[changed] > 1e-3
        assert record.theta_error[changed + 1] < 1e-4  # two samples 10 ms apart may be much alike
        assert np.all(record.theta_error[changed + 2 : changed + 10] < 1e-8)
        assert np.all(record.wrench_error[changed + 1 : changed + 10] < 1e-8)
    assert record.distance[39] < 0.1 * record.distance[0]
