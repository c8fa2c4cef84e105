from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from synthetic_logs import arm, motion, recording, truth

import helicoid as hc
from helicoid import InputError, Robot
from helicoid.identification.logs.clock import clock, stretches
from helicoid.identification.logs.filtering import (
    bandwidth,
    derivative,
    low_pass,
    noise_bandwidth,
    outliers,
    repaired,
)
from helicoid.identification.logs.log import DoubtfulLogWarning, Log
from helicoid.identification.logs.plausibility import check
from helicoid.identification.logs.preparation import prepare

ROBOT = arm()


def test_the_low_pass_delays_nothing() -> None:
    t = np.arange(1000) / 100
    slow = np.sin(2 * np.pi * 0.5 * t)[:, None]
    fast = np.sin(2 * np.pi * 20 * t)[:, None]
    np.testing.assert_allclose(low_pass(slow + fast, 100.0, 5.0)[100:-100], slow[100:-100], atol=1e-3)


def test_noise_bandwidth_is_what_white_noise_keeps(rng: np.random.Generator) -> None:
    noise = rng.normal(size=(200_000, 1))
    kept = np.var(low_pass(noise, 100.0, 8.0))
    assert noise_bandwidth(100.0, 8.0) == pytest.approx(kept, rel=0.03)
    assert noise_bandwidth(100.0, None) == 1.0


def test_derivative_and_bandwidth() -> None:
    t = np.arange(2000) / 100
    x = np.column_stack([np.sin(2 * np.pi * t), np.sin(2 * np.pi * 3 * t)])
    slope = 2 * np.pi * np.column_stack([np.cos(2 * np.pi * t), 3 * np.cos(6 * np.pi * t)])
    np.testing.assert_allclose(derivative(x, 100.0)[5:-5], slope[5:-5], atol=2e-3)
    assert bandwidth(x, 100.0) == pytest.approx(3.0, abs=0.3)


def test_spikes_are_found_and_nothing_else() -> None:
    t = np.arange(1000) / 100
    x = np.sin(2 * np.pi * t)[:, None] + 0.01 * np.random.default_rng(0).normal(size=(1000, 1))
    assert not outliers(x).any()
    spiked = x.copy()
    spiked[[100, 500], 0] += 5.0
    assert np.flatnonzero(outliers(spiked)[:, 0]).tolist() == [100, 500]
    np.testing.assert_allclose(repaired(spiked, outliers(spiked)), x, atol=0.1)


def test_a_jittered_clock_is_resampled_and_undone() -> None:
    rng = np.random.default_rng(0)
    t = np.arange(2000) / 200 + rng.uniform(-0.0015, 0.0015, 2000)
    q = np.column_stack([np.sin(2 * t), np.cos(3 * t), np.sin(t)])
    even, note = clock(Log.from_arrays(t, q))
    assert even.resampled and "jitters" in note
    np.testing.assert_allclose(even.onto(q)[:, 0], np.sin(2 * even.t), atol=1e-7)
    np.testing.assert_allclose(even.back(even.onto(q)), q, atol=1e-6)


def test_stamps_that_jitter_on_their_own_are_not_believed() -> None:
    t = np.arange(2000) / 200
    stamps = t + np.random.default_rng(0).uniform(-0.0015, 0.0015, 2000)
    even, note = clock(Log.from_arrays(stamps, np.column_stack([np.sin(2 * t), np.cos(3 * t)])))
    assert not even.resampled and "taken as even" in note


def test_stretches_end_at_gaps() -> None:
    log = recording(ROBOT, 1, seconds=4.0)
    t = np.array(log.t)
    t[150:] += 1.0
    gapped = Log.from_arrays(t, log.q, log.v, log.a, log.tau)
    assert stretches(gapped) == [slice(0, 150), slice(150, 400)]
    samples, notes = prepare(ROBOT, gapped)
    assert [len(s) for s in samples] == [150, 250]
    assert "before sample 150 (t = 2.5 s)" in notes[0]


def test_velocities_and_accelerations_are_derived() -> None:
    t, q, v, a = motion(ROBOT, 3)
    (samples,), _ = prepare(ROBOT, Log.from_arrays(t, q, tau=np.zeros_like(v)))
    inner = samples.weights[:, 0] > 0
    np.testing.assert_allclose(samples.v[inner], v[inner], atol=1e-4)
    np.testing.assert_allclose(samples.a[inner], a[inner], atol=2e-2)


def test_quaternions_survive_smoothing() -> None:
    import helicoid as hc

    robot = hc.load("double_pendulum", base="floating")
    rng = np.random.default_rng(0)
    q = [robot.neutral()]
    v = np.cumsum(rng.normal(0, 0.02, (300, robot.nv)), axis=0)
    for one in v[:-1]:
        q.append(np.asarray(robot.integrate(q[-1], one / 100)))
    flipped = np.array(q)
    flipped[::2, 3:7] *= -1  # the same rotations
    log = Log.from_arrays(np.arange(300) / 100, flipped, tau=np.zeros((300, robot.nv)))
    (samples,), _ = prepare(robot, log, cutoff=10.0)
    np.testing.assert_allclose(np.linalg.norm(samples.q[:, 3:7], axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(samples.v[30:-30], v[30:-30], atol=0.1)


def test_samples_whose_velocity_is_not_that_of_the_position_do_not_count() -> None:
    log = recording(ROBOT, 5)
    v = np.array(log.v)
    v[300:400, 1] += 0.8
    (samples,), notes = prepare(ROBOT, Log.from_arrays(log.t, log.q, v, log.a, log.tau))
    assert np.all(samples.weights[300:400] == 0) and np.all(samples.weights[600:1000] == 1)
    assert any("disagree" in note for note in notes)


def test_slow_joints_are_in_the_dead_zone() -> None:
    log = recording(ROBOT, 5)
    (samples,), _ = prepare(ROBOT, log, dead_zone=0.1)
    slow = np.abs(samples.v) < 0.1
    assert np.all(samples.weights[slow] == 0) and np.all(samples.weights[5:-5][~slow[5:-5]] == 1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q": 57.29578, "v": 57.29578}, "is it in degrees"),
        ({"v": 57.29578}, "degrees per second"),
        ({"tau": 1000.0}, "is it in mN·m"),
        ({"q": 1e-4, "v": 1e-4}, "nothing to identify from"),
    ],
)
def test_wrong_units_are_refused(changed: dict[str, float], message: str) -> None:
    robot = arm()
    log = recording(truth(robot, 1), 1)
    arrays = {k: getattr(log, k) * changed.get(k, 1.0) for k in ("q", "v", "a", "tau")}
    if "tau" in changed:
        arrays["tau"] = arrays["tau"] + 1e6
    with pytest.raises(InputError, match=message):
        check(robot, Log.from_arrays(log.t, **arrays))


def test_a_joint_that_stands_still_is_named() -> None:
    log = recording(ROBOT, 1)
    q, v, a = (np.array(x) for x in (log.q, log.v, log.a))
    q[:, 1], v[:, 1], a[:, 1] = 0.3, 0.0, 0.0
    with pytest.warns(DoubtfulLogWarning, match=r"column 'q\[1\]' moves by 0 only"):
        check(ROBOT, Log.from_arrays(log.t, q, v, a, log.tau))


def test_columns_must_fit_the_robot() -> None:
    log = recording(ROBOT, 1)
    with pytest.raises(InputError, match=r"v has 2 columns, robot .* needs 3"):
        check(ROBOT, Log.from_arrays(log.t, log.q, log.v[:, :2], tau=log.tau))


def test_named_columns_in_another_order_than_the_joints_are_refused() -> None:
    log = recording(ROBOT, 1)
    joints = list(ROBOT.joint_names)
    right = replace(log, columns={"q": tuple(f"q_{joint}" for joint in joints)})
    check(ROBOT, right)
    wrong = replace(log, columns={"q": tuple(f"q_{joint}" for joint in joints[::-1])})
    with pytest.raises(InputError, match=r"columns of q are in another order .* columns={'q': \['q_"):
        check(ROBOT, wrong)


def test_the_noise_of_a_joint_that_stands_still_is_no_motion(rng: np.random.Generator) -> None:
    t = np.arange(2000) / 100
    v = np.column_stack([np.sin(3 * t), 0.01 * rng.normal(size=len(t))])
    assert bandwidth(v, 100.0) < 1.0


@pytest.mark.parametrize("given", [("v", "a"), ()])
def test_torques_in_another_unit_are_doubted_without_effort_limits(given: tuple[str, ...]) -> None:
    joints = [replace(joint, limits=None) for joint in ROBOT.model.joints]
    robot = Robot(ROBOT.model.replaced(joints=joints))
    log = recording(truth(ROBOT, 1), 1)
    arrays = {name: getattr(log, name) for name in given}
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulLogWarning)
        check(robot, Log.from_arrays(log.t, log.q, **arrays, tau=log.tau))
    with pytest.warns(DoubtfulLogWarning, match=r"column 'tau\[1\]' reads .* is it in mN·m"):
        check(robot, Log.from_arrays(log.t, log.q, **arrays, tau=log.tau * [1.0, 1000.0, 1.0]))


def test_delayed_measurements_keep_their_noise() -> None:
    """Half a sample: a straight line between two samples of white noise has half their variance."""
    n = 2000
    noise = np.random.default_rng(0).normal(size=(n, 2))
    log = Log.from_arrays(np.arange(n) / 1000, np.zeros((n, 2)), tau=noise)
    (samples,), _ = prepare(hc.load("planar_2r"), log, cutoff=20.0)
    late = samples.delayed(0.0025)
    assert np.std(late.raw) == pytest.approx(1.0, rel=0.05)
    shifted = np.clip(np.arange(n) + 2, 0, n - 1)
    np.testing.assert_allclose(late.raw - late.y, (samples.raw - samples.y)[shifted])
