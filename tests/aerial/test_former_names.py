"""Former names of arguments and attributes still work, with a warning."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid import aerial


@pytest.fixture(scope="module")
def quad():
    return aerial.load("hummingbird")


@pytest.fixture(scope="module")
def aircraft():
    return aerial.load("aerosonde")


@pytest.mark.parametrize("law", [aerial.GeometricControl, aerial.PositionControl, aerial.AltitudeControl])
def test_damping_ratios(quad, law):
    with pytest.warns(DeprecationWarning, match="damping_ratio"):
        former = law(quad, damping=0.7, attitude_damping=0.9)
    np.testing.assert_array_equal(former.number("damping_ratio"), law(quad, 4.0, 0.7).number("damping_ratio"))
    assert np.all(former.number("attitude_damping_ratio") == 0.9)
    with pytest.warns(DeprecationWarning, match="attitude_damping_ratio"):
        former.set(attitude_damping=0.5)
    assert np.all(former.number("attitude_damping_ratio") == 0.5)


def test_attitude_control(quad):
    with pytest.warns(DeprecationWarning, match="damping is called damping_ratio"):
        law = aerial.AttitudeControl(quad, damping=0.7)
    with pytest.warns(DeprecationWarning, match="attitude_frequency is called frequency"):
        law.set(attitude_frequency=9.0)
    assert np.all(law.number("damping_ratio") == 0.7) and np.all(law.number("frequency") == 9.0)


def test_autopilot(aircraft):
    leg = aerial.Line([0, 0], [1000, 0], height=100.0)
    with pytest.warns(DeprecationWarning, match="flight_path_angle"):
        pilot = aerial.Autopilot(
            aircraft=aircraft, legs=[leg], speed=25.0, dt=0.02, climb_rate=0.1, period=9.0
        )
    assert pilot.period == 0.02 and pilot.number("l1_period") == 9.0
    assert pilot.number("flight_path_angle") == 0.1
    with pytest.warns(DeprecationWarning, match="l1_damping_ratio"):
        pilot.set(damping=0.7)
    with pytest.warns(DeprecationWarning, match="leg_indices"):
        aerial.legs_flown([leg], np.zeros((2, 3)))


def test_climb_rates_and_results(aircraft):
    with pytest.warns(DeprecationWarning, match="climb is called climb_rate"):
        trim = aircraft.trim(speed=25.0, climb=1.0)
    with pytest.warns(DeprecationWarning, match="climb_rate"):
        assert trim.climb == trim.climb_rate == 1.0
    with pytest.warns(DeprecationWarning, match="success"):
        assert trim.ok and trim.success
    with pytest.warns(DeprecationWarning, match="message"):
        assert trim.reason == trim.message == ""
    with pytest.warns(DeprecationWarning, match="climb_rate"):
        envelope = aircraft.envelope([9.0, 25.0], climb=[0.0])
    with pytest.warns(DeprecationWarning, match="success"):
        assert envelope.ok.tolist() == envelope.success.tolist() == [[False, True]]
    assert envelope.message == "stall: 1"


def test_short_reprs(aircraft):
    for thing in (
        aircraft.trim(speed=25.0),
        aircraft.trim(speed=9.0),
        aircraft.envelope([9.0, 25.0], [0.0]),
        aerial.minimum_snap([[0, 0, 0], [1, 0, 0]], times=[0.0, 1.0]),
    ):
        assert len(repr(thing)) < 250 and "array" not in repr(thing)


def test_flight_laws_answer_the_protocol(quad, tmp_path):
    law = aerial.GeometricControl(quad, integral=1.0, dt=0.005)
    assert isinstance(law, hc.control.ControllerProtocol) and law.period == 0.005
    assert aerial.AttitudeControl(quad).period is None
    hover = quad.trim()
    assert law.status is hc.Status.NOT_STARTED
    first = [law.step(hover.q, hover.v, position=[1.0, 0, 0]) for _ in range(5)]
    law.reset()
    np.testing.assert_array_equal([law.step(hover.q, hover.v, position=[1.0, 0, 0]) for _ in range(5)], first)
    follow = law.following({"t": [0.0, 1.0], "position": [[0, 0, 0], [0.1, 0, 0]]})
    follow.step(hover.q, hover.v, t=0.5)
    assert follow.status is hc.Status.OK and follow.message == ""
    files = law.export_c(tmp_path, "my_law")
    assert any(file.name == "my_law.c" for file in files)
