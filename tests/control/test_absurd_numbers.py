"""Absurd numbers in controllers that solve programs: refused or survived, and `ok` only where it is true."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import helicoid as hc
from control import number_fuzz

pytestmark = pytest.mark.needs_compiler


@pytest.fixture(scope="module", params=list(number_fuzz.CONTROLLERS))
def controller(request):
    return number_fuzz.CONTROLLERS[request.param]()


@pytest.fixture(scope="module")
def dog():
    return number_fuzz.dog("weighted")


@pytest.fixture
def wb(dog):
    start = dog.numbers.values.copy()
    dog.reset()
    yield dog
    dog.numbers.values[:] = start


def test_whatever_the_numbers_are_commands_are_finite_and_ok_is_true(controller):
    found = number_fuzz.fuzz(controller, 1000, seed=0)
    assert found["ok"] > 300 and found["refused"] > 100


def test_an_active_set_never_outgrows_its_variables():
    ik = number_fuzz.arm("strict")
    entry = ik.numbers["hand_weight"]
    ik.numbers.values[entry.at] = [1, 5e-324, 1, 1, 1, 1]  # `set` refuses it; a program in C does not
    rng = np.random.default_rng(0)
    for _ in range(3000):  # wrote beyond its memory within 2000
        ik.set(hand=ik.robot.pose("tool0")(ik.robot.random(rng)))
        assert np.all(np.isfinite(ik.step(ik.robot.random(rng))))


@pytest.mark.parametrize("value", [5e-324, 1e-300, 1e31, -1.0])
def test_absurd_weights_are_refused(wb, value):
    for name in ("trunk_weight", "posture_weight", "acceleration_weight", "force_weight"):
        with pytest.raises(hc.InputError, match=name):
            wb.set(**{name: value})
    wb.set(trunk_weight=0.0)


def test_a_task_that_asks_for_too_much_is_not_called_ok_with_broken_cones(wb, rng):
    """Accelerations of 1e15 m/s²: the rounding errors of the solution are larger than the forces."""
    robot, statuses = wb.robot, Counter()
    q0 = robot.neutral()
    q0[7:] = np.tile([0.0, 0.8, -1.6], 4)
    for size in 10 ** rng.uniform(6, 12, 300):
        T = robot.pose("trunk")(q0)
        T[:3, 3] += size * rng.normal(size=3)
        wb.set(trunk=T, trunk_frequency=10 ** rng.uniform(1, 4))
        wb.set(contacts=[foot for foot in number_fuzz.FEET if rng.random() < 0.8])
        q, v = np.asarray(robot.integrate(q0, 0.3 * rng.normal(size=18))), rng.normal(size=18)
        tau = wb.step(q, v)
        statuses[wb.status] += 1
        if wb.ok:
            number_fuzz.check_ok(wb, q, v, tau)
    assert statuses[hc.Status.OK] > 200 and statuses[hc.Status.INACCURATE] > 0


def test_a_normal_of_any_length_is_a_direction(wb):
    q = wb.robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    v = np.zeros(wb.robot.nv)
    tau = wb.step(q, v)
    wb.reset()
    wb.set(FL_foot_normal=[0, 0, 1e200])
    np.testing.assert_array_equal(wb.step(q, v), tau)
    assert wb.ok and wb.forces["FL_foot"][2] > 1


def test_usual_numbers_are_never_called_inaccurate(wb, rng):
    q = wb.robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    found = Counter()
    for _ in range(300):
        wb.set(contacts=[foot for foot in number_fuzz.FEET if rng.random() < 0.8])
        wb.step(wb.robot.integrate(q, 0.3 * rng.normal(size=18)), rng.normal(size=18))
        found[wb.status] += 1
    assert not found[hc.Status.INACCURATE] and not found[hc.Status.NOT_FINITE]
