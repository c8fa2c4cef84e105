"""Estimators against a known truth: exact without noise; unbiased, with calibrated intervals, with noise."""

from __future__ import annotations

import numpy as np
import pytest
from synthetic_logs import arm, motion, recording, truth

from helicoid.identification.identify import identify
from helicoid.identification.linear.equations.regression import Regression, default_groups
from helicoid.identification.linear.options import ESTIMATORS
from helicoid.identification.logs.log import Log
from helicoid.identification.result import Identification

ROBOT = arm()
TRUTH = truth(ROBOT, 1)
EXACT = Regression(TRUTH).parameters.nominal


def wrong_torque(result: Identification, seed: int = 99) -> float:
    """The error of the torque on another motion, relative: what of x matters, and nothing else."""
    _, q, v, a = motion(ROBOT, seed, 4.0)
    expected = Regression(ROBOT).predict(EXACT, q, v, a)
    found = result.regression.predict(result.x, q, v, a)
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if e not in ("consistent", "ridge")])
def test_without_noise_base_parameters_are_exact(estimator: str) -> None:
    log = recording(TRUTH, 2)
    result = identify(ROBOT, log, estimator=estimator, groups=default_groups(), cutoff=None, lag=0.0)
    assert wrong_torque(result) < 1e-8
    assert result.score(log).overall_relative < 1e-8


@pytest.mark.parametrize("estimator", ["consistent", "ridge"])
def test_a_weak_pull_to_the_description_hardly_matters(estimator: str) -> None:
    log = recording(TRUTH, 2)
    result = identify(
        ROBOT, log, estimator=estimator, groups=default_groups(), cutoff=None, lag=0.0, regularisation=1e-4
    )
    assert wrong_torque(result) < 1e-4


@pytest.mark.parametrize(("form", "tolerance"), [("momentum", 2e-3), ("power", 1e-8), ("energy", 2e-3)])
def test_forms_without_acceleration_agree(form: str, tolerance: float) -> None:
    log = recording(TRUTH, 2, seconds=20.0)
    blind = Log.from_arrays(log.t, log.q, log.v, log.a if form == "power" else None, log.tau)
    groups = ("inertia", "viscous", "coulomb", "armature")
    result = identify(ROBOT, blind, estimator="ordinary", form=form, groups=groups, cutoff=None, lag=0.0)
    assert wrong_torque(result) < tolerance


@pytest.mark.slow
def test_errors_fall_with_the_root_of_the_number_of_samples() -> None:
    def error(seconds: float) -> float:
        found = [
            wrong_torque(
                identify(
                    ROBOT,
                    recording(TRUTH, seed, noise=1.0, seconds=seconds),
                    estimator="weighted",
                    groups=default_groups(),
                    cutoff=None,
                    lag=0.0,
                )
            )
            for seed in range(5)
        ]
        return float(np.sqrt(np.mean(np.square(found))))

    assert error(10.0) / error(90.0) == pytest.approx(3.0, rel=0.35)


def coverage(runs: int) -> tuple[float, int]:
    """The part of true values within 1.96 σ, of all parameters that the log tells by themselves."""
    t, q, v, a = motion(ROBOT, 3, 6.0)
    exact = TRUTH.inverse_dynamics(q, v, a, friction=True)
    hits: list[np.ndarray] = []
    for run in range(runs):
        noise = np.random.default_rng(run).normal(size=exact.shape) * np.array([2.0, 1.0, 0.5])
        log = Log.from_arrays(t, q, v, a, exact + noise)
        result = identify(ROBOT, log, estimator="weighted", groups=default_groups(), cutoff=None, lag=0.0)
        finite = np.isfinite(result.sigma)
        hits.append(np.abs(result.x - EXACT)[finite] < 1.96 * result.sigma[finite])
    return float(np.mean(hits)), len(hits[0])


def test_intervals_cover_what_they_say() -> None:
    covered, finite = coverage(4)
    assert finite >= 12 and 0.85 < covered <= 1.0


@pytest.mark.slow
def test_intervals_cover_what_they_say_over_many_runs() -> None:
    covered, _ = coverage(200)
    assert covered == pytest.approx(0.95, abs=0.015)


def test_sigma_allows_for_the_low_pass() -> None:
    """Filtered noise is correlated: σ must not shrink because samples are plenty."""
    log = recording(TRUTH, 2, noise=1.0, seconds=20.0)
    plain = identify(ROBOT, log, estimator="weighted", groups=default_groups(), cutoff=None, lag=0.0)
    smooth = identify(ROBOT, log, estimator="weighted", groups=default_groups(), cutoff=6.0, lag=0.0)
    finite = np.isfinite(plain.sigma) & np.isfinite(smooth.sigma)
    ratio = smooth.sigma[finite] / plain.sigma[finite]
    assert 0.8 < np.median(ratio) < 1.5


def test_robust_loss_ignores_single_bad_samples() -> None:
    log = recording(TRUTH, 2, noise=0.2)
    tau = np.array(log.tau)
    rng = np.random.default_rng(0)
    for start in rng.integers(0, len(tau) - 10, 25):  # too long to be taken for spikes
        tau[start : start + 8] += rng.normal(0, 60, 3)
    spoiled = Log.from_arrays(log.t, log.q, log.v, log.a, tau)
    errors = {
        e: wrong_torque(identify(ROBOT, spoiled, estimator=e, groups=default_groups(), cutoff=None, lag=0.0))
        for e in ("weighted", "huber")
    }
    assert errors["huber"] < 0.3 * errors["weighted"]


@pytest.mark.slow
def test_instruments_remove_the_bias_of_noisy_motion() -> None:
    biased, unbiased = [], []
    for seed in range(3):
        log = recording(TRUTH, seed, noise=0.1, seconds=12.0)
        rng = np.random.default_rng(seed)
        noisy = Log.from_arrays(log.t, log.q, log.v, log.a + 3.0 * rng.normal(size=log.a.shape), log.tau)
        for estimator, found in (("weighted", biased), ("instrumental", unbiased)):
            found.append(
                wrong_torque(
                    identify(ROBOT, noisy, estimator=estimator, groups=default_groups(), cutoff=None, lag=0.0)
                )
            )
    assert np.mean(unbiased) < 0.5 * np.mean(biased)


def test_a_strong_pull_keeps_the_described_bodies() -> None:
    result = identify(
        ROBOT,
        recording(TRUTH, 2),
        estimator="ridge",
        groups=default_groups(),
        cutoff=None,
        lag=0.0,
        regularisation=1e20,
    )
    np.testing.assert_allclose(result.x[:30], ROBOT.parameters.values, rtol=1e-4, atol=1e-6)
