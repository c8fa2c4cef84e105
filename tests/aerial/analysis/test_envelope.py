"""Envelopes: the same answers as single trims give, and limits that physics says."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc


@pytest.fixture(scope="module")
def aircraft():
    return hc.aerial.load("aerosonde")


@pytest.fixture(scope="module")
def envelope(aircraft):
    return aircraft.envelope(np.linspace(8.0, 44.0, 10), np.linspace(-9.0, 9.0, 7))


def test_the_same_as_single_trims(aircraft, envelope):
    """Where a trim is one it is the same; where it is none, the reason names what the envelope names."""
    for i, j in [(2, 0), (1, 2), (3, 0), (3, 2), (3, 4), (3, 8), (4, 3), (6, 5), (0, 7)]:
        trim = aircraft.trim(speed=envelope.speed[j], climb_rate=envelope.climb_rate[i])
        word = envelope.limit[i, j]
        assert trim.success == envelope.success[i, j] == (word == "")
        if trim.success:
            np.testing.assert_allclose(envelope.alpha[i, j], trim.alpha, atol=1e-7)
            np.testing.assert_allclose(
                envelope.controls["throttle"][i, j], trim.controls["throttle"], atol=1e-7
            )
        else:
            assert np.isnan(envelope.alpha[i, j]) and np.isnan(envelope.controls["elevator"][i, j])
        if word in ("stall", "power"):
            assert word in trim.message


def test_limits_are_those_of_physics(aircraft, envelope):
    slow, fast = envelope.speed < aircraft.stall_speed, envelope.speed > 36
    level = list(envelope.climb_rate).index(0.0)
    assert slow.any() and (envelope.limit[level, slow] == "stall").all()
    assert (envelope.limit[level, fast] == "power").all()
    # Beneath the path on which an idle propeller glides, energy has nowhere to go.
    steep = envelope.limit[0, (envelope.speed > 12) & (envelope.speed < 24)]
    assert len(steep) and (steep == "idle").all()
    # A faster climb takes more throttle.
    speed, climb = envelope.best()
    column = envelope.controls["throttle"][:, list(envelope.speed).index(speed)]
    there = column[np.isfinite(column)]
    assert climb > 0 and np.all(np.diff(there) > 0)


def test_turns_need_more(aircraft, envelope):
    turning = aircraft.envelope(envelope.speed, envelope.climb_rate, turn_rate=0.6)
    assert turning.success.sum() < envelope.success.sum() and not np.any(turning.success & ~envelope.success)


def test_rotorcraft_and_the_picture(envelope):
    pytest.importorskip("matplotlib").use("Agg")
    quad = hc.aerial.load("hummingbird")
    hovering = quad.envelope([2.0, 6.0], [-1.0, 0.0, 1.0])
    assert hovering.success.all() and hovering.best()[1] == 1.0
    for one in (envelope, hovering):
        figure = one.plot()
        assert figure.axes[0].get_xlabel().startswith("airspeed")
    with pytest.raises(hc.InputError, match="no control 'flaps'; there are: elevator"):
        envelope.plot("flaps")


@pytest.mark.parametrize(
    ("speed", "climb", "words"),
    [([20.0, 15.0], [0.0], "speed .* ascend"), ([20.0], [0.0, np.nan], "climb_rate .* finite")],
)
def test_what_is_no_grid(aircraft, speed, climb, words):
    with pytest.raises(hc.InputError, match=words):
        aircraft.envelope(speed, climb)
