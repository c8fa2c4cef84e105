"""Noise of motions, and predictions that low-pass it and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from synthetic_logs import arm, recording, truth

from helicoid.identification.identify import identify
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.motion_noise import motion_noise, prediction_cutoff

ROBOT = arm()
TRUTH = truth(ROBOT, 1)


def noisy(log: Log, size: float, seed: int = 0) -> Log:
    rng = np.random.default_rng(seed)
    return Log.from_arrays(log.t, log.q, log.v + size * rng.normal(size=log.v.shape), tau=log.tau)


def test_noise_is_measured_whatever_the_motion() -> None:
    log = recording(TRUTH, 2, seconds=8.0)
    small, large = (motion_noise(ROBOT, noisy(log, size)) for size in (0.002, 0.02))
    np.testing.assert_allclose(large / small, 10.0, rtol=0.1)
    assert np.all(motion_noise(ROBOT, Log.from_arrays(log.t, log.q, log.v, tau=log.tau)) < 0.2 * small)


def test_lost_samples_are_no_noise() -> None:
    log = noisy(recording(TRUTH, 2, seconds=8.0), 0.002)
    kept = np.random.default_rng(1).random(len(log)) > 0.02
    some = Log.from_arrays(log.t[kept], log.q[kept], log.v[kept], tau=log.tau[kept])
    np.testing.assert_allclose(motion_noise(ROBOT, some), motion_noise(ROBOT, log), rtol=0.5)


def test_short_logs_keep_the_cutoff() -> None:
    log = recording(TRUTH, 2)[:10]
    assert prediction_cutoff(5.0, np.ones(ROBOT.nv), motion_noise(ROBOT, log)) == 5.0


@pytest.mark.slow
def test_planned_motions_are_predicted_without_rounding_off_friction() -> None:
    result = identify(ROBOT, noisy(recording(TRUTH, 2, noise=0.3, seconds=10.0), 0.02), cutoff=3.0, lag=0.0)
    planned = recording(TRUTH, 9)
    expected = result.regression.predict(result.x, planned.q, planned.v, planned.a)
    np.testing.assert_allclose(result.predict(planned), expected, atol=1e-9 * np.abs(expected).max())
    # A motion as noisy as the fitted one is low-passed as that.
    measured = noisy(planned, 0.02, seed=5)
    left = result.predict(measured) - expected
    raw = result.regression.predict(
        result.x, measured.q, measured.v, np.gradient(measured.v, measured.t, axis=0)
    )
    assert np.linalg.norm(left[50:-50]) < 0.3 * np.linalg.norm((raw - expected)[50:-50])
