"""Integral action removes steady-state errors and is bounded."""

from __future__ import annotations

import numpy as np
import pytest

from helicoid.walking.regulation import Regulation


def test_a_plant_that_is_too_slow_and_too_low_reaches_its_references() -> None:
    regulation, commanded = Regulation(0.3), np.array([0.4, -0.1])
    velocity, height = np.zeros(2), 0.3
    for _ in range(4000):
        regulation.update(commanded, velocity, height, 0.025)
        velocity = 0.85 * (commanded + regulation.velocity)
        height = 0.98 * (0.3 + regulation.height)
    np.testing.assert_allclose(velocity, commanded, rtol=1e-6)
    assert height == pytest.approx(0.3, rel=1e-6)


def test_offsets_are_bounded_and_fade() -> None:
    regulation, commanded = Regulation(0.3), np.array([0.4, 0.0])
    for _ in range(4000):
        regulation.update(commanded, np.zeros(2), 0.0, 0.025)
    np.testing.assert_allclose(regulation.velocity, [0.2, 0.0])
    assert regulation.height == pytest.approx(0.15 * 0.3)
    for _ in range(4000):
        regulation.update(None, np.zeros(2), 0.3, 0.025)
    np.testing.assert_allclose(regulation.velocity, 0.0, atol=1e-6)
    regulation.reset()
    assert regulation.height == 0.0
