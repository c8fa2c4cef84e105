from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helicoid as hc

POINTS = np.array([[0, 0, 1], [2, 1, 1.5], [3, -1, 2], [5, 0, 1]], float)


@given(st.floats(0.3, 20.0))
def test_rest_to_rest_in_closed_form(T):
    path = hc.aerial.minimum_snap([[1.0, 2.0, 3.0], [2.0, 0.0, 3.0]], times=[0.0, T])
    s = np.linspace(0, 1, 9)
    share = 35 * s**4 - 84 * s**5 + 70 * s**6 - 20 * s**7
    np.testing.assert_allclose(path.at(T * s).position, [1, 2, 3] + share[:, None] * [1, -2, 0], atol=1e-9)


def test_smooth_through_its_waypoints_and_at_rest_at_the_ends():
    path = hc.aerial.minimum_snap(POINTS, times=[0.0, 1.0, 2.5, 3.5])
    np.testing.assert_allclose(path.at(path.times).position, POINTS, atol=1e-9)
    for t in path.times[1:-1]:
        before, after = path.at(t - 1e-9), path.at(t)
        for a, b in zip(before, after, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5 * (1 + np.abs(b).max()))
    for t in (0.0, 3.5):
        for row in path.at(t)[1:4]:
            np.testing.assert_allclose(row, 0, atol=1e-8)
    t, h = np.linspace(0.2, 3.2, 7), 1e-5
    for k in range(4):
        slope = (path.at(t + h)[k] - path.at(t - h)[k]) / (2 * h)
        np.testing.assert_allclose(slope, path.at(t)[k + 1], rtol=1e-4, atol=1e-4)


def test_no_other_path_through_the_same_points_has_less_snap(rng):
    """Adding anything that vanishes at waypoints and rests at the ends costs more."""
    path = hc.aerial.minimum_snap(POINTS, times=[0.0, 1.0, 2.5, 3.5])
    t = np.linspace(0, 3.5, 20001)
    snap = path.at(t).snap
    assert np.trapezoid(np.sum(snap**2, axis=1), t) == pytest.approx(path.cost, rel=1e-4)
    w = np.poly1d(np.poly([0.0] * 4 + [1.0, 2.5] + [3.5] * 4))
    bump = w.deriv(4)(t) / np.abs(w.deriv(4)(t)).max()
    inner = np.trapezoid(snap[:, 0] * bump, t)
    assert abs(inner) < 1e-6 * np.abs(snap).max()  # orthogonal: the path is the optimum


def test_as_fast_as_thrust_or_speed_allows():
    quad = hc.aerial.load("hummingbird")
    fast = hc.aerial.minimum_snap(POINTS, vehicle=quad)
    assert 0.75 * quad.max_thrust < fast.thrust(quad.robot.mass).max() < 0.9 * quad.max_thrust
    slow = hc.aerial.minimum_snap(POINTS, vehicle=quad, speed=2.0)
    moving = slow.at(np.linspace(0, slow.duration, 2000)).velocity
    assert np.linalg.norm(moving, axis=1).max() == pytest.approx(2.0, rel=0.01)
    even = hc.aerial.minimum_snap(POINTS, times=np.linspace(0, fast.duration, 4))
    assert fast.cost < even.cost


def test_bad_waypoints():
    with pytest.raises(hc.InputError, match="apart"):
        hc.aerial.minimum_snap([[0, 0, 0], [0, 0, 0]], times=[0, 1])
    with pytest.raises(hc.InputError, match="ascend"):
        hc.aerial.minimum_snap(POINTS, times=[0, 2, 1, 3])
    with pytest.raises(hc.InputError, match="needs times"):
        hc.aerial.minimum_snap(POINTS)
