"""Delay of the loop from random torques, on motions whose delay is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helicoid.commissioning.delay import loop_delay
from helicoid.commissioning.plant.recording import Recording


def recording(rng: np.random.Generator, samples: int, noise: float, amplitude: float = 1.0) -> Recording:
    """Two masses of 2 and 0.1 kg·m² under white binary torques that act so many samples late."""
    n, T = 6000, 1e-3
    w = amplitude * rng.choice([-1.0, 1.0], size=(n, 2))
    late = np.vstack([np.zeros((samples + 1, 2)), w])[:n]
    v = np.cumsum(T * late / [2.0, 0.1], axis=0) + noise * rng.normal(size=w.shape)
    zero = np.zeros_like(w)
    return Recording(T * np.arange(n), zero, v, w, w, w, zero, zero)


@pytest.mark.parametrize("samples", [0, 1, 3, 7])
def test_a_delay_of_whole_samples_is_found(samples: int, rng: np.random.Generator) -> None:
    found = loop_delay(recording(rng, samples, noise=0.005))
    assert found.measured
    assert found.seconds == pytest.approx(1e-3 * samples, abs=3e-4)


def test_a_difference_quotient_of_positions_adds_its_own_delay(rng: np.random.Generator) -> None:
    moved = recording(rng, 2, noise=0.0)
    window = np.ones(4) / 4
    smooth = np.column_stack([np.convolve(x, window)[: len(x)] for x in moved.v.T])
    found = loop_delay(replace(moved, v=smooth))
    assert found.seconds == pytest.approx(3.5e-3, abs=3e-4)


def test_a_response_that_is_lost_in_noise_is_assumed_long(rng: np.random.Generator) -> None:
    for noise, amplitude in ((1.0, 1.0), (0.01, 0.0)):
        found = loop_delay(recording(rng, 1, noise, amplitude))
        assert not found.measured and found.seconds == 0.01


def test_phrases_on_a_delay(rng: np.random.Generator) -> None:
    late, none = loop_delay(recording(rng, 3, 0.005)), loop_delay(recording(rng, 1, 0.01, 0.0))
    assert late.text == f"{1e3 * late.seconds:.1f} ms from a command to its effect on the measured velocity"
    assert none.text == "10 ms are assumed, since the response was lost in noise"
    assert replace(late, seconds=1e-6).text == "none beyond the hold of one period was measured"
