"""Jerk-limited motion to step targets."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import helicoid as hc
from helicoid.control import OnlineMotion
from helicoid.errors import HelicoidError, InputError

DT, VELOCITY, ACCELERATION, JERK = 0.01, 1.5, 5.0, 50.0


@pytest.fixture
def motion() -> OnlineMotion:
    return OnlineMotion(hc.load("planar_2r"), ACCELERATION, JERK, VELOCITY, dt=DT)


def test_one_joint_arrives_in_the_time_of_the_textbook(motion):
    """A distance too short for any limit but that of jerk: four equal phases, T = 4 (d / (2 j))^(1/3)."""
    distance = 0.02
    motion.reset([0.0, 0.0])
    steps = 0
    while not motion.arrived:
        reference = motion.step([distance, 0.0])
        steps += 1
    assert abs(steps * DT - 4 * np.cbrt(distance / (2 * JERK))) <= DT
    np.testing.assert_allclose(reference.q, [distance, 0.0], atol=1e-9)


def test_limits_hold_whatever_the_target_does(motion, rng):
    motion.reset([0.3, -0.2])
    target = np.zeros(2)
    states = []
    for k in range(400):
        if k % 25 == 0:
            target = rng.uniform(-2, 2, 2)
        states.append(motion.step(target))
        assert motion.ok
    q, v, a = (np.array(x) for x in zip(*states, strict=True))
    for values, limit in ((v, VELOCITY), (a, ACCELERATION), (np.diff(a, axis=0) / DT, JERK)):
        assert np.abs(values).max() <= limit * (1 + 1e-6)
        assert np.abs(values).max() > 0.9 * limit  # it is in a hurry
    np.testing.assert_allclose(np.diff(q, axis=0), DT * (v[1:] + v[:-1]) / 2, atol=1e-5)


def test_bad_targets_are_left_out(motion):
    motion.reset([0.0, 0.0])
    motion.step([0.5, 0.5])
    for bad in ({"target": [np.nan, 0.0]}, {"target": [0.1, 0.1], "target_velocity": [99.0, 0.0]}):
        reference = motion.step(**bad)
        assert not motion.ok
        assert motion.status == "bad reference"
        assert all(np.isfinite(part).all() for part in reference)
    while not motion.arrived:
        reference = motion.step([0.5, 0.5])
    np.testing.assert_allclose(reference.q, [0.5, 0.5], atol=1e-9)


def test_wrong_input_is_refused_by_name(motion):
    robot = hc.load("planar_2r")
    with pytest.raises(InputError, match="jerk must be positive; joint_2"):
        motion.set(jerk=[1.0, 0.0])
    with pytest.raises(InputError, match="there are velocity"):
        motion.set(snap=1.0)
    with pytest.raises(InputError, match="target must be numbers"):
        motion.step([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="finite"):
        motion.reset([np.nan, 0.0])
    with pytest.raises(InputError, match="dt must be positive"):
        OnlineMotion(robot, 1.0, 1.0, dt=0.0)
    with pytest.raises(InputError, match="coordinates are numbers"):
        OnlineMotion(hc.load("quadruped", base="floating"), 1.0, 1.0, dt=0.01)


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ruckig", None)
    with pytest.raises(HelicoidError, match=r"pip install 'helicoid\[online\]'"):
        OnlineMotion(hc.load("planar_2r"), 1.0, 1.0, dt=0.01)
