"""Compliance of the ground from the loads and heights of feet in stance."""

from __future__ import annotations

import numpy as np
import pytest

from helicoid.walking.compliance import Compliance

SHARE, DT = 40.0, 0.002
ALL, STILL = np.ones(4, bool), np.zeros(4)


def stances(estimate: Compliance, compliance: float, uneven: float, seed: int) -> None:
    """Steps of 0.25 s on footholds of random heights, with loads between one and two shares."""
    random = np.random.default_rng(seed)
    for _ in range(20):
        ground = random.uniform(-uneven, uneven, 4)
        estimate.update(ground, STILL, STILL, ~ALL, DT)  # in the air
        for k in range(125):
            loads = SHARE * (1.5 + 0.5 * np.sin(2 * np.pi * k / 125 + np.arange(4)))
            noise = random.normal(0.0, 1e-4, 4)
            estimate.update(ground - compliance * loads + noise, STILL, loads, ALL, DT)


@pytest.mark.parametrize("uneven", [0.0, 0.03])
@pytest.mark.parametrize("depth", [0.0, 0.002, 0.01])
def test_the_depth_under_a_load_is_found_on_uneven_ground(depth: float, uneven: float) -> None:
    estimate = Compliance(4, SHARE)
    assert estimate.value == 0.0
    stances(estimate, depth / SHARE, uneven, 0)
    assert estimate.value * SHARE == pytest.approx(depth, abs=0.03 * depth + 2e-5)
    estimate.reset()
    assert estimate.value == 0.0


def test_loads_that_do_not_vary_say_nothing() -> None:
    estimate = Compliance(4, SHARE)
    for _ in range(1000):
        estimate.update(-0.01 * np.ones(4), STILL, SHARE * np.ones(4), ALL, DT)
    assert estimate.value == 0.0


def test_feet_that_move_and_heights_that_rise_with_the_load_do_not_count() -> None:
    estimate = Compliance(4, SHARE)
    for k in range(1000):
        loads = SHARE * (1 + 0.5 * np.sin(0.05 * k)) * np.ones(4)
        estimate.update(-1e-3 * loads, 0.1 * np.ones(4), loads, ALL, DT)
    assert estimate.value == 0.0
    stances(estimate, -0.01 / SHARE, 0.0, 1)
    assert estimate.value == 0.0
    stances(estimate, 1.0 / SHARE, 0.0, 2)
    assert estimate.value * SHARE == pytest.approx(0.05)  # bounded
