"""Gaits: contact phases from standing to walking to standing."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import InputError
from helicoid.walking import Gait

FEET = ("FL", "FR", "RL", "RR")
TROT = Gait.trot(*FEET, step=0.25)


def stands_at(phases, t):
    """The feet on the ground at a time after the phases begin."""
    ends = np.cumsum([phase.duration for phase in phases])
    return set(phases[int(np.searchsorted(ends, t, side="right"))].contacts)


@pytest.mark.parametrize("time", [0.0, 0.1, 0.37, 0.5, 0.625, 1.1, 1.75, 2.3])
def test_phases_are_the_same_whenever_one_looks(time):
    begin, end = 0.5, 1.6  # the turn that ends at 1.75 is finished
    phases = TROT.phases(time, begin, end, 0.8)
    assert np.isinf(phases[-1].duration)
    for ahead in np.arange(0.013, 0.75, 0.05):
        t = time + ahead
        turn = int((t - begin) // 0.25) if t >= begin else -1
        wanted = set(FEET) if turn < 0 or t > 1.75 else set(TROT.stands[turn % 2])
        assert stands_at(phases, ahead) == wanted, t
        assert set(TROT.stance(t, begin, end)) == wanted, t


@pytest.mark.parametrize("time", [0.0, 0.37, 0.5, 0.625, 1.1, 1.59])
def test_phases_that_have_begun_are_those_of_the_gait(time):
    begin, end = 0.5, 1.6
    phases, elapsed = TROT.begun_phases(time, begin, end, 0.8)
    assert elapsed == pytest.approx(0.25 + (time - begin) % 0.25 if time >= begin else 0.0)
    usual = TROT.phases(time, begin, end, 0.8)
    for ahead in np.arange(0.013, 0.75, 0.05):
        assert stands_at(phases, elapsed + ahead) == stands_at(usual, ahead)


@pytest.mark.parametrize("begin", [0.0, 0.05, 0.7300000001, 123.456])
@pytest.mark.parametrize("phases", [1, 2, 7, 40])
def test_an_end_between_two_phases_is_that_of_the_former(begin, phases):
    for end in (
        begin + phases * TROT.step,
        begin + 0.25 * (phases - 1) + 0.25,
        begin + (phases - 0.5) * 0.25,
    ):
        last = begin + (phases - 0.5) * TROT.step
        assert set(TROT.stance(last, begin, end)) == set(TROT.stands[(phases - 1) % 2])
        assert TROT.stance(begin + phases * TROT.step + 1e-3, begin, end) == TROT.feet
        assert [one.contacts for one in TROT.phases(last, begin, end, 1.0)][1:] == [TROT.feet]
        assert TROT.phases(last, begin, end, 1.0)[0].duration == pytest.approx(0.125)


def test_walks_have_three_feet_on_the_ground():
    gait = Gait.walk(*FEET)
    assert all(len(stand) == 3 for stand in gait.stands) and set(gait.feet) == set(FEET)
    swings = [next(iter(set(FEET) - set(stand))) for stand in gait.stands]
    assert sorted(swings) == sorted(FEET)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gait(()), "a gait has phases"),
        (lambda: Gait((("a",), ()), 0.2), "a gait has phases"),
        (lambda: Gait((("a",),), 0.0), "above 0"),
        (lambda: Gait((("a",),), feet=("b",)), "a: stance feet"),
        (lambda: hc.walking.Walker(hc.load("panda"), np.zeros(7), TROT), "floating base"),
    ],
)
def test_invalid_arguments_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
