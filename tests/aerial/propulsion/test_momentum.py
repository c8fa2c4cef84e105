from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helicoid as hc

SOME = st.floats(0.1, 50.0)


@given(SOME, st.floats(0.01, 2.0))
def test_hover(thrust, area):
    """The textbook's relations: u₃ = 2 u₁, A₃ = A/2, P = F^1.5 / √(2ρA)."""
    flow = hc.aerial.stream(thrust, area)
    assert flow.wake == pytest.approx(2 * flow.induced)
    assert flow.wake_area == pytest.approx(0.5)
    assert thrust == pytest.approx(2 * 1.225 * area * flow.induced**2)
    assert flow.power == pytest.approx(hc.aerial.hover_power(thrust, area))
    assert flow.power == pytest.approx(thrust**1.5 / np.sqrt(2 * 1.225 * area))


@given(SOME, st.floats(0.01, 2.0), st.floats(0.0, 30.0), st.floats(0.0, 30.0))
def test_climb_and_forward_flight_obey_momentum(thrust, area, climb, forward):
    flow = hc.aerial.stream(thrust, area, climb, forward)
    speed = np.hypot(forward, climb + flow.induced)
    assert thrust == pytest.approx(2 * 1.225 * area * speed * flow.induced, rel=1e-9)
    assert flow.power == pytest.approx(thrust * (climb + flow.induced))
    assert bool(flow.valid)


@given(SOME, SOME)
def test_climb_in_closed_form(thrust, climb):
    v_h = np.sqrt(thrust / (2 * 1.225 * 0.5))
    flow = hc.aerial.stream(thrust, 0.5, climb)
    assert flow.induced == pytest.approx(-climb / 2 + np.sqrt(climb**2 / 4 + v_h**2))


def test_descent_is_flagged_and_joins_both_ends():
    v_h = np.sqrt(10 / (2 * 1.225 * 0.5))
    flow = hc.aerial.stream(10.0, 0.5, climb_rate=v_h * np.array([0.0, -1e-9, -1.0, -1.999, -2.0, -3.0]))
    assert flow.valid.tolist() == [True, False, False, False, True, True]
    assert flow.induced[1] == pytest.approx(flow.induced[0])
    assert flow.induced[3] == pytest.approx(flow.induced[4], rel=0.05)
    assert flow.power[5] < 0  # a windmill
    brake = -flow.induced[5] * (-3 * v_h + flow.induced[5])
    assert brake == pytest.approx(v_h**2)


def test_bad_numbers():
    with pytest.raises(hc.InputError, match="density"):
        hc.aerial.stream(1.0, 1.0, density=-1.0)
    with pytest.raises(hc.InputError, match="area"):
        hc.aerial.stream(1.0, 0.0)
