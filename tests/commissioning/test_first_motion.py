"""Attempts of the first motion: the brake holds an unknown load, and the arm comes back to its start."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.commissioning.controllers import SAFE_FREQUENCY, computed_torque
from helicoid.commissioning.first_motion import FirstMotion
from helicoid.commissioning.motions import MotionSettings, planned_motion, sampled
from helicoid.commissioning.plant import CheckedPlant
from helicoid.commissioning.plant.motion import record
from helicoid.commissioning.plant.recording import deviation_limit
from helicoid.commissioning.plant.way_back import bring_back, way_back
from helicoid.commissioning.status import CommissioningStopped
from helicoid.identification.excitation.excitation import Excitation

pytestmark = pytest.mark.compiled

START, PERIOD = np.array([0.3, 0.5]), 0.005


def described() -> hc.Robot:
    return hc.load("planar_2r").with_joints(velocity=2.0, effort=100.0, lower=-3.0, upper=3.0)


def loaded() -> hc.Robot:
    """With a payload of half its mass, which the description lacks."""
    robot = described()
    return robot.with_payload("link_2", 0.5 * robot.mass, [0.5, 0.0, 0.0])


class Watched:
    """A simulated plant that notes where each motion began, and what `measured` makes of the samples."""

    period = PERIOD

    def __init__(self, true: hc.Robot, measured: Any = None) -> None:
        self.inner, self.measured = hc.Plant(true, START, period=PERIOD), measured
        self.began: list[Array] = []
        self.path: list[Array] = []

    def release(self) -> None:
        self.began.append(self.inner.measure().q.copy())

    def measure(self) -> Any:
        sample = self.inner.measure()
        self.path.append(np.concatenate([sample.q, sample.v]))
        return sample if self.measured is None else self.measured(len(self.path), sample)

    def apply(self, tau: Array) -> None:
        self.inner.apply(tau)


@pytest.fixture(scope="module")
def motion() -> Excitation:
    return planned_motion(described(), START, MotionSettings("first motion", 0.2, 0.6, 4.0, 3, 0, 10), None)


def test_the_brake_holds_an_unknown_load() -> None:
    """A law that does not know the load, and begins anew, sags by load / (M ω²) until its integral acts."""
    robot, true = described(), loaded()
    stop = round(4.0 / PERIOD)  # the integral has settled by then

    def faulty(k: int, sample: Any) -> Any:
        return SimpleNamespace(q=sample.q, v=sample.v + 9.0 * (k == stop), tau=None)

    plant = Watched(true, faulty)
    rest = np.tile(START, (2 * stop, 1))
    law = computed_torque(robot, SAFE_FREQUENCY, PERIOD)
    with pytest.raises(CommissioningStopped, match="exceeds its velocity limit") as stopped:
        record(robot, CheckedPlant(robot, plant), law, (rest, 0 * rest, 0 * rest))
    load = true.gravity(START) - robot.gravity(START)
    sag = np.linalg.solve(robot.mass_matrix(START), load) / SAFE_FREQUENCY**2
    q = np.array(plant.path)[:, :2]
    assert np.abs(sag).max() > 0.01
    assert np.abs(q[stop:] - q[stop - 1]).max() < 0.1 * np.abs(sag).max()
    np.testing.assert_allclose(stopped.value.braked.held, load, atol=0.05 * np.abs(load).max())


def test_the_way_back_is_slow_and_retraces_the_motion(motion: Excitation) -> None:
    robot, along = described(), 1.7
    here = motion.at(along)[0][0] + [0.1, -0.2]
    (q, v, a), left = way_back(robot, motion, along, here, PERIOD)
    np.testing.assert_allclose(q[[0, -1]], [here, START], atol=1e-9)
    np.testing.assert_allclose(v[[0, -1]], 0.0, atol=1e-9)
    assert np.abs(v).max() <= 0.1 * 2.0 * (1 + 1e-4) and np.all(np.diff(left) <= 1e-12) and left[0] == along
    np.testing.assert_allclose(np.gradient(q, PERIOD, axis=0)[1:-1], v[1:-1], atol=2e-3)
    np.testing.assert_allclose(np.gradient(v, PERIOD, axis=0)[5:-5], a[5:-5], atol=2e-2)
    off = np.abs(q - motion.at(left)[0])
    assert np.all(np.diff(off, axis=0) <= 1e-9)  # of the distance from where the way is clear


def held_back() -> hc.Robot:
    """Friction holds the second joint back, until it has more gain."""
    return loaded().with_joints(friction=[1.0, 30.0], damping=[2.0, 8.0], armature=[0.3, 2.0])


def test_after_an_attempt_that_broke_off_the_next_begins_at_the_start(motion: Excitation) -> None:
    robot, plant = described(), Watched(held_back())
    recording = FirstMotion(robot, CheckedPlant(robot, plant), motion, 0).recorded(lambda done: None)
    assert len(plant.began) >= 3 and len(plant.began) % 2  # attempts, and the ways back between them
    for began in plant.began[2::2]:
        assert np.all(np.abs(began - START) <= deviation_limit(robot) / 3)
    assert np.all(np.ptp(recording.q, axis=0) >= 0.3 * np.ptp(recording.q_ref, axis=0))


def test_where_the_arm_cannot_come_back_both_reasons_are_given(motion: Excitation) -> None:
    def measured(k: int, sample: Any) -> Any:
        if len(plant.began) == 2:  # on the way back
            raise OSError("the bus is down")
        return sample

    robot, plant = described(), Watched(held_back(), measured)
    with pytest.raises(CommissioningStopped) as stopped:
        FirstMotion(robot, CheckedPlant(robot, plant), motion, 0).recorded(lambda done: None)
    place = stopped.value.place
    assert str(stopped.value).startswith("'joint_2'") and place.endswith("OSError: the bus is down")
    assert place.startswith("the arm could not be brought back to its start: ")
    assert stopped.value.status == "plant failed"


@pytest.mark.parametrize("blocked", [False, True])
def test_after_a_stop_the_arm_is_brought_back_or_the_reason_said(blocked: bool, motion: Excitation) -> None:
    robot, k = described(), 300

    def measured(count: int, sample: Any) -> Any:
        if blocked and len(plant.began) == 2 and count % 200 == 0:  # on the way back
            raise OSError("the bus is down")
        return SimpleNamespace(q=sample.q, v=sample.v + 9.0 * (count == k), tau=None)

    plant = Watched(robot.with_joints(damping=[2.0, 1.0]), measured)
    rows, law = sampled(motion, PERIOD), computed_torque(robot, SAFE_FREQUENCY, PERIOD)
    with pytest.raises(CommissioningStopped, match="exceeds its velocity limit") as stopped:
        record(robot, CheckedPlant(robot, plant), law, rows)
    assert np.abs(plant.inner.q - START).max() > 0.02
    place = bring_back(robot, CheckedPlant(robot, plant), motion, law, stopped.value)
    if blocked:
        assert place.startswith("the arm could not be brought back to its start") and "bus is down" in place
        return
    assert place == "the arm was brought back to its start"
    np.testing.assert_allclose(plant.inner.q, START, atol=0.01)
    assert np.abs(plant.inner.v).max() < 0.01


def test_where_the_wiring_is_in_doubt_the_arm_does_not_move_again(motion: Excitation) -> None:
    robot = described().with_joints(armature=[5.0, 5.0])  # else it falls faster than 12 samples are taken
    plant = Watched(robot)
    plant.apply = lambda tau: plant.inner.apply(tau * [1.0, -1.0])  # type: ignore[method-assign]
    law = computed_torque(robot, SAFE_FREQUENCY, PERIOD)
    with pytest.raises(CommissioningStopped) as stopped:
        record(robot, CheckedPlant(robot, plant), law, sampled(motion, PERIOD))
    assert not stopped.value.braked.may_move
    place = bring_back(robot, CheckedPlant(robot, plant), motion, law, stopped.value)
    assert place == "the arm was left where it came to rest" and len(plant.began) == 1
