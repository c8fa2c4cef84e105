"""Fast bodies do not pass through thin ridges of a height field between two steps."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from contact_bodies import ball

pytestmark = pytest.mark.needs_compiler

HEIGHT, STARTS = 0.3, 80


def ridge(spacing: float) -> hc.Ground:
    """Level ground with a ridge of one point along y, at x = 0."""
    columns = round(10 / spacing)
    heights = np.zeros((3, 2 * columns + 1))
    heights[:, columns] = HEIGHT
    return hc.Ground(heights=heights, spacing=(spacing, 2.0), friction=0.5)


def passed(speed: float, spacing: float, contacts: list[hc.ContactPoint], seed: int) -> int:
    """How many bodies cross the ridge below its top, of those thrown against it from anywhere."""
    rng = np.random.default_rng(seed)
    q, v = np.zeros((STARTS, 7)), np.zeros((STARTS, 6))
    q[:, 0], q[:, 2], q[:, 3] = -3 - rng.uniform(0, 0.5, STARTS), rng.uniform(0.08, 0.22, STARTS), 1.0
    v[:, 3] = speed
    duration = round(4 / speed / 1e-3) * 1e-3
    motion = hc.simulate(ball(0.02), q, v, duration, ground=ridge(spacing), contacts=contacts)
    x, z = motion.q[:, :, 0], motion.q[:, :, 2]
    crosses = (x[:, :-1] < 0) & (x[:, 1:] >= 0)
    part = np.where(crosses, -x[:, :-1] / np.where(crosses, np.diff(x, axis=1), 1.0), 0.0)
    height = (1 - part) * z[:, :-1] + part * z[:, 1:]
    assert np.any(x.max(axis=1) > -0.1)  # they arrive
    return int(np.sum(np.any(crosses & (height < HEIGHT), axis=1)))


@pytest.mark.parametrize("speed", [30.0, 50.0, 100.0, 200.0])
def test_points(speed: float) -> None:
    contacts = [hc.ContactPoint("ball")]
    assert [passed(speed, spacing, contacts, 0) for spacing in (0.02, 0.05)] == [0, 0]


@pytest.mark.parametrize("speed", [30.0, 50.0, 100.0])
def test_balls(speed: float) -> None:
    contacts = [hc.ContactPoint("ball", radius=0.02)]
    assert [passed(speed, spacing, contacts, 1) for spacing in (0.02, 0.05)] == [0, 0]


def test_a_point_that_slides_into_a_ramp_stays_above_it() -> None:
    """On the ground before the ramp, the ramp counts as soon as it is in the way."""
    motion = hc.simulate(
        ball(0.02),
        [-0.5, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 9.0, 0, 0],
        0.1,
        ground=ridge(0.02),
        contacts=[hc.ContactPoint("ball")],
    )
    ground = ridge(0.02)
    assert motion.q[-1, 0] > -0.03 and motion.penetration.max() < 1e-4
    assert np.all(motion.q[:, 2] > ground.height_at(motion.q[:, 0], motion.q[:, 1]) - 1e-4)
