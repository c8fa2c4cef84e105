"""Distances of capsules: against coal, and where formulas like to fail."""

from __future__ import annotations

import casadi as ca
import coal
import numpy as np
import pytest

from helicoid._typing import Array
from helicoid.robot.collision import PlacedCapsule, distance
from helicoid.robot.collision.shapes import closest_points

Segment = tuple[Array, Array, float]


def by_coal(one: Segment, other: Segment) -> float:
    """The signed distance of two capsules."""
    shapes, places = [], []
    for start, end, radius in (one, other):
        along = end - start
        length = float(np.linalg.norm(along))
        z = along / length if length else np.array([0.0, 0.0, 1.0])
        x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
        x /= np.linalg.norm(x)
        shapes.append(coal.Capsule(radius, length))
        places.append(coal.Transform3s(np.column_stack([x, np.cross(z, x), z]), (start + end) / 2))
    result = coal.DistanceResult()
    coal.distance(shapes[0], places[0], shapes[1], places[1], coal.DistanceRequest(), result)
    return float(result.min_distance)


def ours(one: Segment, other: Segment) -> float:
    axes = [[ca.DM(end) for end in each[:2]] for each in (one, other)]
    return float(distance(*axes)) - one[2] - other[2]


def test_distances_agree_with_coal(rng: np.random.Generator) -> None:
    for k in range(300):
        a, b, c, d = rng.normal(size=(4, 3)) * rng.choice([0.05, 0.3, 1.0])
        if k % 5 == 1:  # parallel
            d = c + (b - a) * rng.normal()
        if k % 5 == 2:  # nearly parallel
            d = c + (b - a) * rng.normal() + 1e-4 * rng.normal(size=3)
        if k % 5 == 3:  # on one line
            c, d = a + (b - a) * rng.normal(), a + (b - a) * rng.normal()
        if k % 5 == 4:  # a ball
            b = a.copy()
        r, s = rng.uniform(0.01, 0.4, size=2)
        one, other = (a, b, float(r)), (c, d, float(s))
        if np.linalg.norm(ours((a, b, 0.0), (c, d, 0.0))) < 1e-4:
            continue  # axes that meet: below
        assert ours(one, other) == pytest.approx(by_coal(one, other), abs=1e-9)


def test_hardly_parallel_axes_are_right_to_a_tenth_of_a_micrometre(rng: np.random.Generator) -> None:
    for angle in np.logspace(-10, -3, 60):
        a, b, c = rng.normal(size=(3, 3))
        d = c + (b - a) * rng.uniform(0.2, 1.0) + angle * rng.normal(size=3)
        # Where lines hardly bend away from each other, the nearest point is an end but for angle² / 8.
        points = [(a, c, d), (b, c, d), (c, a, b), (d, a, b)]
        least = min(float(distance([ca.DM(p)], [ca.DM(q), ca.DM(r)])) for p, q, r in points)
        assert ours((a, b, 0.0), (c, d, 0.0)) == pytest.approx(least, abs=1e-7 + angle**2)


def test_axes_that_meet_are_as_deep_as_can_be(rng: np.random.Generator) -> None:
    a, b, c = rng.normal(size=(3, 3))
    middle = (a + b) / 2
    crossing = (a, b, 0.2), (middle + c, middle - c, 0.1)
    assert ours(*crossing) == pytest.approx(-0.3, abs=2e-7)
    assert ours((a, b, 0.2), (a, b, 0.2)) == pytest.approx(-0.4, abs=2e-7)


@pytest.mark.parametrize(
    "ends",
    [
        ([0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 1]),  # one and the same
        ([0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]),  # parallel
        ([0, 0, -1], [0, 0, 1], [-1, 0, 0], [1, 0, 0]),  # crossing
        ([0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]),  # points that meet
        ([0, 0, 0], [0, 0, 0], [0, 0, 1], [1, 0, 1]),  # a point above an end
        ([0, 0, 0], [0, 0, 1e-9], [1, 0, 0], [1, 1e-9, 0]),  # hardly any length
    ],
)
def test_the_derivative_is_finite_everywhere(ends: tuple[list[float], ...]) -> None:
    points = [ca.SX.sym(name, 3) for name in "abcd"]
    both = ca.vertcat(*points)
    d = distance(points[:2], points[2:])
    slope = np.array(ca.Function("slope", [both], [ca.jacobian(d, both)])(np.concatenate(ends)))
    assert np.isfinite(slope).all() and np.abs(slope).max() < 1 + 1e-6


def test_the_order_does_not_matter(rng: np.random.Generator) -> None:
    for sizes in ((2, 2), (1, 2), (2, 1), (1, 1)):
        one, other = ([ca.DM(end) for end in rng.normal(size=(n, 3))] for n in sizes)
        x, y = closest_points(one, other)
        y_again, x_again = closest_points(other, one)
        np.testing.assert_allclose(np.array([x - x_again, y - y_again]), 0, atol=1e-12)


def test_volume_of_a_capsule() -> None:
    assert PlacedCapsule(0.1, [0, 0, 0], [0, 0, 0]).volume == pytest.approx(4 / 3 * np.pi * 1e-3)
    assert PlacedCapsule(0.1, [0, 0, 0], [0, 3, 4]).volume == pytest.approx(np.pi * 0.01 * (5 + 0.4 / 3))
