"""Validity and prediction intervals of a result for unseen motions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synthetic_logs import arm, recording, truth

import helicoid as hc
from helicoid import InputError
from helicoid.identification.linear.equations.regression import default_groups

ROBOT = arm()
TRUTH = truth(ROBOT, 1)
OPTIONS = {"groups": default_groups(), "cutoff": None, "lag": 0.0, "regularisation": 10.0}


@pytest.fixture(scope="module")
def result() -> hc.Identification:
    return hc.identify(ROBOT, recording(TRUTH, 2, noise=0.5, seconds=8.0), **OPTIONS)


def test_intervals_cover_what_another_motion_needs(result: hc.Identification) -> None:
    test = recording(TRUTH, 9, noise=0.5, seconds=6.0)
    low, high = result.prediction_interval(test)
    assert test.tau is not None
    assert 0.9 < np.mean((low <= test.tau) & (test.tau <= high)) < 0.99
    narrow = result.prediction_interval(test, 0.5)
    assert np.all(narrow[1] - narrow[0] < high - low)
    with pytest.raises(InputError, match="level is a probability"):
        result.prediction_interval(test, 95)


def test_validity_covers_a_motion_like_the_log_and_not_a_faster_one(result: hc.Identification) -> None:
    assert result.validity(result.logs[0])
    log = recording(TRUTH, 9, seconds=4.0)
    fast = hc.Log.from_arrays(log.t / 4, log.q, 4 * log.v, 16 * log.a, log.tau)
    found = result.validity(fast)
    assert not found and not found.ok.any()
    assert "times what was recorded" in str(found) and "Validity(" in repr(found)


def test_parameters_known_to_a_small_part_of_the_torque_are_valid_however_good_the_sensors(
    result: hc.Identification,
) -> None:
    assert result.unexplained is not None and result.posterior is not None
    precise = replace(result, unexplained=1e-6 * result.unexplained, posterior=1e-4 * result.posterior)
    found = precise.validity(result.logs[0])
    assert found and np.all(found.uncertainty > 0)
    unknown = replace(precise, posterior=1e6 * result.posterior).validity(result.logs[0])
    assert not unknown.ok.any() and "leaves unidentifiable" in str(unknown)


def test_model_errors_grow_with_speed_and_noise_does_not(result: hc.Identification) -> None:
    log, unexplained = result.logs[0], result.unexplained
    assert unexplained is not None and result.posterior is not None and result.coloured is not None
    assert np.all(result.coloured < 0.1)  # white noise is all that was added
    fast = hc.Log.from_arrays(log.t / 3, log.q, 3 * log.v, 9 * log.a)
    for motion, times in ((log, 1.0), (fast, 3.0)):
        model_error = replace(result, posterior=0 * result.posterior, coloured=np.ones(3))
        low, high = model_error.prediction_interval(motion)
        width = np.sqrt(np.mean((high - low) ** 2, axis=0))
        np.testing.assert_allclose(width / unexplained, 2 * 1.959964 * times, rtol=0.05)


def test_intervals_are_wider_near_rest_where_friction_changes_its_sign() -> None:
    """Stribeck friction is in no term of the fit: its errors are at slow samples alone."""
    true = ROBOT.with_joints(friction=1.0, static_friction=3.0, stribeck_velocity=0.2)

    def log(seed: int) -> hc.Log:
        motion = recording(TRUTH, seed, seconds=6.0)
        tau = true.inverse_dynamics(motion.q, motion.v, motion.a, friction=True)
        noisy = tau + 0.1 * np.random.default_rng(seed).normal(size=tau.shape)
        return hc.Log.from_arrays(motion.t, motion.q, motion.v, motion.a, noisy)

    found, test = hc.identify(ROBOT, log(3), **OPTIONS), log(4)
    low, high = found.prediction_interval(test)
    assert test.tau is not None and test.v is not None
    slow, covered = np.abs(test.v) < 0.15, (low <= test.tau) & (test.tau <= high)
    assert (high - low)[slow].mean() > 1.5 * (high - low)[~slow].mean()
    assert covered[slow].mean() > 0.9 and covered[~slow].mean() > 0.9


def test_one_frequency_is_named_and_does_no_harm() -> None:
    """q̈ = -ω² q: spring and armature cancel in training; another frequency shows what was made of that."""
    rng, robot = np.random.default_rng(0), hc.serial_chain(2)

    def log(omega: float, noise: float) -> hc.Log:
        t = np.arange(1200) / 100
        phase = omega * t[:, None] + [0.3, 1.2]
        q, v, a = 0.7 * np.sin(phase), 0.7 * omega * np.cos(phase), -0.7 * omega**2 * np.sin(phase)
        tau = robot.inverse_dynamics(q, v, a) + 0.5 * v + np.tanh(v / 0.05) + 0.3 * np.sin(3 * q)
        return hc.Log.from_arrays(t, q, v, a, tau + noise * rng.normal(size=tau.shape))

    def both() -> hc.Log:
        slow, fast = log(0.5, 0.02), log(1.0, 0.02)
        q, v, a = ((getattr(slow, x) + getattr(fast, x)) / 2 for x in "qva")
        tau = robot.inverse_dynamics(q, v, a) + 0.5 * v + np.tanh(v / 0.05)
        return hc.Log.from_arrays(slow.t, q, v, a, tau)

    result = hc.identify(robot, log(0.5, 0.02), cutoff=None, lag=0.0, groups=(*default_groups(), "spring"))
    assert result.score(log(1.0, 0.0)).overall_relative < 0.1
    note = next(note for note in result.notes if "moved with one frequency" in note)
    assert "joint_1 (0.08 Hz), joint_2 (0.08 Hz)" in note and "such as 0.16 Hz" in note
    assert not any("one frequency" in n for n in hc.identify(robot, both(), **OPTIONS).notes)


@pytest.mark.parametrize("armature", [0.0, 2.0])
def test_with_one_frequency_armature_is_taken_only_where_it_is(armature: float) -> None:
    """There it looks like the inertia of bodies and like their weight."""
    robot, t = hc.serial_chain(2), np.arange(1200) / 100
    phase = 2.0 * t[:, None] + [0.3, 1.2]
    q, v, a = 0.7 * np.sin(phase), 1.4 * np.cos(phase), -2.8 * np.sin(phase)
    tau = truth(robot, 1).with_joints(armature=armature).inverse_dynamics(q, v, a, friction=True)
    tau += 0.05 * np.random.default_rng(0).normal(size=tau.shape)
    result = hc.identify(robot, hc.Log.from_arrays(t, q, v, a, tau), cutoff=None, lag=0.0)
    assert (result.evidence["armature"] > 0.7) == (armature > 0)


def test_heavy_tails_and_torques_beyond_limits_are_reported() -> None:
    log = recording(TRUTH, 2, noise=0.05, seconds=6.0)
    assert log.tau is not None
    effort = ROBOT.limits.effort
    bad, rng = np.array(log.tau), np.random.default_rng(0)
    bad[rng.random(len(bad)) < 0.02, 1] += 0.3 * effort[1] * rng.choice([-1, 1])
    tails = hc.identify(ROBOT, hc.Log.from_arrays(log.t, log.q, log.v, log.a, bad), **OPTIONS)
    assert any("huber" in note or "spikes" in note for note in tails.notes)
    bad = np.array(log.tau)
    bad[200:240, 1] = 1.5 * effort[1]
    beyond = hc.identify(ROBOT, hc.Log.from_arrays(log.t, log.q, log.v, log.a, bad), **OPTIONS)
    assert any("beyond the effort limits" in note for note in beyond.notes)
    assert beyond.score(recording(TRUTH, 9, seconds=3.0)).overall_relative < 0.05


@pytest.mark.parametrize("estimator", ["ordinary", "weighted", "total"])
def test_without_a_prior_estimates_stay_finite(estimator: str) -> None:
    """The first axis is upright: the mass of its body has an effect by rounding alone."""
    log = recording(TRUTH, 2, noise=0.05, seconds=4.0)
    result = hc.identify(ROBOT, log, estimator=estimator, groups=default_groups(), cutoff=None, lag=0.0)
    assert np.abs(result.x).max() < 1e3


def test_intervals_allow_for_a_spring_that_was_taken_for_inertia() -> None:
    """With one frequency no fit can know; at another the interval is wide enough for both."""
    robot, t = hc.serial_chain(2), np.arange(1200) / 100
    rng = np.random.default_rng(3)

    def log(omega: float, noise: float) -> hc.Log:
        phase = omega * t[:, None] + [0.3, 1.2]
        q, v, a = 0.7 * np.sin(phase), 0.7 * omega * np.cos(phase), -0.7 * omega**2 * np.sin(phase)
        tau = robot.inverse_dynamics(q, v, a) + 0.02 * robot.limits.effort * q + 0.5 * v
        return hc.Log.from_arrays(t, q, v, a, tau + noise * rng.normal(size=tau.shape))

    result = hc.identify(robot, log(1.5, 0.05), cutoff=None, lag=0.0)
    assert len(result.ambiguous_springs) == 2
    test = log(0.7, 0.0)
    low, high = result.prediction_interval(test)
    assert test.tau is not None
    assert np.mean((low <= test.tau) & (test.tau <= high)) > 0.9
    known = np.subtract(*result.prediction_interval(log(1.5, 0.0)))
    assert np.mean(high - low) > 1.2 * np.mean(np.abs(known))
