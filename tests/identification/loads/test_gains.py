from __future__ import annotations

import numpy as np
import pytest
from synthetic_logs import arm, recording, truth

import helicoid as hc
from helicoid import InputError
from helicoid.identification import torques_from_currents
from helicoid.identification.logs.log import Log

ROBOT = arm()
TRUTH = truth(ROBOT, 1)


def test_gains_of_drives_come_from_a_known_load() -> None:
    gains = np.array([12.0, 9.0, 7.0])
    tip = ROBOT.link_names[-1]
    load = (tip, 3.0, [0.1, 0.2, 0.1], np.diag([0.01, 0.01, 0.01]))
    runs = []
    for robot, seed in ((TRUTH, 2), (TRUTH.with_payload(*load), 3)):
        log = recording(robot, seed, noise=0.05)
        runs.append(Log.from_arrays(log.t, log.q, log.v, log.a, log.tau / gains))
    found, sigma = hc.drive_gains(ROBOT, *runs, *load)
    np.testing.assert_allclose(found, gains, rtol=0.02)
    assert np.all(np.abs(found - gains) < 5 * sigma + 1e-6)
    np.testing.assert_allclose(torques_from_currents(runs[0], gains).tau, runs[0].tau * gains)
    with pytest.raises(InputError, match="3 finite numbers"):
        torques_from_currents(runs[0], [1.0])


def test_gains_that_the_load_does_not_show_are_named() -> None:
    log = recording(TRUTH, 2, seconds=4.0)
    weightless = (ROBOT.link_names[-1], 1e-12, [0.0, 0.0, 0.0], 1e-14 * np.eye(3))
    with pytest.raises(InputError, match="gains of joint_1, joint_2, joint_3 are unidentifiable"):
        hc.drive_gains(ROBOT, log, log, *weightless)


@pytest.mark.parametrize("part", [0.05, 0.1, 0.2])
def test_noise_in_the_currents_causes_no_bias(part: float) -> None:
    """With the whole load known, or its mass alone; within 2 %, and errors are what σ says."""
    gains, rng = np.array([12.0, 9.0, 7.0]), np.random.default_rng(0)
    load = (ROBOT.link_names[-1], 3.0, [0.1, 0.2, 0.1], np.diag([0.01, 0.01, 0.01]))
    runs = []
    for robot, seed in ((TRUTH, 2), (TRUTH.with_payload(*load), 3)):
        log = recording(robot, seed, seconds=60.0, rate=400.0)
        current = log.tau / gains
        current += part * np.sqrt(np.mean(current**2, axis=0)) * rng.normal(size=current.shape)
        runs.append(Log.from_arrays(log.t, log.q, log.v, log.a, current))
    for known in (load, load[:2]):
        found, sigma = hc.drive_gains(ROBOT, *runs, *known)
        assert np.all(np.abs(found - gains) < 3.5 * sigma) and np.all(sigma < 0.1 * part * gains)
        assert np.all(np.abs(found - gains) < 0.02 * gains)
