"""Paths through waypoints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from helicoid.control import JointPath
from helicoid.errors import InputError

pytestmark = pytest.mark.needs_compiler


@pytest.mark.parametrize("k", [2, 3, 4, 5, 9])
def test_spline_is_that_of_scipy(rng, k):
    waypoints = rng.uniform(-2, 2, (k, 3))
    path = JointPath.through(waypoints)
    expected = CubicSpline(path.breaks, waypoints)
    s = np.sort(rng.uniform(path.start, path.end, 40))
    for order, scale in ((0, 1e-12), (1, 1e-11), (2, 1e-9)):
        np.testing.assert_allclose(path(s, order), expected(s, order), atol=scale)
    np.testing.assert_allclose(np.diff(path.breaks), np.linalg.norm(np.diff(waypoints, axis=0), axis=1))


def test_parameter_and_order_of_evaluation(rng):
    waypoints = rng.uniform(-1, 1, (4, 2))
    path = JointPath.through(waypoints, s=[0.0, 0.1, 2.0, 2.5])
    np.testing.assert_allclose(path([2.0, 0.0, 2.5, 0.1]), waypoints[[2, 0, 3, 1]], atol=1e-12)
    assert path(0.05).shape == (2,)
    with pytest.raises(InputError, match="goes from"):
        path(2.6)
    with pytest.raises(InputError, match="order"):
        path(0.1, order=3)


@pytest.mark.parametrize(
    ("s", "shape", "message"),
    [
        ([0, 1], "spline", "one value for each of 3"),
        ([0, 2, 1], "spline", "ascending"),
        ([0, 1, np.inf], "spline", "finite"),
        (None, "circle", "'spline' or 'lines'"),
    ],
)
def test_wrong_input(s, shape, message):
    with pytest.raises(InputError, match=message):
        JointPath.through([[0, 0], [1, 0], [1, 1]], s=s, shape=shape)


def test_a_way_without_a_length():
    with pytest.raises(InputError, match="too far apart"):
        JointPath.through([[0.0, 0.0], [1e200, 1e200]])


def test_seams_stand_twice_in_a_grid():
    path = JointPath.through([[0, 0], [1, 0], [1, 1]], shape="lines")
    for wanted in (50, [0.0, 0.3, 1.4, 2.0]):
        grid = path.grid(wanted)
        assert np.sum(grid == path.seams[0]) == 2
        assert np.all(np.diff(grid) >= 0)
        np.testing.assert_array_equal(path.stops(grid), grid == path.seams[0])
